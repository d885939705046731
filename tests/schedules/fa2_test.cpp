// SPDX-License-Identifier: Apache-2.0
// FlashAttention-2's rule, grids and FlashDecoding's splits.
#include <gtest/gtest.h>

#include "schedules/metrics.h"
#include "schedules/rules/fa2.h"
#include "schedules/schedules.h"
#include "tests/schedules/hopper.h"
#include "tests/support/battery.h"

namespace splitwave::schedules {
namespace {

using testing::decode;
using testing::geometry;

TEST(Fa2Rule, EfficiencyCountsEligibleSplitsOnly) {
  // 64 blocks in 11 splits are 6 blocks each, as in 12; only counts that shorten the longest split are eligible.
  EXPECT_EQ(fa2_num_splits(212, 264, 64, 128).num_splits, 1) << "80 % of 264 slots are 211.2";
  EXPECT_EQ(fa2_num_splits(211, 264, 64, 128).num_splits, 5);
  EXPECT_GT(fa2_num_splits(1, 264, 64, 128).num_splits, 32);
  EXPECT_EQ(fa2_num_splits(1, 264, 64, 128).num_splits, 64);
  EXPECT_EQ(fa2_num_splits(8, 264, 0, 128).num_splits, 1);
  EXPECT_EQ(fa2_num_splits(8, 264, 1, 128).num_splits, 1);
}

// LeanAttention's baseline is v2.5.6, which counted one CTA per SM (d = 64, 256k tokens).
TEST(Fa2Rule, V256AndLater) {
  struct Case {
    std::int32_t batch, heads, sms, old_splits, new_splits;
  };
  for (const Case& c :
       {Case{4, 32, 108, 1, 3}, Case{4, 24, 108, 1, 2}, Case{2, 56, 108, 1, 5}, Case{4, 56, 108, 1, 1},
        Case{4, 16, 108, 3, 3}, Case{4, 8, 108, 3, 6}, Case{1, 56, 108, 5, 7}, Case{6, 48, 132, 1, 1}}) {
    const workloads::Workload w = decode("256k", geometry(c.heads, c.heads, 64),
                                         std::vector<std::int32_t>(static_cast<std::size_t>(c.batch), 262144));
    EXPECT_EQ(make_plan("fixed-split:fa2-2.5.6", w, {c.sms, 1, 0, 0}).num_splits, c.old_splits)
        << c.batch << " x " << c.heads;
    EXPECT_EQ(make_plan("fixed-split:fa2", w, {c.sms, 1, 0, 0}).num_splits, c.new_splits)
        << c.batch << " x " << c.heads;
  }
}

TEST(Fa2Rule, Tiles) {
  EXPECT_EQ(fa2_split_block_n(32), 256);
  EXPECT_EQ(fa2_split_block_n(64), 256);
  EXPECT_EQ(fa2_split_block_n(96), 128);
  EXPECT_EQ(fa2_split_block_n(128), 128);
  EXPECT_EQ(fa2_split_block_n(256), 64);
  EXPECT_EQ(fa2_unsplit_tile(64, false), (TileShape{128, 128}));
  EXPECT_EQ(fa2_unsplit_tile(128, false), (TileShape{128, 64}));
  EXPECT_EQ(fa2_unsplit_tile(256, false), (TileShape{64, 64}));
  EXPECT_EQ(fa2_unsplit_tile(64, true), (TileShape{64, 128}));
  EXPECT_EQ(fa2_unsplit_tile(128, true), (TileShape{64, 64}));
}

TEST(Fa2Rule, GroupsBecomeRowsOnlyInPlainDecode) {
  workloads::Geometry g = geometry(32, 8, 128);
  EXPECT_TRUE(fa2_swaps_groups(g, 1));
  EXPECT_FALSE(fa2_swaps_groups(g, 2));
  EXPECT_FALSE(fa2_swaps_groups(geometry(8, 8, 128), 1));
  g.window = 4096;
  EXPECT_FALSE(fa2_swaps_groups(g, 1));
}

// Batch 1, 8 query heads, 1 KV head: what a group of 8 costs when a window keeps FlashAttention-2 from packing it.
TEST(Fa2, WindowUnpacksTheGroup) {
  const workloads::Workload plain = decode("plain", geometry(8, 1, 128), {4096});
  EXPECT_EQ(make_plan("fa2", plain, kHopper).ctas(), 1);
  const Plan plan = make_plan("fa2", testing::windowed(plain, 512), kHopper);
  EXPECT_EQ(plan.ctas(), 8);
  EXPECT_EQ(plan.items.front().kv_begin, 4096 - 512);
}

TEST(Fa2, GridOrderIsRowTilesThenRequestsThenHeads) {
  const workloads::Workload w = testing::with_queries(decode("mixed", geometry(2, 2, 64), {300, 40}), {130, 3});
  const Plan plan = make_plan("fa2", w, kHopper);
  EXPECT_EQ(plan.lists(), 2 * 2 * 2);  // two row tiles for both requests: the second of the short one returns at once
  const std::vector<std::int32_t> expected_begin = {0, 1, 2, 3, 3, 4, 5, 6, 6};
  EXPECT_EQ(plan.cta_begin, expected_begin);
  EXPECT_EQ(plan.outputs[static_cast<std::size_t>(plan.items[2].output)], (OutputTile{1, 0, 1, 0, 3}));
  EXPECT_EQ(plan.outputs[static_cast<std::size_t>(plan.items[3].output)], (OutputTile{0, 1, 1, 0, 128}));
}

TEST(FixedSplit, ShortRowsOfAPaddedBatchHaveEmptyItems) {
  const workloads::Workload w = decode("ragged", geometry(1, 1, 128), {1024, 128});
  const Plan plan = make_plan("fixed-split:4", w, kHopper);
  // 8 blocks of the padded length, 2 per split; grid order: splits of the first request, then of the second.
  ASSERT_EQ(plan.items.size(), 8U);
  EXPECT_EQ(plan.items[1], (Item{0, 256, 512, 1}));
  EXPECT_EQ(plan.items[4], (Item{1, 0, 128, 4}));
  EXPECT_EQ(plan.items[5], (Item{1, 128, 128, 5}));
  EXPECT_EQ(metrics(plan, kHopper).empty_items, 3);
  EXPECT_EQ(plan.merges.size(), 2U);
  EXPECT_EQ(plan.merge, MergeKind::kernel);
}

TEST(FixedSplit, OneSplitIsTheUnsplitKernel) {
  const workloads::Workload w = decode("w", geometry(8, 2, 128), {1000});
  Plan one = make_plan("fixed-split:1", w, kHopper);
  const Plan none = make_plan("fa2", w, kHopper);
  EXPECT_NE(one.reason, none.reason);
  one.schedule = none.schedule;
  one.reason = none.reason;
  EXPECT_EQ(one, none);
}

}  // namespace
}  // namespace splitwave::schedules
