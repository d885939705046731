// SPDX-License-Identifier: Apache-2.0
// One CTA's merges: through its rings where these are free (gpu/kernels/ring_merge.cuh), in registers in the middle of
// a list and of more parts than the ring's table holds.
#include <gtest/gtest.h>

#include <cstdint>

#include "cpu_reference/oracle.h"
#include "gpu/decode.h"
#include "schedules/schedules.h"
#include "tests/gpu/device_fixture.h"
#include "tests/gpu/judged_run.h"
#include "tests/support/battery.h"
#include "workloads/tensors.h"

namespace splitwave::gpu {
namespace {

using workloads::Workload;

class RingMerge : public testing::DeviceTest {};

/// Runs the last arriver's merges of pieces of 64 tokens in so many lists on every kernel of the team. Returns how many
/// plans ran.
int run_merges(const Workload& w, std::int64_t lists, Team team) {
  int runs = 0;
  const workloads::Tensors tensors = workloads::make_tensors(w, testing::kTensorBytes);
  const auto exact = cpu_reference::attend(w, tensors);
  for (const KernelConfig& v : kernel_configs(w)) {
    if (v.team != team) continue;
    const schedules::Plan plan = schedules::make_plan("fixed-size:64+last_arriver", w, testing::grid_for(w, v));
    testing::expect_exact(w, tensors, exact, testing::in_lists(plan, lists), v);
    ++runs;
  }
  return runs;
}

/// Of 9 to 24 parts, the last batch of eight full and not: little enough for sanitizers.
TEST_F(RingMerge, FewOutputs) {
  const Workload alone = testing::decode("few", testing::geometry(5, 1, 128), {1536, 700, 64});
  EXPECT_GT(run_merges(alone, 2, Team::alone), 0);
  const Workload group = testing::decode("few", testing::geometry(40, 1, 128), {1536, 700, 64});
  EXPECT_GT(run_merges(group, 2, Team::group), 0);
}

/// As many parts as the table holds, and more.
TEST_F(RingMerge, OutputsOfVeryManyParts) {
  int runs = 0;
  for (const std::int32_t head_dim : {64, 128, 256}) {
    for (const std::int32_t heads : {5, 24, 64}) {
      const Workload w = testing::decode("many", testing::geometry(heads, 1, head_dim), {20000, 8000, 2200});
      for (const Team team : {Team::group, Team::alone}) runs += run_merges(w, 3, team);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(runs, 10);
}

/// Of two parts and more; more outputs to a list than a CTA can hold back (kMaxPending): some are merged while rings
/// are in use.
TEST_F(RingMerge, ManyOutputsOfEveryShape) {
  int runs = 0;
  for (const std::int32_t head_dim : {64, 128, 256}) {
    for (const std::int32_t heads : {5, 16, 24, 71}) {
      const Workload w = testing::decode("parts", testing::geometry(heads, 1, head_dim),
                                         {2000, 700, 64, 3000, 300, 330, 520, 900, 130, 580, 600, 70, 800, 1500, 2500});
      for (const std::int64_t lists : {1, 2, 7}) {
        for (const Team team : {Team::group, Team::alone}) runs += run_merges(w, lists, team);
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(runs, 50);
}

}  // namespace
}  // namespace splitwave::gpu
