// SPDX-License-Identifier: Apache-2.0
// FlashAttention-4's rule as a table worked out from the library's code, and its grid.
#include <gtest/gtest.h>

#include <vector>

#include "schedules/rules/fa4.h"
#include "schedules/schedules.h"
#include "tests/schedules/hopper.h"
#include "tests/support/battery.h"

namespace splitwave::schedules {
namespace {

using testing::decode;
using testing::geometry;

constexpr Grid kBlackwell{.sms = 148};

struct Case {
  std::int64_t tiles, blocks;
  std::int32_t splits;
};

// 1 up to 4 blocks; min(148 // tiles, 128, blocks); interface.py:276-290.
TEST(Fa4Rule, Splits) {
  for (const Case& c : {Case{1, 4, 1}, Case{1, 5, 5}, Case{8, 64, 18}, Case{8, 16, 16}, Case{1, 1024, 128},
                        Case{74, 64, 2}, Case{75, 64, 1}, Case{149, 64, 1}, Case{0, 64, 1}}) {
    EXPECT_EQ(fa4_num_splits(c.tiles, 148, c.blocks).num_splits, c.splits) << c.tiles << " x " << c.blocks;
  }
}

TEST(Fa4Rule, TwoTilesOfRowsWhereOneDoesNotHoldThem) {
  EXPECT_EQ(fa4_cta_rows(1), 128);
  EXPECT_EQ(fa4_cta_rows(128), 128);
  EXPECT_EQ(fa4_cta_rows(129), 256);
}

TEST(Fa4, CutsARowByItsOwnBlocks) {
  const Plan plan = make_plan("fa4", decode("w", geometry(32, 8, 128), {8192, 1024}), kBlackwell);
  EXPECT_EQ(plan.num_splits, 9);  // 148 // 16 tiles, by the longest's 64 blocks
  EXPECT_EQ(plan.tile_kv, 128);
  EXPECT_EQ(plan.lists(), 2 * 8 * 9);
  EXPECT_EQ(plan.items[0].tokens(), 8 * 128);
  // 8 blocks in parts of one: the ninth is empty.
  EXPECT_EQ(plan.list(8 * 9).front().tokens(), 128);
  EXPECT_EQ(plan.list(8 * 9 + 8).front().tokens(), 0);
  EXPECT_EQ(plan.merge, MergeKind::kernel);
}

TEST(Fa4, OneSplitNeedsNoSecondKernel) {
  const Plan plan = make_plan("fa4", decode("w", geometry(32, 8, 128), {512}), kBlackwell);
  EXPECT_EQ(plan.num_splits, 1);
  EXPECT_EQ(plan.merge, MergeKind::none);
  EXPECT_EQ(make_plan("fa4:3", decode("w", geometry(32, 8, 128), {512}), kBlackwell).num_splits, 3);
}

}  // namespace
}  // namespace splitwave::schedules
