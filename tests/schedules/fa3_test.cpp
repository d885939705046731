// SPDX-License-Identifier: Apache-2.0
// FlashAttention-3's tiles, split rules and queue.
#include <gtest/gtest.h>

#include "schedules/fa3_call.h"
#include "schedules/metrics.h"
#include "schedules/rules/fa3.h"
#include "schedules/schedules.h"
#include "tests/schedules/hopper.h"
#include "tests/support/battery.h"

namespace splitwave::schedules {
namespace {

using testing::decode;
using testing::geometry;

TEST(Fa3Rule, Tiles) {
  struct Case {
    Fa3TileArguments arguments;
    TileShape tile;
  };
  const Case cases[] = {
      {{64, 64, false, false, false}, {192, 192}},  {{64, 64, true, false, false}, {192, 128}},
      {{64, 64, false, true, false}, {192, 128}},   {{64, 64, false, false, true}, {192, 128}},
      {{64, 256, false, false, false}, {128, 96}},  {{64, 512, true, false, true}, {64, 64}},
      {{96, 96, false, false, false}, {192, 144}},  {{96, 96, true, false, false}, {192, 144}},
      {{96, 96, false, true, false}, {192, 128}},   {{96, 96, false, false, true}, {192, 128}},
      {{80, 80, false, false, false}, {192, 144}},  {{128, 128, false, false, false}, {128, 176}},
      {{128, 128, true, false, false}, {128, 128}}, {{128, 128, false, true, false}, {128, 128}},
      {{128, 128, false, false, true}, {128, 128}}, {{192, 192, false, false, false}, {128, 112}},
      {{192, 128, true, false, false}, {128, 128}}, {{192, 192, false, true, false}, {128, 96}},
      {{192, 128, false, false, true}, {128, 96}},  {{256, 256, false, false, false}, {128, 80}},
      {{256, 256, true, false, false}, {128, 80}},  {{256, 256, false, true, false}, {128, 64}},
      {{256, 256, false, false, true}, {128, 80}},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(fa3_tile(c.arguments), c.tile) << c.arguments.headdim << " " << c.arguments.headdim_v;
  }
}

TEST(Fa3Rule, EightyPercentOfTheSmsAreEnough) {
  EXPECT_GT(fa3_choice(105, 100).num_splits, 0);
  EXPECT_EQ(fa3_choice(106, 100).num_splits, 1);
  Fa3SplitArguments large;  // a head that L2 cannot hold and that many row tiles read
  large.total_mblocks = 264;
  large.num_m_blocks = 264;
  large.num_n_blocks = 4000;
  large.size_one_kv_head = std::int64_t{101} << 20;
  EXPECT_EQ(fa3_num_splits(large).num_splits, 3);
  large.is_causal_or_local = true;
  EXPECT_EQ(fa3_num_splits(large).num_splits, 1);
}

TEST(Fa3DynamicRule, TenPercentMargin) {
  // b = 1, 8 KV heads, 4096 tokens in 24 blocks: ceil(1.1 * 24 * 8 / 132) = 2 blocks per SM.
  const Fa3Row row{1, 24};
  EXPECT_EQ(fa3_dynamic_splits(std::span(&row, 1), 8, 132, 14), std::vector<std::int32_t>{12});
  EXPECT_EQ(fa3_dynamic_splits(std::span(&row, 1), 8, 132, 3), std::vector<std::int32_t>{3});
  EXPECT_EQ(fa3_dynamic_splits(std::span(&row, 1), 8, 132, 1), std::vector<std::int32_t>{1});
}

TEST(Fa3DynamicRule, MoreThan992RowsAreNotSplit) {
  std::vector<Fa3Row> rows(992, Fa3Row{1, 0});
  rows[0].num_n_blocks = 100;
  EXPECT_EQ(fa3_dynamic_splits(rows, 1, 132, 10)[0], 10);
  rows.push_back({1, 0});
  EXPECT_EQ(fa3_dynamic_splits(rows, 1, 132, 10)[0], 1);
  const std::vector<Fa3Row> empty(5, Fa3Row{1, 0});
  EXPECT_EQ(fa3_dynamic_splits(empty, 8, 132, 10), std::vector<std::int32_t>(5, 1));
}

TEST(Fa3, LongestRequestsComeFirst) {
  const workloads::Workload w = decode("w", geometry(2, 1, 128), {176, 1760, 352, 17600});
  const Plan plan = make_plan("fa3", w, {4, 1, 0, 0});
  std::vector<std::int32_t> order;
  for (const Item& item : plan.items) {
    const std::int32_t request = plan.outputs[static_cast<std::size_t>(item.output)].request;
    if (order.empty() || order.back() != request) order.push_back(request);
  }
  EXPECT_EQ(order, (std::vector<std::int32_t>{3, 1, 2, 0}));
  EXPECT_EQ(plan.dispatch, Dispatch::queue);
  EXPECT_EQ(plan.workers, 4);
}

TEST(Fa3, LateSplitsMayBeEmpty) {
  // 9 blocks and a bound of 7: one block per SM would be 9 splits, 7 splits of two blocks leave the last two empty.
  const workloads::Workload w = decode("w", geometry(1, 1, 128), {9 * 176});
  constexpr Grid grid{16, 1, 0, 0};
  const Plan plan = fa3_queue(w, grid, fa3_call(w, grid, true), 7);
  std::vector<std::int32_t> blocks;
  for (const Item& item : plan.items) blocks.push_back(item.tokens() / 176);
  EXPECT_EQ(blocks, (std::vector<std::int32_t>{2, 2, 2, 2, 1, 0, 0}));
  EXPECT_EQ(metrics(plan, grid).empty_items, 2);
}

TEST(Fa3, MoreThan992RowsAreSortedInSections) {
  std::vector<std::int32_t> lens(1000, 100);
  lens[5] = 9000;
  lens[995] = 90000;
  const workloads::Workload w = decode("w", geometry(1, 1, 128), lens);
  const Plan plan = make_plan("fa3", w, kHopper);
  EXPECT_EQ(plan.outputs[static_cast<std::size_t>(plan.items[0].output)].request, 5);
  EXPECT_EQ(plan.outputs[static_cast<std::size_t>(plan.items[992].output)].request, 995);
}

TEST(Fa3, CausalRowTilesComeFromTheLastInSectionsOfHeads) {
  // 8 heads, 300 query tokens: unsplit (enough tiles), 3 row tiles of 128 each, all heads of a section before the next
  // row tile.
  const workloads::Workload w = testing::with_queries(decode("prefill", geometry(8, 8, 128), {300}), {300});
  const Plan plan = make_plan("fa3", w, {16, 1, 0, 0});
  ASSERT_EQ(plan.num_splits, 1);
  ASSERT_EQ(plan.items.size(), 24U);
  for (std::size_t i = 0; i < 24; ++i) {
    const OutputTile& tile = plan.outputs[static_cast<std::size_t>(plan.items[i].output)];
    EXPECT_EQ(tile.head_begin, static_cast<std::int32_t>(i % 8));
    EXPECT_EQ(tile.row_begin, 128 * (2 - static_cast<std::int32_t>(i / 8)));
  }
}

TEST(Fa3Rule, HeadsInL2) {
  EXPECT_EQ(fa3_heads_in_l2(10, 160, 1, 64), 16);
  EXPECT_EQ(fa3_heads_in_l2(11, 160, 1, 64), 8);
  EXPECT_EQ(fa3_heads_in_l2(80, 160, 1, 64), 2);
  EXPECT_EQ(fa3_heads_in_l2(1000, 160, 1, 64), 1);
  EXPECT_EQ(fa3_heads_in_l2(10, 160, 4, 32), 32);
}

TEST(Fa3Rule, PacksGroupsUnlessRowsFillTheTile) {
  EXPECT_TRUE(fa3_should_pack_gqa(true, 128, 8, 128));
  EXPECT_TRUE(fa3_should_pack_gqa(false, 1, 2, 128));
  EXPECT_FALSE(fa3_should_pack_gqa(false, 1, 1, 128));
  EXPECT_FALSE(fa3_should_pack_gqa(false, 128, 8, 128));
}

TEST(Fa3, AGivenNumberOfSplitsIsTheBoundOfTheDynamicRule) {
  const workloads::Workload w = decode("w", geometry(8, 2, 128), {300, 40000, 9000});
  const Plan ruled = make_plan("fa3", w, kHopper);
  Plan same = make_plan("fa3:" + std::to_string(ruled.num_splits), w, kHopper);
  EXPECT_NE(same.reason, ruled.reason);
  same.schedule = ruled.schedule;
  same.reason = ruled.reason;
  EXPECT_EQ(same, ruled);
  const Plan three = make_plan("fa3:3", w, kHopper);
  EXPECT_EQ(three.num_splits, 3);
  EXPECT_EQ(splits_per_request(w, three), (std::vector<std::int32_t>{1, 3, 3}));
  EXPECT_TRUE(make_plan("fa3:1", w, kHopper).merges.empty());
}

TEST(Fa3, SplitDecisionOfManyRequestsIgnoresTheBatch) {
  // b = 20, 8 KV heads: 160 unsplit tiles on 132 SMs, and still the split kernel with its combine.
  const workloads::Workload w = decode("w", geometry(32, 8, 128), std::vector<std::int32_t>(20, 4096));
  const Plan plan = make_plan("fa3", w, kHopper);
  EXPECT_EQ(plan.num_splits, 14);
  EXPECT_EQ(plan.lists(), 160);
  EXPECT_TRUE(plan.merges.empty());
  EXPECT_EQ(plan.merge, MergeKind::kernel);
  EXPECT_NEAR(metrics(plan, kHopper).quantization_efficiency, 160.0 / 264.0, 1e-12);
}

}  // namespace
}  // namespace splitwave::schedules
