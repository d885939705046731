// SPDX-License-Identifier: Apache-2.0
// A decoder from plan to plan: what it uploads, and what it keeps where it refuses one.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "gpu/decode.h"
#include "gpu/kernels/params.h"
#include "schedules/schedules.h"
#include "tests/gpu/device_fixture.h"
#include "tests/gpu/judged_run.h"
#include "tests/support/battery.h"
#include "workloads/tensors.h"

namespace splitwave::gpu {
namespace {

using schedules::Plan;
using testing::plan_of;
using testing::same_bits;
using workloads::Workload;

class DecoderPlans : public testing::DeviceTest {};

KernelConfig config_for(const Workload& w) {
  const std::int32_t row_tiles = row_tiles_for(w.geometry, w.geometry.group());
  for (const KernelConfig& v : kernel_configs(w)) {
    if (v.row_tiles == row_tiles && v.cluster == 1) return v;
  }
  return kernel_configs(w).front();
}

HostResult launched(Decoder& decoder, DeviceTensors& tensors) {
  tensors.poison_outputs();
  decoder.launch(tensors.pointers(0));
  decoder.synchronize();
  return tensors.download();
}

TEST_F(DecoderPlans, ARefusedPlanLeavesTheOneBefore) {
  const Workload w = testing::decode("kept", testing::geometry(4, 1, 64), {2000, 2000, 700});
  const Workload alike = testing::decode("alike", testing::geometry(4, 1, 64), {2000, 2000, 2000});
  // More query rows than the encoder's fields hold, which it finds out after everything else was accepted.
  const Workload rows =
      testing::with_queries(testing::decode("rows", testing::geometry(1, 1, 64), {65536}), {65536}, /*causal=*/false);
  const KernelConfig v = config_for(w);
  const Plan too_many_rows = schedules::make_plan("fa2", rows, schedules::Grid{132, 1, 65536, 64});
  const Plan too_many_items = plan_of(w, v, "fixed-size:64");
  KernelConfig unknown = v;
  unknown.stages = 7;
  for (const Workload& before : {w, alike}) {  // with a table and without
    DeviceTensors tensors = DeviceTensors::generate(before, 1);
    const Plan plan = plan_of(before, v, "fixed-split:3+last_arriver");
    Decoder decoder(capacity_of(before, plan, v));
    decoder.set_plan(before, tensors.addressing(), plan, v);
    const HostResult expected = launched(decoder, tensors);
    const bool uniform = decoder.uniform();
    const std::int64_t ctas = decoder.ctas();
    EXPECT_EQ(uniform, before.name == "alike");
    EXPECT_THROW(decoder.set_plan(rows, dense_addressing(rows), too_many_rows, v), base::InputError);
    EXPECT_THROW(decoder.set_plan(w, dense_addressing(w), too_many_items, v), base::InputError);
    EXPECT_THROW(decoder.set_plan(before, tensors.addressing(), plan, unknown), base::InputError);
    EXPECT_EQ(decoder.uniform(), uniform);
    EXPECT_EQ(decoder.ctas(), ctas);
    EXPECT_TRUE(same_bits(launched(decoder, tensors), expected)) << before.name;
  }
}

TEST_F(DecoderPlans, WhatDoesNotFitTheCapacityIsRefused) {
  const Workload w = testing::decode("split", testing::geometry(4, 1, 64), {2000, 700});
  const KernelConfig v = config_for(w);
  const Plan plan = plan_of(w, v, "fixed-split:3+kernel");
  const Capacity enough = capacity_of(w, plan, v);
  Decoder(enough).set_plan(w, dense_addressing(w), plan, v);
  for (std::int64_t Capacity::*const part : {&Capacity::items, &Capacity::merges, &Capacity::partials}) {
    Capacity less = enough;
    --(less.*part);
    EXPECT_THROW(Decoder(less).set_plan(w, dense_addressing(w), plan, v), base::InputError);
  }
}

/// Tiles of 16 rows for kernels of 8: two CTAs for each.
TEST_F(DecoderPlans, TilesOfSeveralRowBlocksShareNoQueueAndMustBeResident) {
  const Workload w = testing::decode("two_blocks", testing::geometry(16, 1, 64), {1 << 20, 70, 200, 70, 70});
  KernelConfig v = config_for(testing::decode("one_block", testing::geometry(8, 1, 64), {70}));
  ASSERT_EQ(v.row_tiles, 1);
  const auto refusal = [&](const char* schedule, std::int32_t ctas) {
    const Plan plan = schedules::make_plan(schedule, w, schedules::Grid{ctas, 1, 16, 64});
    try {
      Decoder(capacity_of(w, plan, v)).set_plan(w, dense_addressing(w), plan, v);
    } catch (const base::InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const schedules::Grid resident = grid_of(w, v);
  const std::int32_t ctas = resident.sms * resident.ctas_per_sm;
  EXPECT_NE(refusal("fa3", ctas).find("its queue holds tiles of 16 rows"), std::string::npos);
  EXPECT_NE(refusal("lean", ctas).find("its merge waits for " + std::to_string(2 * ctas) + " workers"),
            std::string::npos);
  EXPECT_EQ(refusal("lean", ctas / 2), "");
}

TEST_F(DecoderPlans, UniformPlansUploadNoItems) {
  const Workload w = testing::decode("alike", testing::geometry(4, 1, 64), {2000, 2000});
  const Workload ragged = testing::decode("ragged", testing::geometry(4, 1, 64), {2000, 1999});
  const KernelConfig v = config_for(w);
  const auto uploaded = [&](const Workload& workload, const char* schedule) {
    const Plan plan = plan_of(workload, v, schedule);
    Decoder decoder(capacity_of(workload, plan, v));
    return decoder.set_plan(workload, dense_addressing(workload), plan, v).uploaded_bytes;
  };
  EXPECT_EQ(uploaded(w, "fixed-split:3+last_arriver"), 0);
  EXPECT_EQ(uploaded(w, "fixed-split:3"), 2 * static_cast<std::int64_t>(sizeof(DeviceMerge)));
  EXPECT_EQ(uploaded(ragged, "fixed-split:3+last_arriver"), 6 * static_cast<std::int64_t>(sizeof(DeviceItem)));
}

TEST_F(DecoderPlans, ListsBehindTheLastItemGetNoCta) {
  const Workload w = testing::decode("few", testing::geometry(4, 1, 64), {2000, 300, 1999});
  const KernelConfig v = config_for(w);
  Plan plan = plan_of(w, v, "fixed-split:3+last_arriver");
  const std::int32_t working = plan.lists();
  DeviceTensors tensors = DeviceTensors::generate(w, 1);
  const HostResult expected = [&] {
    Decoder decoder(capacity_of(w, plan, v));
    decoder.set_plan(w, tensors.addressing(), plan, v);
    return launched(decoder, tensors);
  }();
  plan.cta_begin.resize(plan.cta_begin.size() + 50, plan.cta_begin.back());
  Decoder decoder(capacity_of(w, plan, v));
  decoder.set_plan(w, tensors.addressing(), plan, v);
  EXPECT_EQ(decoder.ctas(), working);
  EXPECT_TRUE(same_bits(launched(decoder, tensors), expected));
}

TEST_F(DecoderPlans, WithoutItsMergeKernelNoSplitOutputIsWritten) {
  const Workload w = testing::decode("split", testing::geometry(4, 1, 64), {2000, 2000});
  const KernelConfig v = config_for(w);
  DeviceTensors tensors = DeviceTensors::generate(w, 1);
  const Plan plan = plan_of(w, v, "fixed-split:3+kernel");
  Decoder decoder(capacity_of(w, plan, v));
  LaunchOptions options;
  options.skip_merge_kernel = true;
  decoder.set_plan(w, tensors.addressing(), plan, v, options);
  tensors.poison_outputs();
  decoder.launch(tensors.pointers(0));
  decoder.synchronize();
  for (const float value : tensors.download().output) ASSERT_NE(value, value) << "an output was written";
  decoder.set_plan(w, tensors.addressing(), plan, v);
  decoder.launch(tensors.pointers(0));
  decoder.synchronize();
  for (const float value : tensors.download().output) ASSERT_EQ(value, value) << "an output is missing";
}

TEST_F(DecoderPlans, WhatL2IsAskedToKeepChangesNoBit) {
  const Workload w = testing::decode("kept", testing::geometry(16, 2, 128), {2000, 700, 0});
  const KernelConfig v = config_for(w);
  DeviceTensors tensors = DeviceTensors::generate(w, 1);
  const Plan plan = plan_of(w, v, "fixed-split:3+last_arriver");
  Decoder decoder(capacity_of(w, plan, v));
  decoder.set_plan(w, tensors.addressing(), plan, v);
  const HostResult dropped = launched(decoder, tensors);
  LaunchOptions options;
  options.keep_kv_in_l2 = true;
  decoder.set_plan(w, tensors.addressing(), plan, v, options);
  EXPECT_TRUE(same_bits(launched(decoder, tensors), dropped));
}

TEST_F(DecoderPlans, MergeKernelsWriteEveryRowBlock) {
  const Workload w = testing::decode("two_blocks", testing::geometry(16, 1, 64), {2000, 700});
  const KernelConfig v = config_for(testing::decode("one_block", testing::geometry(8, 1, 64), {70}));
  ASSERT_EQ(v.row_tiles, 1);
  DeviceTensors tensors = DeviceTensors::generate(w, 1);
  const Plan plan = schedules::make_plan("fixed-split:3+kernel", w, schedules::Grid{8, 1, 16, 64});
  Decoder decoder(capacity_of(w, plan, v));
  decoder.set_plan(w, tensors.addressing(), plan, v);
  for (const float value : launched(decoder, tensors).output) ASSERT_EQ(value, value) << "an output is missing";
}

TEST_F(DecoderPlans, ReplaysWithOtherCtasAreRefused) {
  // A list each, and room for no more: half of the items.
  const Workload many = testing::decode("many", testing::geometry(4, 1, 64), std::vector<std::int32_t>(40, 70));
  const Workload few = testing::decode("few", testing::geometry(4, 1, 64), {70, 70, 70});
  const KernelConfig v = config_for(many);
  const DeviceTensors tensors = DeviceTensors::generate(many, 1);
  const Plan plan = plan_of(many, v, "fa2");
  Decoder decoder(capacity_of(many, plan, v));
  decoder.set_plan(many, tensors.addressing(), plan, v, testing::replayable());
  decoder.capture({tensors.pointers(0)});
  decoder.replay();
  decoder.synchronize();
  decoder.set_plan(few, dense_addressing(few), plan_of(few, v, "fa2"), v, testing::replayable());
  EXPECT_THROW(decoder.replay(), base::InputError) << "CTAs without lists would run those of the plan before";
  decoder.capture({tensors.pointers(0)});
  decoder.replay();
  decoder.synchronize();
  decoder.set_plan(many, tensors.addressing(), plan, v, testing::replayable());
  EXPECT_THROW(decoder.replay(), base::InputError) << "some lists would have no CTA";
}

TEST_F(DecoderPlans, TensorsOfALargerWorkloadAreRefused) {
  const Workload w = testing::decode("w", testing::geometry(4, 1, 64), {70});
  const Workload larger = testing::decode("larger", testing::geometry(4, 1, 64), {71});
  EXPECT_THROW(DeviceTensors::upload(w, workloads::make_tensors(larger, testing::kTensorBytes)), base::InputError);
}

TEST_F(DecoderPlans, PointersThatAreNotAlignedAreRefused) {
  const Workload w = testing::decode("aligned", testing::geometry(4, 1, 64), {200});
  const KernelConfig v = config_for(w);
  DeviceTensors tensors = DeviceTensors::generate(w, 1);
  const Plan plan = plan_of(w, v, "fa2");
  Decoder decoder(capacity_of(w, plan, v));
  decoder.set_plan(w, tensors.addressing(), plan, v);
  DevicePointers pointers = tensors.pointers(0);
  pointers.output = static_cast<char*>(pointers.output) + 8;
  EXPECT_THROW(decoder.launch(pointers), base::InputError);
  pointers = tensors.pointers(0);
  pointers.q = static_cast<const char*>(pointers.q) + 2;
  EXPECT_THROW(decoder.launch(pointers), base::InputError);
}

TEST_F(DecoderPlans, MergesOfManyFragmentsGiveTheSameBits) {
  // 16 fragments of each output, and so more of all than their warps are at once on the device.
  constexpr std::int32_t kKvHeads = 4;
  const std::vector<std::int32_t> contexts(static_cast<std::size_t>(current_device().sms / kKvHeads + 2), 700);
  for (const workloads::Geometry& g :
       {testing::geometry(32 * kKvHeads, kKvHeads, 64), testing::geometry(16 * kKvHeads, kKvHeads, 128)}) {
    const Workload w = testing::decode("many", g, contexts);
    const KernelConfig v = config_for(w);
    ASSERT_EQ(v.row_tiles * g.value_dim / 16, 16);
    DeviceTensors tensors = DeviceTensors::generate(w, 1);
    const auto merged = [&](const std::string& schedule) {
      const Plan plan = plan_of(w, v, schedule);
      EXPECT_FALSE(plan.merges.empty());
      Decoder decoder(capacity_of(w, plan, v));
      decoder.set_plan(w, tensors.addressing(), plan, v);
      return launched(decoder, tensors);
    };
    for (const char* schedule : {"fixed-split:2", "fixed-split:11"}) {  // 11 parts are more than a batch
      EXPECT_TRUE(same_bits(merged(std::string(schedule) + "+kernel"), merged(std::string(schedule) + "+last_arriver")))
          << g.head_dim << ' ' << schedule;
    }
  }
}

TEST_F(DecoderPlans, ALatentCacheIsKeysAlone) {
  for (const std::int32_t page : {0, 16}) {
    Workload w = testing::decode("latent", testing::mla(20), {130, 0, 70});
    if (page > 0) w = testing::paged(w, page);
    const workloads::Tensors inputs = workloads::make_tensors(w, testing::kTensorBytes);
    const auto exact = cpu_reference::attend(w, inputs);
    const KernelConfig v = config_for(w);
    EXPECT_EQ(v.team, current_device().compute_capability == 90 ? Team::group : Team::portable);
    for (const char* schedule : {"fixed-split:2+kernel", "lean+last_arriver", "fa2"}) {
      testing::expect_exact(w, inputs, exact, plan_of(w, v, schedule), v);
    }
  }
}

TEST_F(DecoderPlans, EveryCtaOfAClusterFinishesAFragment) {
  // 8 rows of 64 elements are four fragments.
  const Workload w = testing::decode("w", testing::geometry(4, 1, 64), {2000});
  std::int32_t most = 0;
  for (const KernelConfig& v : kernel_configs(w)) {
    if (v.row_tiles == 1) most = std::max(most, v.cluster);
  }
  EXPECT_LE(most, 4);
  KernelConfig v = config_for(w);
  const Plan plan = plan_of(w, v, "fa2");
  v.cluster = 8;
  EXPECT_THROW(Decoder(capacity_of(w, plan, v)).set_plan(w, dense_addressing(w), plan, v), base::InputError);
}

TEST_F(DecoderPlans, GridsCountClustersAndNotTheirCtas) {
  KernelConfig v;
  EXPECT_EQ(grid_of(Residency{2, 8}, v).sms, 4);
  EXPECT_EQ(grid_of(Residency{2, 8}, v).ctas_per_sm, 2);
  v.cluster = 8;
  EXPECT_EQ(grid_of(Residency{2, 1}, v).sms, 1);
  EXPECT_EQ(grid_of(Residency{2, 1}, v).ctas_per_sm, 1);
}

TEST_F(DecoderPlans, AnEmptyBatchReplaysNothing) {
  const Workload w = testing::decode("full", testing::geometry(4, 1, 64), {900, 30});
  const Workload empty = testing::decode("empty", testing::geometry(4, 1, 64), {});
  const KernelConfig v = config_for(w);
  DeviceTensors tensors = DeviceTensors::generate(w, 1);
  const Plan plan = plan_of(w, v, "lean+last_arriver");
  Decoder decoder = testing::captured(w, tensors, plan, v);
  decoder.set_plan(empty, dense_addressing(empty), plan_of(empty, v, "lean+last_arriver"), v, testing::replayable());
  tensors.poison_outputs();
  decoder.replay();
  decoder.synchronize();
  for (const float value : tensors.download().output) ASSERT_NE(value, value) << "an output was written";
}

}  // namespace
}  // namespace splitwave::gpu
