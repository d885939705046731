// SPDX-License-Identifier: Apache-2.0
// Merges of partial results that say by themselves that they are there (gpu/kernels/packets.cuh).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "cpu_reference/oracle.h"
#include "gpu/decode.h"
#include "gpu/encode.h"
#include "schedules/schedules.h"
#include "schedules/validate.h"
#include "tests/gpu/judged_run.h"
#include "tests/support/battery.h"
#include "workloads/tensors.h"

namespace splitwave::gpu {
namespace {

using schedules::Plan;
using testing::expect_exact;
using testing::plan_of;
using testing::same_bits;
using workloads::Workload;

class PacketMerge : public testing::DeviceTest {};

/// Fewer and more parts than a warp asks for at a time, in every kernel for one item a list.
TEST_F(PacketMerge, OfFewAndManyParts) {
  int runs = 0;
  for (const workloads::Geometry& g : {testing::geometry(16, 2, 128), testing::geometry(14, 1, 128),
                                       testing::geometry(3, 1, 64), testing::geometry(20, 2, 256)}) {
    const Workload w = testing::decode("packets", g, {2600, 2600});
    const workloads::Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
    const auto reference = cpu_reference::attend(w, tensors);
    for (const std::int32_t cluster : {1, 2, 8}) {
      for (const KernelConfig& v : testing::one_of_each_kind(w, cluster)) {
        for (const char* name : {"fixed-split:2", "fixed-split:8", "fixed-split:9", "fixed-split:17"}) {
          expect_exact(w, tensors, reference, plan_of(w, v, std::string(name) + "+last_arriver"), v);
          ++runs;
        }
      }
    }
  }
  EXPECT_GE(runs, 48);
}

/// Kernels without rings in clusters of four and more: outputs in parts and whole ones, whose items they hold.
void expect_held_parts_exact(const Workload& w, int& runs) {
  const workloads::Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  const auto reference = cpu_reference::attend(w, tensors);
  for (const char* name : {"fixed-split:2", "fixed-split:3", "fixed-split:9", "fixed-size:64", "fixed-size:512"}) {
    runs += testing::expect_held_exact(w, tensors, reference, std::string(name) + "+last_arriver", true);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_F(PacketMerge, OfItemsThatCtasHold) {
  int runs = 0;
  for (const workloads::Geometry& g : {testing::geometry(16, 2, 128), testing::geometry(14, 1, 128),
                                       testing::geometry(3, 1, 64), testing::geometry(20, 2, 256)}) {
    for (const workloads::Dtype dtype : {workloads::Dtype::f16, workloads::Dtype::bf16}) {
      for (const std::int32_t page : {0, 16}) {
        for (const std::vector<std::int32_t>& lengths : {std::vector{1000, 1000}, {1000, 130, 64}}) {
          Workload w = testing::decode("held", g, lengths);
          w.geometry.dtype = dtype;
          if (page > 0) w = testing::paged(w, page);
          expect_held_parts_exact(w, runs);
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GE(runs, 400);
}

/// A plan of two lists: one has the first halves of all outputs, whose merges it owes, the other the second halves.
Plan first_and_second_halves(const Workload& w, const KernelConfig& v) {
  Plan plan = plan_of(w, v, "fixed-split:2+last_arriver");
  plan.merge = schedules::MergeKind::host_cta;
  plan.dispatch = schedules::Dispatch::fixed;
  std::stable_partition(plan.items.begin(), plan.items.end(),
                        [&](const schedules::Item& item) { return item.kv_begin == 0; });
  const auto half = static_cast<std::int32_t>(plan.items.size() / 2);
  plan.cta_begin = {0, half, 2 * half};
  schedules::validate(w, plan);
  return plan;
}

/// CTAs that wait look for what they owe in the table again where they cannot note all of it.
TEST_F(PacketMerge, ACtaThatWaitsOwesMoreThanItCanNote) {
  int runs = 0;
  for (const workloads::Geometry& g :
       {testing::geometry(16, 2, 128), testing::geometry(3, 1, 64), testing::geometry(40, 1, 128)}) {
    for (const std::int32_t requests : {1, 5, 40}) {
      const Workload w = testing::decode("owed", g, std::vector<std::int32_t>(static_cast<std::size_t>(requests), 300));
      const workloads::Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
      const auto reference = cpu_reference::attend(w, tensors);
      for (const std::int32_t cluster : {1, 2}) {
        for (const KernelConfig& v : testing::one_of_each_kind(w, cluster)) {
          const Plan plan = first_and_second_halves(w, v);
          for (const std::uint32_t seed : {0U, 1U, 2U}) {
            LaunchOptions options;
            options.delay_seed = seed;
            expect_exact(w, tensors, reference, plan, v, options);
            ++runs;
          }
        }
      }
    }
  }
  EXPECT_GE(runs, 54);
}

/// Every list kernel, with tiles whose rows differ and without, and both kinds of pages: merges of few and of many
/// parts, the same bits whoever is late.
TEST_F(PacketMerge, EveryListKernelWaits) {
  int runs = 0;
  for (const workloads::Geometry& g : {testing::geometry(16, 2, 128), testing::geometry(40, 1, 128),
                                       testing::geometry(26, 1, 64), testing::geometry(20, 2, 256)}) {
    for (const std::int32_t queries : {1, 3}) {
      for (const std::int32_t page : {0, 16}) {
        Workload w = testing::with_queries(testing::decode("waits", g, {3000, 170}), {queries});
        if (page > 0) w = testing::paged(w, page);
        const workloads::Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
        const auto reference = cpu_reference::attend(w, tensors);
        for (const KernelConfig& v : kernel_configs(w)) {
          if (v.team != Team::warps && v.team != Team::alone) continue;
          for (const char* name : {"fixed-split:2", "fixed-split:6", "fixed-split:23", "fixed-split:45", "lean"}) {
            Plan plan;
            try {
              plan = plan_of(w, v, std::string(name) + "+host_cta");
            } catch (const base::InputError&) {
              continue;  // more CTAs than are resident
            }
            const std::int32_t row_blocks = (size_of(plan).most_rows + 8 * v.row_tiles - 1) / (8 * v.row_tiles);
            if (plan.ctas() * row_blocks > residency(w, v).workers) continue;
            LaunchOptions late;
            late.delay_seed = 7;
            expect_exact(w, tensors, reference, plan, v);
            EXPECT_TRUE(same_bits(run(w, tensors, plan, v, late), run(w, tensors, plan, v))) << plan.schedule;
            ++runs;
          }
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GE(runs, 200);
}

struct Step {
  Plan plan;
  KernelConfig config;
  HostResult alone;
};

/// One workspace for plans whose packets lie elsewhere, and for others in between: each launch leaves none behind.
TEST_F(PacketMerge, PlansInTurnLeaveNothingBehind) {
  const Workload w = testing::decode("turns", testing::geometry(16, 2, 128), {5000, 5000});
  const workloads::Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  std::vector<Step> steps;
  Capacity capacity;
  for (const std::int32_t cluster : {1, 4}) {
    std::vector<KernelConfig> all = testing::one_of_each_kind(w, cluster);
    for (const KernelConfig& v : whole_item_configs(w)) {
      if (v.cluster == 4 * cluster) all.push_back(v);
    }
    for (const KernelConfig& v : all) {
      for (const char* name : {"fixed-split:7+last_arriver", "lean+host_cta", "fixed-split:3+last_arriver",
                               "fixed-split:40+host_cta", "fixed-split:5+kernel", "fixed-split:20+last_arriver"}) {
        Plan plan;
        try {
          plan = plan_of(w, v, name);
        } catch (const base::InputError&) {
          continue;  // more CTAs than are resident
        }
        if (v.single_items_only() && !fits_single_item_kernel(w, plan, v)) continue;
        if (plan.merge == schedules::MergeKind::host_cta && plan.ctas() > residency(w, v).workers) continue;
        const Capacity own = capacity_of(w, plan, v);
        capacity.items = std::max(capacity.items, own.items);
        capacity.merges = std::max(capacity.merges, own.merges);
        capacity.partials = std::max(capacity.partials, own.partials);
        capacity.row_tiles = std::max(capacity.row_tiles, own.row_tiles);
        steps.push_back({plan, v, run(w, tensors, plan, v)});
      }
    }
  }
  ASSERT_GE(steps.size(), 8U);
  DeviceTensors on_device = DeviceTensors::upload(w, tensors);
  Decoder decoder(capacity);
  for (int round = 0; round < 3; ++round) {
    for (const Step& step : steps) {
      decoder.poison_partials();
      decoder.set_plan(w, on_device.addressing(), step.plan, step.config);
      for (int launch = 0; launch < 20; ++launch) decoder.launch(on_device.pointers(0));
      decoder.synchronize();
      on_device.poison_outputs();
      decoder.launch(on_device.pointers(0));
      decoder.synchronize();
      EXPECT_TRUE(same_bits(on_device.download(), step.alone)) << step.plan.schedule << " " << to_string(step.config);
    }
    std::rotate(steps.begin(), steps.begin() + 3, steps.end());
  }
}

}  // namespace
}  // namespace splitwave::gpu
