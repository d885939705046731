// SPDX-License-Identifier: Apache-2.0
// LeanAttention's plans: the paper's Figure 1 and balance, and the examples of its ONNX Runtime code.
#include <gtest/gtest.h>

#include <algorithm>

#include "schedules/metrics.h"
#include "schedules/rules/lean.h"
#include "schedules/schedules.h"
#include "tests/support/battery.h"

namespace splitwave::schedules {
namespace {

using testing::decode;
using testing::geometry;

std::vector<std::int64_t> tiles_per_cta(const Plan& plan) {
  std::vector<std::int64_t> result;
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    std::int64_t sum = 0;
    for (const Item& item : plan.list(list)) sum += tiles(plan, item);
    result.push_back(sum);
  }
  return result;
}

// Figure 1: 5 SMs, 2 heads of 5 LeanTiles.
TEST(Lean, FigureOne) {
  const workloads::Workload w = decode("figure_1", geometry(2, 2, 64), {1280});
  const Plan plan = make_plan("lean", w, {5, 1, 0, 0});
  EXPECT_EQ(tiles_per_cta(plan), std::vector<std::int64_t>(5, 2));
  const std::vector<Item> expected = {{0, 0, 512, 0}, {0, 512, 1024, 1}, {0, 1024, 1280, 2},
                                      {1, 0, 256, 3}, {1, 256, 768, 4},  {1, 768, 1280, 5}};
  EXPECT_EQ(plan.items, expected);
  EXPECT_EQ(plan.cta_begin, (std::vector<std::int32_t>{0, 1, 2, 4, 5, 6}));
  EXPECT_EQ(plan.merge, MergeKind::host_cta);
  EXPECT_EQ(plan.dispatch, Dispatch::fixed);
  EXPECT_EQ(metrics(plan, {5, 1, 0, 0}).quantization_efficiency, 1.0);
  // The same figure's other two: one CTA per head, and two splits of each head (3 and 2 tiles).
  EXPECT_EQ(metrics(make_plan("fa2", w, {5, 1, 0, 256}), {5, 1, 0, 0}).quantization_efficiency, 10.0 / 25);
  EXPECT_EQ(metrics(make_plan("fixed-split:2", w, {5, 1, 0, 0}), {5, 1, 0, 0}).quantization_efficiency, 10.0 / 15);
}

TEST(LeanRule, Tiles) {
  EXPECT_EQ(lean_tile_tokens(64), 256);
  EXPECT_EQ(lean_tile_tokens(128), 128);
  EXPECT_EQ(lean_tile_tokens(40), 256);
  EXPECT_EQ(lean_tile_tokens(96), 128);
  EXPECT_EQ(lean_tile_tokens(256), 64);
  EXPECT_EQ(lean_tile_tokens(576), 64);
}

TEST(LeanRule, AtLeastTwoTilesPerCta) {
  EXPECT_EQ(lean_grid(10, 2, 5), 5);
  EXPECT_EQ(lean_grid(10, 2, 216), 5);
  EXPECT_EQ(lean_grid(11, 2, 216), 5);
  EXPECT_EQ(lean_grid(431, 2, 216), 215);
  EXPECT_EQ(lean_grid(432, 2, 216), 216);
  EXPECT_EQ(lean_grid(1000000, 2, 216), 216);
  EXPECT_EQ(lean_grid(1, 1, 216), 1);
  EXPECT_EQ(lean_grid(0, 3, 216), 1) << "empty contexts still have an output to write";
  EXPECT_EQ(lean_grid(0, 0, 216), 0);
}

// Section 4.3: an A100 has 108 SMs with two CTAs each.
TEST(Lean, GridOfAnA100) {
  const workloads::Workload w = decode("w", geometry(56, 56, 64), {262144, 262144});
  const Plan plan = make_plan("lean", w, {108, 2, 0, 0});
  EXPECT_EQ(plan.ctas(), 216);
  const std::vector<std::int64_t> loads = tiles_per_cta(plan);
  const auto [least, most] = std::minmax_element(loads.begin(), loads.end());
  EXPECT_EQ(*most, 531);  // 2 * 56 * 1024 tiles over 216
  EXPECT_EQ(*least, 530);
}

// Figure 6: a ragged batch is the same with unequal tiles per request; unpadded lengths count.
TEST(Lean, RaggedByCumulativeLengths) {
  const workloads::Workload w = decode("ragged", geometry(1, 1, 128), {128, 1000, 0, 300});
  const Plan plan = make_plan("lean", w, {3, 1, 0, 0});
  EXPECT_EQ(tiles_per_cta(plan), (std::vector<std::int64_t>{4, 4, 4}));  // 1 + 8 + 0 + 3 tiles
  const std::vector<Item> expected = {{0, 0, 128, -1},   {1, 0, 384, 0}, {1, 384, 896, 1},
                                      {1, 896, 1000, 2}, {2, 0, 0, -1},  {3, 0, 300, -1}};
  EXPECT_EQ(plan.items, expected);
}

// Section 4.3: as many CTAs as outputs is FlashAttention-2; an even multiple is FlashDecoding.
TEST(Lean, PartsThatEndTheirListsCanShareAMerge) {
  // 9 tiles of three requests in three lists of three: |0 0 0|0 1 1|1 1 2|.
  Plan plan;
  plan.outputs.resize(3);
  plan.items = {{0, 0, 3, 0}, {0, 3, 4, 1}, {1, 0, 2, 2}, {1, 2, 4, 3}, {2, 0, 1, -1}};
  plan.cta_begin = {0, 1, 3, 5};
  plan.merges = {{0, 0, 2}, {1, 2, 4}};
  std::vector<std::int32_t> parts;
  find_closing_parts(plan, parts);
  EXPECT_EQ(parts[0], 1);
  EXPECT_EQ(parts[1], 1);
  // One request alone in three lists: all of them.
  plan.outputs.resize(1);
  plan.items = {{0, 0, 3, 0}, {0, 3, 6, 1}, {0, 6, 9, 2}};
  plan.cta_begin = {0, 1, 2, 3};
  plan.merges = {{0, 0, 3}};
  find_closing_parts(plan, parts);
  EXPECT_EQ(parts[0], 3);
}

TEST(Lean, GeneralisesBothOthers) {
  const workloads::Workload w = decode("w", geometry(4, 4, 128), {1024});
  const Plan whole = make_plan("lean", w, {4, 1, 0, 0});
  EXPECT_EQ(whole.items, make_plan("fa2", w, {4, 1, 0, 128}).items);
  const Plan halves = make_plan("lean", w, {4, 2, 0, 0});
  std::vector<Item> fixed = make_plan("fixed-split:2", w, {4, 2, 0, 0}).items;
  EXPECT_EQ(halves.items, fixed);
}

struct OrtCase {
  std::int64_t n_blocks, batch, heads, grid, max_tiles, high_load, num_splits;
};

TEST(OrtLeanRule, Examples) {
  // d = 128: 128-token blocks, 132 SMs.
  for (const OrtCase& c : {
           OrtCase{1024, 1, 1, 32, 32, 32, 33},    // 131072 tokens, one KV head: at most 32 CTAs per head
           OrtCase{1024, 1, 8, 256, 32, 256, 33},  // 131072 tokens, 8 KV heads: 32 tiles each
           OrtCase{64, 8, 8, 264, 16, 136, 6},     // 8192 tokens, batch 8: two CTAs per SM
           OrtCase{8, 4, 8, 128, 2, 128, 5},       // 1024 tokens, batch 4: two tiles each, half the slots
           OrtCase{1, 1, 1, 1, 1, 1, 1},
           OrtCase{3, 1, 1, 2, 2, 1, 3},
       }) {
    const OrtLeanGrid rule = ort_lean_grid(c.n_blocks, 1, c.batch, c.heads, 132);
    EXPECT_EQ(rule.grid, c.grid) << c.n_blocks;
    EXPECT_EQ(rule.max_tiles, c.max_tiles) << c.n_blocks;
    EXPECT_EQ(rule.high_load, c.high_load) << c.n_blocks;
    EXPECT_EQ(rule.num_splits, c.num_splits) << c.n_blocks;
  }
  EXPECT_EQ(ort_lean_grid(0, 1, 3, 8, 132).grid, 1);
  EXPECT_EQ(ort_lean_grid(0, 0, 0, 8, 132).grid, 0);
}

TEST(OrtLean, TwoPerSmIsHardCoded) {
  const workloads::Workload w = decode("w", geometry(32, 8, 128), std::vector<std::int32_t>(8, 8192));
  EXPECT_EQ(make_plan("lean:ort", w, {132, 1, 0, 0}).ctas(), 264);
  EXPECT_EQ(make_plan("lean:ort", w, {132, 4, 0, 0}).ctas(), 264);
  EXPECT_EQ(make_plan("lean", w, {132, 1, 0, 0}).ctas(), 132);
}

TEST(OrtLean, PlansRaggedBatchesWithTheLongest) {
  // 8 tiles for both rows: 16 tiles, 8 CTAs of 2; the short row's last 7 tiles are padding.
  const workloads::Workload w = decode("w", geometry(1, 1, 128), {1024, 100});
  const Plan plan = make_plan("lean:ort", w, {132, 2, 0, 0});
  EXPECT_EQ(tiles_per_cta(plan), (std::vector<std::int64_t>{2, 2, 2, 2, 1, 0, 0, 0}));
  EXPECT_EQ(plan.num_splits, 5);
}

}  // namespace
}  // namespace splitwave::schedules
