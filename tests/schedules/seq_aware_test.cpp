// SPDX-License-Identifier: Apache-2.0
// The sequence-aware policy against the tables of arXiv 2604.00028 and its reproduction repository.
#include <gtest/gtest.h>

#include "schedules/rules/fa3.h"
#include "schedules/schedules.h"
#include "schedules/validate.h"
#include "tests/schedules/hopper.h"
#include "tests/support/battery.h"

namespace splitwave::schedules {
namespace {

using testing::decode;
using testing::geometry;

// Splits with 128-token blocks on 132 SMs that the reproduction repository of arXiv 2604.00028 lists.
TEST(Fa3Rule, BaselineOfTheSequenceAwarePaper) {
  struct Case {
    std::int64_t context_len;
    std::vector<std::pair<std::int64_t, std::int32_t>> splits;  // tiles, splits
  };
  const Case cases[] = {
      {512, {{1, 1}, {2, 1}, {4, 1}, {8, 1}}},
      {640, {{1, 5}}},
      {768, {{1, 6}}},
      {1024, {{1, 7}, {2, 7}, {4, 7}, {8, 7}, {16, 7}, {32, 4}, {64, 2}, {128, 1}}},
      {2048, {{1, 14}, {2, 14}, {4, 14}, {8, 14}, {16, 7}, {32, 4}, {64, 2}}},
      {4096, {{1, 28}, {2, 28}, {4, 28}, {8, 14}, {16, 7}, {32, 4}, {64, 2}}},
      {8192, {{1, 55}, {2, 55}, {4, 29}, {8, 15}, {16, 8}, {32, 4}, {64, 2}, {106, 1}, {128, 1}}},
  };
  for (const Case& c : cases) {
    for (const auto& [tiles, splits] : c.splits) {
      EXPECT_EQ(fa3_choice(tiles, (c.context_len + 127) / 128).num_splits, splits) << c.context_len << " " << tiles;
    }
  }
}

TEST(SequenceAwareRule, ChangesOnlyFourBlocksWithFewTiles) {
  for (std::int64_t tiles : {1, 2, 3, 4, 8, 16, 32, 64, 106, 128}) {
    for (std::int64_t blocks = 0; blocks < 70; ++blocks) {
      Fa3SplitArguments a;
      a.total_mblocks = tiles;
      a.num_n_blocks = blocks;
      const std::int32_t expected = blocks == 4 && tiles < 4 ? 3 : fa3_num_splits(a).num_splits;
      EXPECT_EQ(seq_aware_num_splits(a).num_splits, expected) << tiles << " " << blocks;
    }
  }
}

// The paper's table: batch 1, 64 query heads, d = 128, causal 128-token tile.
TEST(SequenceAware, TableOne) {
  struct Case {
    std::int32_t context_len, kv_heads, before, after;
  };
  constexpr Grid grid{132, 1, 0, 128};
  for (const Case& c : {Case{128, 1, 1, 1}, Case{128, 2, 1, 1}, Case{128, 8, 1, 1}, Case{256, 1, 1, 1},
                        Case{256, 8, 1, 1}, Case{384, 1, 1, 1}, Case{384, 2, 1, 1}, Case{512, 1, 1, 3},
                        Case{512, 2, 1, 3}, Case{512, 8, 1, 1}, Case{2048, 1, 14, 14}, Case{2048, 2, 14, 14},
                        Case{2048, 8, 14, 14}, Case{4096, 1, 28, 28}, Case{4096, 2, 28, 28}, Case{4096, 8, 14, 14}}) {
    const workloads::Workload w = decode("w", geometry(64, c.kv_heads, 128), {c.context_len});
    EXPECT_EQ(make_plan("fa3", w, grid).num_splits, c.before) << c.context_len << " " << c.kv_heads;
    EXPECT_EQ(make_plan("seq-aware", w, grid).num_splits, c.after) << c.context_len << " " << c.kv_heads;
  }
}

TEST(SequenceAware, BatchDoesNotCountAsTilesInTheVarlenPath) {
  // 8 requests of one KV head are 8 tiles to the paper and one to FA3's seqused_k path, where the new branch fires.
  const workloads::Workload w = decode("w", geometry(64, 1, 128), std::vector<std::int32_t>(8, 512));
  EXPECT_EQ(make_plan("seq-aware", w, {132, 1, 0, 128}).num_splits, 3);
  // With the tile of 176 that a contiguous cache gets, 512 tokens are 3 blocks.
  EXPECT_EQ(make_plan("seq-aware", w, kHopper).num_splits, 1);
}

TEST(SequenceAware, ThreeSplitsOfFourBlocksAreTwoTwoAndNone) {
  const workloads::Workload w = decode("w", geometry(64, 1, 128), {512});
  const Plan plan = make_plan("seq-aware", w, {132, 1, 0, 128});
  EXPECT_EQ(plan.items, (std::vector<Item>{{0, 0, 256, 0}, {0, 256, 512, 1}, {0, 512, 512, 2}}));
}

TEST(SequenceAware, EvolvedGivesTwelveOrSixteenToOneShortPrompt) {
  const auto splits = [](std::int32_t kv_heads, const std::vector<std::int32_t>& lens) {
    const workloads::Workload w = decode("w", geometry(64, kv_heads, 128), lens);
    const Plan plan = make_plan("seq-aware:evolved", w, {132, 1, 0, 128});
    EXPECT_TRUE(violations(w, plan).empty());
    EXPECT_TRUE(plan.num_splits < 12 || splits_per_request(w, plan).front() <= 4) << "there are 4 blocks to share";
    return plan.num_splits;
  };
  EXPECT_EQ(splits(8, {512}), 16);
  EXPECT_EQ(splits(16, {400}), 12);
  EXPECT_EQ(splits(8, {513}), 5);  // FA3's own rule again: 5 blocks
  EXPECT_EQ(splits(8, {400, 400}), 1);
}

}  // namespace
}  // namespace splitwave::schedules
