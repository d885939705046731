// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernel_config.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "base/error.h"
#include "gpu/device.h"
#include "gpu/kernels/table.h"
#include "gpu/warp_lists.h"
#include "schedules/schedules.h"
#include "simulator/alternatives.h"
#include "simulator/simulate.h"
#include "tests/support/battery.h"
#include "workloads/load.h"

namespace splitwave::gpu {
namespace {

TEST(KernelConfig, NamesReadBack) {
  const KernelConfig config{2, 8, 3, 32, 4};
  EXPECT_EQ(to_string(config), "r2w8s3t32c4");
  EXPECT_EQ(parse_kernel_config("r2w8s3t32c4"), config);
  const KernelConfig group{8, 4, 2, 16, 1, Team::group};
  EXPECT_EQ(to_string(group), "r8g4s2t16c1");
  EXPECT_EQ(parse_kernel_config("r8g4s2t16c1"), group);
  EXPECT_EQ(name_without_cluster(group), "r8g4s2t16");
  const KernelConfig seesaw{8, 8, 2, 8, 1, Team::seesaw};
  EXPECT_EQ(to_string(seesaw), "r8m8s2t8c1");
  EXPECT_EQ(parse_kernel_config("r8m8s2t8c1"), seesaw);
  const KernelConfig portable{2, 4, 2, 8, 1, Team::portable};
  EXPECT_EQ(to_string(portable), "r2p4s2t8c1");
  EXPECT_EQ(parse_kernel_config("r2p4s2t8c1"), portable);
  const KernelConfig pairs{1, 4, 2, 16, 2, Team::warps, 2};
  EXPECT_EQ(to_string(pairs), "r1w4s2t16c2h2");
  EXPECT_EQ(parse_kernel_config("r1w4s2t16c2h2"), pairs);
}

TEST(KernelConfig, BadNamesAreRefused) {
  for (const char* text :
       {"", "r1", "r1w4s4t16", "r1gs4t16c1", "r1x4s4t16c1", "r1wm4s4t16c1", "r1w4s4t16c1x", "w4r1s4t16c1",
        "r0w4s4t16c1", "r1w4s4t16c99999999999", "r1w4s4t16c1h", "r1w4s4t16c1h1", "r1w4s4t16c1h22"}) {
    EXPECT_THROW(parse_kernel_config(text), base::InputError) << text;
  }
}

TEST(KernelConfig, NoKernelIsListedTwice) {
  for (const auto kernels :
       {f16_d64_waiting_kernels(),      f16_d128_waiting_kernels(),      f16_d256_waiting_kernels(),
        bf16_d64_waiting_kernels(),     bf16_d128_waiting_kernels(),     bf16_d256_waiting_kernels(),
        f16_d64_single_item_kernels(),  f16_d128_single_item_kernels(),  f16_d256_single_item_kernels(),
        bf16_d64_single_item_kernels(), bf16_d128_single_item_kernels(), bf16_d256_single_item_kernels(),
        f16_d64_group_kernels(),        f16_d128_group_kernels(),        f16_d256_group_kernels(),
        bf16_d64_group_kernels(),       bf16_d128_group_kernels(),       bf16_d256_group_kernels(),
        f16_latent_kernels(),           bf16_latent_kernels(),           f16_whole_latent_kernels(),
        bf16_whole_latent_kernels(),    f16_d64_pair_kernels(),          bf16_d64_pair_kernels()}) {
    std::set<const void*> functions;
    for (const DecodeKernel& kernel : kernels) functions.insert(kernel.function);
    EXPECT_EQ(functions.size(), kernels.size()) << "head_dim " << kernels.front().head_dim;
  }
}

/// By which the simulator counts their CTAs.
TEST(KernelConfig, TheShippedProfileKnowsTheMergeKernels) {
  const workloads::Workload w = testing::decode("w", testing::geometry(8, 1, 128), {100});
  const simulator::KernelProfile profile =
      simulator::alternatives(simulator::load_kernel("splitwave"), w, simulator::load_machine("h200-calibrated"), 8)
          .front();
  for (const MergeKernel& kernel : merge_kernels()) {
    EXPECT_EQ(kernel.threads / 32, profile.merge_kernel_warps);
    EXPECT_EQ(kernel.run, profile.merge_kernel_run);
    EXPECT_EQ(kernel.fragments, kernel.value_dim / 16 * kernel.row_tiles);
  }
}

/// Row tiles of the configs that a device of this compute capability, with so much shared memory to a CTA, has for
/// latent attention.
std::set<std::int32_t> latent_row_tiles(std::int32_t compute_capability, std::int64_t shared_bytes) {
  Device device;
  device.compute_capability = compute_capability;
  device.shared_bytes_per_cta = shared_bytes;
  std::set<std::int32_t> all;
  for (const KernelConfig& v : kernel_configs(testing::decode("latent", testing::mla(16), {5}), device)) {
    EXPECT_EQ(v.team, Team::portable) << to_string(v);
    EXPECT_EQ(v.cluster, 1) << to_string(v);
    all.insert(v.row_tiles);
  }
  return all;
}

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": most shared memory of a thread block.
TEST(KernelConfig, LatentAttentionRunsWithoutWgmma) {
  EXPECT_EQ(latent_row_tiles(80, 163 << 10), (std::set<std::int32_t>{2, 4, 8})) << "A100";
  EXPECT_EQ(latent_row_tiles(86, 99 << 10), (std::set<std::int32_t>{2})) << "RTX 30 and, as 8.9, 40";
}

bool fits(const workloads::Workload& w, const char* schedule, const KernelConfig& v) {
  schedules::Grid grid{132, 1, 0, 64};
  grid.tile_q = 8 * v.row_tiles;
  return fits_single_item_kernel(w, schedules::make_plan(schedule, w, grid), v);
}

TEST(KernelConfig, SingleItemKernelsTakeSingleQueriesOneItemToAList) {
  const workloads::Geometry g = testing::geometry(16, 2, 128);
  const KernelConfig rings{1, 4, 4, 16, 1};
  const KernelConfig whole{1, 4, 1, 16, 2};  // 128 tokens
  const workloads::Workload uniform = testing::decode("uniform", g, {100, 100});
  const workloads::Workload ragged = testing::decode("ragged", g, {128, 1});
  for (const KernelConfig& v : {rings, whole}) {
    EXPECT_TRUE(fits(uniform, "fixed-split:1", v)) << to_string(v);
    EXPECT_TRUE(fits(ragged, "fixed-split:1", v)) << to_string(v);
    EXPECT_FALSE(fits(testing::with_queries(uniform, {2}), "fixed-split:1", v)) << to_string(v);
    EXPECT_FALSE(fits(testing::decode("empty_batch", g, {}), "fixed-split:1", v)) << to_string(v);
    EXPECT_FALSE(fits(testing::decode("rows", testing::geometry(32, 2, 128), {100}), "fixed-split:1", v));
    EXPECT_FALSE(fits(uniform, "fa3", v)) << "a queue";
  }
  const workloads::Workload longer = testing::decode("longer", g, {129, 100});
  const workloads::Workload with_empty = testing::decode("with_empty", g, {100, 0});
  EXPECT_TRUE(fits(longer, "fixed-split:1", rings));
  EXPECT_FALSE(fits(longer, "fixed-split:1", whole));
  EXPECT_TRUE(fits(with_empty, "fixed-split:1", rings));
  EXPECT_FALSE(fits(with_empty, "fixed-split:1", whole));
  EXPECT_TRUE(fits(uniform, "fixed-split:2", rings));
  EXPECT_FALSE(fits(uniform, "fixed-split:2", whole));
  const workloads::Workload in_parts = testing::decode("in_parts", g, {400, 300});
  const KernelConfig larger{1, 4, 1, 16, 4};  // 256 tokens
  EXPECT_TRUE(fits(in_parts, "fixed-split:2+last_arriver", larger));
  EXPECT_TRUE(fits(in_parts, "fixed-size:256+last_arriver", larger));
  EXPECT_FALSE(fits(in_parts, "fixed-split:2+last_arriver", whole)) << "clusters of two take no parts";
  EXPECT_FALSE(fits(in_parts, "fixed-split:2+kernel", larger)) << "nobody else merges them";
  EXPECT_FALSE(fits(in_parts, "fixed-size:320+last_arriver", larger)) << "longer than the CTAs hold";
  EXPECT_FALSE(fits(testing::decode("short", g, {400, 0}), "fixed-split:2+last_arriver", larger)) << "an empty item";
  EXPECT_FALSE(fits(uniform, "fixed-split:1", KernelConfig{1, 4, 4, 16, 16})) << "no such kernel";
}

TEST(KernelConfig, ClustersThatHoldLatentItemsTakePartsOfThoseThatWait) {
  const workloads::Workload w = testing::decode("latent", testing::mla(64), {250, 200});
  const KernelConfig v = parse_kernel_config("r2g4s1t16c2");  // 128 tokens
  EXPECT_FALSE(fits(w, "fixed-split:1", v)) << "longer than the CTAs hold";
  EXPECT_TRUE(fits(w, "fixed-split:2+host_cta", v));
  EXPECT_TRUE(fits(w, "fixed-size:128+host_cta", v));
  EXPECT_FALSE(fits(w, "fixed-split:2+last_arriver", v));
  EXPECT_FALSE(fits(w, "fixed-split:2+kernel", v));
}

TEST(KernelConfig, WithoutADeviceTheErrorSaysSo) {
  if (has_device()) GTEST_SKIP() << "there is a device";
  EXPECT_THROW(current_device(), base::MissingError);
  EXPECT_THROW(kernel_configs(testing::decode("any", testing::geometry(8, 2, 64), {5})), base::MissingError);
}

/// The simulator says by its profile which plans a config's single-item kernel runs; the kernels say by their tables.
void expect_known(const char* kernels, const char* machine_name, std::size_t& single, std::size_t& held_parts) {
  const simulator::KernelFamily family = simulator::load_kernel(kernels);
  const simulator::Machine machine = simulator::load_machine(machine_name);
  for (const char* spec : {"h=8/1,d=128:4q1s60", "h=32/8,d=128:3q1s700", "h=8/1,d=64:2q1s100_1q1s7",
                           "h=40/2,d=128:2q1s90", "h=16/2,d=256:2q1s64", "h=8/1,d=128:4q2s60", "h=8/1,d=128:2q1s1500",
                           "h=16/1,d=576,dv=512,kind=mla:3q1s200", "h=64/1,d=576,dv=512,kind=mla:2q1s500"}) {
    const workloads::Workload w = workloads::parse_spec(spec);
    for (const simulator::KernelProfile& kernel : simulator::alternatives(family, w, machine, simulator::kAnyRows)) {
      schedules::Grid grid = simulator::grid_of(machine, kernel);
      for (const std::int32_t tile_q : {0, kernel.most_rows}) {
        grid.tile_q = tile_q;
        for (const char* schedule : {"fixed-split:1", "fixed-split:2+last_arriver", "fixed-split:4+last_arriver",
                                     "fixed-split:4+host_cta", "fixed-size:256", "lean"}) {
          const bool waits = std::string_view(schedule).ends_with("+host_cta");
          if (waits && schedules::make_plan("fixed-split:4+kernel", w, grid).lists() > grid.resident()) continue;
          const schedules::Plan plan = schedules::make_plan(schedule, w, grid);
          const auto run = simulator::as_run(kernel, w, plan, grid.resident());
          if (!run) continue;
          const bool any_heads = simulator::takes_any_heads(kernel);
          const bool predicted = kernel.single_item_prologue_seconds > 0 &&
                                 simulator::one_item_per_list(w, plan, any_heads) &&
                                 (any_heads || w.geometry.group() <= kernel.most_rows);
          EXPECT_EQ(predicted, fits_single_item_kernel(w, plan, parse_kernel_config(kernel.config)))
              << spec << " " << schedule << " " << kernel.config;
          single += predicted ? 1 : 0;
          held_parts += kernel.most_tokens > 0 && !plan.merges.empty() ? 1 : 0;
        }
      }
    }
  }
}

TEST(KernelConfig, TheSimulatorKnowsWhichKernelRunsAPlan) {
  for (const auto& [kernels, machine] :
       {std::pair{"splitwave", "h200-calibrated"}, {"splitwave-h100", "h100-sxm-calibrated"}}) {
    std::size_t single = 0;
    std::size_t held_parts = 0;
    expect_known(kernels, machine, single, held_parts);
    EXPECT_GT(held_parts, 10U) << kernels;
    EXPECT_GT(single, 100U) << kernels;
  }
}

TEST(KernelConfig, OnlyWarpsThatWorkAloneHaveLists) {
  EXPECT_EQ(list_shape(parse_kernel_config("r1a4s2t16c1")).warps, 4);
  EXPECT_EQ(list_shape(parse_kernel_config("r1a8s2t32c1")).tokens, 32);
  EXPECT_EQ(list_shape(parse_kernel_config("r1w4s2t16c1")).warps, 1);
  EXPECT_EQ(list_shape(parse_kernel_config("r8g4s2t16c1")).warps, 1);
}

/// What is compiled for pairs of KV heads is what the simulator offers for them.
TEST(KernelConfig, TheSimulatorKnowsTheKernelsForPairs) {
  const simulator::KernelFamily family = simulator::load_kernel(std::string(simulator::kOwnKernel));
  const simulator::Machine machine = simulator::load_machine("h200-calibrated");
  Device device;
  device.compute_capability = 90;
  device.shared_bytes_per_cta = machine.shared_bytes_per_cta;
  for (const char* spec : {"h=8/8,d=64:4q1s900", "h=32/8,d=64:3q1s700_1q1s60", "h=64/8,d=64:4q1s900",
                           "h=9/3,d=64:1q1s60", "h=18/2,d=64:2q1s90", "h=8/8,d=128:4q1s900", "h=8/8,d=64:4q2s900"}) {
    const workloads::Workload w = workloads::parse_spec(spec);
    std::set<std::string> offered;
    for (const simulator::KernelProfile& kernel : simulator::pair_alternatives(family, w, machine)) {
      offered.insert(kernel.config);
    }
    std::set<std::string> compiled;
    const std::int32_t row_tiles = 2 * w.geometry.group() <= 8 ? 1 : 2;
    for (const KernelConfig& v : pair_configs(w, device)) {
      if (v.row_tiles == row_tiles && 2 * w.geometry.group() <= 8 * v.row_tiles) compiled.insert(to_string(v));
    }
    EXPECT_EQ(offered, compiled) << spec;
  }
}

}  // namespace
}  // namespace splitwave::gpu
