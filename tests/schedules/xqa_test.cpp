// SPDX-License-Identifier: Apache-2.0
// XQA's two rules as tables worked out from the libraries' code, and its grid.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "schedules/rules/xqa.h"
#include "schedules/schedules.h"
#include "tests/schedules/hopper.h"
#include "tests/support/battery.h"

namespace splitwave::schedules {
namespace {

using testing::decode;
using testing::geometry;

struct Case {
  std::int64_t batch, kv_heads, tokens;
  std::int32_t sub_sequences;
};

// min(max(1, 132 / (batch x KV heads)), ceil(tokens / 256)), integer divisions.
TEST(XqaRule, FlashInfersSubSequences) {
  for (const Case& c :
       {Case{1, 1, 128, 1}, Case{1, 1, 256, 1}, Case{1, 1, 257, 2}, Case{1, 1, 131072, 132}, Case{1, 8, 131072, 16},
        Case{8, 1, 2048, 8}, Case{8, 1, 131072, 16}, Case{8, 8, 131072, 2}, Case{66, 1, 4096, 2}, Case{67, 1, 4096, 1},
        Case{44, 1, 4096, 3}, Case{1, 132, 65536, 1}, Case{128, 8, 131072, 1}, Case{1, 1, 0, 1}}) {
    EXPECT_EQ(xqa_num_sub_sequences(c.batch, c.kv_heads, c.tokens, kXqaCtaTile, 132), c.sub_sequences)
        << c.batch << " x " << c.kv_heads << " x " << c.tokens;
  }
}

// tokens / 128; then round(sqrt(8 x that)) if it is less; then at most eight waves; then 6,000 / batch.
TEST(XqaRule, TensorRtLlmsMultiBlockCount) {
  for (const Case& c : {Case{1, 1, 127, 1}, Case{1, 1, 255, 1}, Case{1, 1, 512, 4}, Case{1, 1, 1024, 8},
                        Case{1, 1, 2048, 11}, Case{1, 1, 8192, 23}, Case{1, 1, 131072, 91}, Case{8, 8, 131072, 16},
                        Case{32, 8, 8192, 4}, Case{128, 8, 8192, 1}, Case{32, 8, 1024, 4}, Case{1, 8, 32768, 45},
                        Case{500, 1, 131072, 2}, Case{7000, 1, 512, 1}, Case{2000, 1, 512, 1}}) {
    EXPECT_EQ(trtllm_multi_block_count(c.batch, c.kv_heads, c.tokens, 132), c.sub_sequences)
        << c.batch << " x " << c.kv_heads << " x " << c.tokens;
  }
  // On many SMs the workspace is what limits: 6,000 / 400.
  EXPECT_EQ(trtllm_multi_block_count(400, 8, 131072, 100000), 15);
}

/// Tokens of each CTA's list.
std::vector<std::int32_t> tokens_of_lists(const Plan& plan) {
  std::vector<std::int32_t> tokens;
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    tokens.push_back(0);
    for (const Item& item : plan.list(list)) tokens.back() += item.tokens();
  }
  return tokens;
}

// 5 tiles of 256 tokens on 4 sub-sequences: the kernel gives tiles 0 and 4 to the first, whose last tile is short.
TEST(Xqa, SubSequencesHaveTheTokensOfTilesDealtInTurn) {
  const workloads::Workload w = decode("w", geometry(8, 1, 128), {1100});
  const Plan plan = make_plan("xqa", w, {4, 1, 0, 0});
  EXPECT_EQ(plan.num_splits, 4);
  EXPECT_EQ(tokens_of_lists(plan), (std::vector<std::int32_t>{256 + 76, 256, 256, 256}));
  EXPECT_EQ(plan.items[0], (Item{0, 768, 1100, 3}));
  EXPECT_EQ(plan.items[1], (Item{0, 0, 256, 0}));
  EXPECT_EQ(plan.merge, MergeKind::last_arriver);
  const Plan three = make_plan("xqa", decode("w", geometry(8, 1, 128), {5 * 256 - 10}), {3, 1, 0, 0});
  EXPECT_EQ(tokens_of_lists(three), (std::vector<std::int32_t>{512, 502, 256}));
}

TEST(Xqa, GridIsSubSequencesThenHeadsThenRequests) {
  const workloads::Workload w = decode("w", geometry(8, 2, 128), {512, 1024});
  const Plan plan = make_plan("xqa", w, {8, 1, 0, 0});
  EXPECT_EQ(plan.tile_q, 16);
  EXPECT_EQ(plan.tile_kv, 256);
  EXPECT_EQ(plan.num_splits, 2);
  ASSERT_EQ(plan.lists(), 8);
  for (std::int32_t list = 0; list < 8; ++list) {
    const OutputTile& output = plan.outputs[static_cast<std::size_t>(plan.list(list).front().output)];
    EXPECT_EQ(output.request, list / 4);
    EXPECT_EQ(output.head_begin / 4, list / 2 % 2);
    EXPECT_EQ(output.rows(), 4);
  }
}

// Pages of 64 tokens: 1,030 tokens fill 17 of them, which are 5 CTA tiles. A request with fewer tiles leaves CTAs idle.
TEST(Xqa, ShortRequestsLeaveSubSequencesWithoutWork) {
  const workloads::Workload w = decode("w", geometry(8, 1, 128), {1030, 300});
  const Plan plan = make_plan("xqa", w, kHopper);
  EXPECT_EQ(plan.num_splits, 5);
  EXPECT_EQ(tokens_of_lists(plan), (std::vector<std::int32_t>{256, 256, 256, 256, 6, 256, 44, 0, 0, 0}));
  EXPECT_EQ(plan.merges.size(), 2U);
}

TEST(Xqa, TensorRtLlmLaunchesMoreSubSequencesThanTiles) {
  const Plan plan = make_plan("xqa:trtllm", decode("w", geometry(8, 1, 128), {2048}), kHopper);
  EXPECT_EQ(plan.num_splits, 11);
  EXPECT_EQ(plan.lists(), 11);
  const std::vector<std::int32_t> tokens = tokens_of_lists(plan);
  EXPECT_EQ(std::accumulate(tokens.begin(), tokens.end(), 0), 2048);
  EXPECT_EQ(std::vector<std::int32_t>(tokens.end() - 3, tokens.end()), (std::vector<std::int32_t>{0, 0, 0}));
}

TEST(Xqa, SubSequencesCanBeGiven) {
  const Plan plan = make_plan("xqa:3", decode("w", geometry(8, 2, 128), {4096}), kHopper);
  EXPECT_EQ(plan.num_splits, 3);
  EXPECT_EQ(tokens_of_lists(plan), (std::vector<std::int32_t>{1536, 1280, 1280, 1536, 1280, 1280}));
}

TEST(Xqa, OneTileHoldsTheGroup) {
  EXPECT_EQ(make_plan("xqa", decode("w", geometry(34, 2, 128), {1000}), kHopper).tile_q, 32);
  workloads::Workload speculative = decode("w", geometry(16, 2, 128), {1000});
  speculative.requests.front().query_len = 5;
  const Plan plan = make_plan("xqa", speculative, kHopper);
  EXPECT_EQ(plan.tile_q, 32);
  EXPECT_EQ(plan.outputs.size(), 4U) << "40 rows of each KV head in two blocks";
}

}  // namespace
}  // namespace splitwave::schedules
