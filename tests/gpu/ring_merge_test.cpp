// SPDX-License-Identifier: Apache-2.0
// One CTA's merges: through its rings where these are free (gpu/kernels/ring_merge.cuh), in registers in the middle of
// a list and of more parts than the ring's table holds of one row tile.
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

/// The last arriver merges pieces of 64 tokens.
constexpr const char* kPieces = "fixed-size:64+last_arriver";

/// Of 9 to 24 parts, the last batch of eight full and not: little enough for sanitizers.
TEST_F(RingMerge, FewOutputs) {
  const Workload alone = testing::decode("few", testing::geometry(5, 1, 128), {1536, 700, 64});
  EXPECT_GT(testing::run_in_lists(alone, kPieces, {2}, Team::alone), 0);
  const Workload group = testing::decode("few", testing::geometry(40, 1, 128), {1536, 700, 64});
  EXPECT_GT(testing::run_in_lists(group, kPieces, {2}, Team::group), 0);
}

/// More parts than the table holds of all row tiles at once.
TEST_F(RingMerge, OutputsOfVeryManyParts) {
  int runs = 0;
  for (const std::int32_t head_dim : {64, 128, 256}) {
    for (const std::int32_t heads : {5, 24, 64}) {
      const Workload w = testing::decode("many", testing::geometry(heads, 1, head_dim), {20000, 8000, 2200});
      for (const Team team : {Team::group, Team::alone}) runs += testing::run_in_lists(w, kPieces, {3}, team);
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
      for (const Team team : {Team::group, Team::alone}) runs += testing::run_in_lists(w, kPieces, {1, 2, 7}, team);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(runs, 50);
}

}  // namespace
}  // namespace splitwave::gpu
