// SPDX-License-Identifier: Apache-2.0
// Long lists of group kernels, whose loaders run items ahead (gpu/kernels/group_loader.cuh): items shorter than a stage
// and longer than the ring, without tokens, and without rows for some row blocks; queries that the previous kernel
// writes.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "cpu_reference/oracle.h"
#include "gpu/decode.h"
#include "schedules/schedules.h"
#include "tests/gpu/device_fixture.h"
#include "tests/gpu/judged_run.h"
#include "tests/support/battery.h"
#include "workloads/tensors.h"

namespace splitwave::gpu {
namespace {

using cpu_reference::Result;
using schedules::Plan;
using testing::expect_exact;
using testing::grid_for;
using testing::in_lists;
using workloads::Tensors;
using workloads::Workload;

class GroupLists : public testing::DeviceTest {};

const std::vector<std::int32_t> kContexts = {700, 1, 64, 0, 65, 3, 130, 0, 0, 1, 1500, 5, 64, 63, 257, 2, 1, 1, 1, 900};

TEST_F(GroupLists, ItemsOfAnyLength) {
  int runs = 0;
  for (const std::int32_t head_dim : {64, 128, 256}) {
    for (const std::int32_t heads : {24, 71}) {
      for (const std::int32_t page : {0, 7, 16}) {
        Workload w = testing::decode("lists", testing::geometry(heads, 1, head_dim), kContexts);
        if (page > 0) w = testing::paged(w, page);
        for (const char* schedule : {"fa2", "fixed-size:128+last_arriver"}) {
          runs += testing::run_in_lists(w, schedule, {1, 2, 7}, Team::group);
        }
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_GT(runs, 300);
}

/// Tiles of one to eight queries: the first row blocks have rows of all, the last ones of few.
TEST_F(GroupLists, ItemsWithRowsForSomeRowBlocks) {
  int runs = 0;
  for (const std::int32_t head_dim : {64, 128, 256}) {
    for (const std::int32_t page : {0, 16}) {
      Workload w = testing::with_queries(
          testing::decode("row_blocks", testing::geometry(20, 1, head_dim), {8, 300, 70, 64, 1000, 9, 65, 40, 8}),
          {8, 1, 2, 1, 7, 1, 1, 5, 1});
      if (page > 0) w = testing::paged(w, page);
      for (const char* schedule : {"fa2", "fixed-size:128+last_arriver"}) {
        runs += testing::run_in_lists(w, schedule, {1, 2, 7}, Team::group);
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(runs, 100);
}

/// A call whose queries are the output of the call before, which may still run when its K and V are asked for.
HostResult run_chain(const Workload& w, const Tensors& tensors, const Plan& plan, const KernelConfig& v,
                     Overlap overlap) {
  LaunchOptions options;
  options.overlap = overlap;
  options.trigger = Trigger::at_start;
  DeviceTensors first = DeviceTensors::upload(w, tensors);
  DeviceTensors second = DeviceTensors::upload(w, tensors);
  first.poison_outputs();
  second.poison_outputs();
  DevicePointers pointers = second.pointers(0);
  pointers.q = first.pointers(0).output;
  Decoder decoder(capacity_of(w, plan, v));
  decoder.set_plan(w, first.addressing(), plan, v, options);
  decoder.synchronize();
  decoder.launch(first.pointers(0));
  decoder.launch(pointers);
  decoder.synchronize();
  return second.download();
}

TEST_F(GroupLists, PrefetchReadsNoQueriesBeforeThePreviousKernelHasEnded) {
  const Workload w = testing::decode("chain", testing::geometry(24, 1, 128), {1, 30, 64, 20000, 5, 1, 1, 9000});
  const Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  for (const KernelConfig& v : kernel_configs(w)) {
    if (v.team != Team::group) continue;
    const Plan plan = in_lists(schedules::make_plan("fa2", w, grid_for(w, v)), 2);
    const HostResult expected = run_chain(w, tensors, plan, v, Overlap::none);
    EXPECT_TRUE(testing::same_bits(run_chain(w, tensors, plan, v, Overlap::prefetch), expected)) << to_string(v);
  }
}

}  // namespace
}  // namespace splitwave::gpu
