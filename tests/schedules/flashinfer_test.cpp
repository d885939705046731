// SPDX-License-Identifier: Apache-2.0
// FlashInfer's planners on worked examples (132 SMs).
#include <gtest/gtest.h>

#include <algorithm>

#include "schedules/rules/flashinfer.h"
#include "schedules/schedules.h"
#include "tests/support/battery.h"

namespace splitwave::schedules {
namespace {

using testing::decode;
using testing::geometry;

constexpr Grid kTwoCtasPerSm{132, 2, 0, 0};

std::vector<std::int32_t> uniform(std::size_t batch, std::int32_t context_len) {
  return std::vector<std::int32_t>(batch, context_len);
}

std::vector<std::int32_t> one_long() {
  std::vector<std::int32_t> lens = uniform(31, 1024);
  lens.insert(lens.begin(), 131072);
  return lens;
}

/// Longest item of the plan in tokens: the chunk.
std::int32_t longest_item(const Plan& plan) {
  std::int32_t longest = 0;
  for (const Item& item : plan.items) longest = std::max(longest, item.tokens());
  return longest;
}

struct Example {
  std::vector<std::int32_t> context_lens;
  std::int32_t chunk, items;
};

TEST(FlashInfer, ChunkExamples) {
  for (const Example& e : {Example{{131072}, 3984, 264}, Example{uniform(8, 4096), 1024, 256},
                           Example{uniform(64, 8192), 8192, 512}, Example{one_long(), 65536, 264}}) {
    const workloads::Workload w = testing::paged(decode("w", geometry(32, 8, 128), e.context_lens), 16);
    const Plan plan = make_plan("flashinfer", w, kTwoCtasPerSm);
    EXPECT_EQ(longest_item(plan), e.chunk);
    EXPECT_EQ(plan.ctas(), e.items);
    EXPECT_EQ(plan.ctas(), static_cast<std::int32_t>(plan.items.size()));
  }
}

TEST(FlashInfer, ChunksAreNeverBelow128Tokens) {
  const workloads::Workload w = decode("w", geometry(8, 1, 128), {1000});
  const Plan plan = make_plan("flashinfer", w, kTwoCtasPerSm);
  EXPECT_EQ(longest_item(plan), 128);
  EXPECT_EQ(plan.num_splits, 8);
  EXPECT_EQ(plan.tile_kv, 128);
}

TEST(FlashInferRule, SearchFindsTheSmallestChunkThatFits) {
  const std::vector<FlashInferRequest> requests = {{4, 100}, {40, 37}, {16, 0}};
  for (std::int64_t most = 5; most < 150; ++most) {
    const std::int64_t chunk = flashinfer_kv_chunk_size(requests, most, 16, 1);
    const auto count = [&](std::int64_t pages) {
      std::int64_t items = 0;
      for (const FlashInferRequest& r : requests) {
        items += (r.packed_qo_len + 15) / 16 * ((std::max<std::int64_t>(r.kv_len, 1) + pages - 1) / pages);
      }
      return items;
    };
    EXPECT_LE(count(chunk), most);
    EXPECT_TRUE(chunk == 1 || count(chunk - 1) > most);
  }
  EXPECT_EQ(flashinfer_kv_chunk_size(requests, 0, 16, 1), 100) << "nothing fits: the longest request is one chunk";
  EXPECT_EQ(flashinfer_kv_chunk_size({}, 33, 16, 8), 8);
}

TEST(FlashInferRule, Tiles) {
  EXPECT_EQ(flashinfer_cta_tile_q(4, 128, 128), 16);
  EXPECT_EQ(flashinfer_cta_tile_q(16, 128, 128), 16);
  EXPECT_EQ(flashinfer_cta_tile_q(17, 128, 128), 64);
  EXPECT_EQ(flashinfer_cta_tile_q(64, 128, 128), 64);
  EXPECT_EQ(flashinfer_cta_tile_q(65, 128, 128), 128);
  EXPECT_EQ(flashinfer_cta_tile_q(65, 256, 256), 64);
  EXPECT_EQ(flashinfer_cta_tile_q(128, 512, 576), 32);
  EXPECT_EQ(flashinfer_cta_tile_q(16, 512, 576), 16);
  EXPECT_EQ(flashinfer_cta_tile_kv(16, 64, 64, kHopperSharedBytesPerSm), 256);
  EXPECT_EQ(flashinfer_cta_tile_kv(16, 128, 128, kHopperSharedBytesPerSm), 128);
  EXPECT_EQ(flashinfer_cta_tile_kv(16, 256, 256, kHopperSharedBytesPerSm), 64);
}

TEST(FlashInferRule, TilesFitTheSharedMemoryOfTheSm) {
  // Two CTAs on an SM: (half of it - Q) / (16 tokens x 4 warps of K and V) pieces, a power of two.
  constexpr std::int64_t ampere = 164 * 1024;
  constexpr std::int64_t ada = 100 * 1024;
  EXPECT_EQ(flashinfer_cta_tile_kv(16, 128, 128, ampere), 128);                   // (83,968 - 4,096) / 32,768 = 2
  EXPECT_EQ(flashinfer_cta_tile_kv(16, 128, 128, ada), 64);                       // (51,200 - 4,096) / 32,768 = 1
  EXPECT_EQ(flashinfer_cta_tile_kv(16, 64, 64, ada), 128);                        // (51,200 - 2,048) / 16,384 = 3, so 2
  EXPECT_EQ(flashinfer_cta_tile_kv(64, 128, 128, kHopperSharedBytesPerSm), 128);  // 8 pieces of 16 tokens at most
  EXPECT_EQ(flashinfer_cta_tile_kv(64, 128, 128, ada), 64);                       // (51,200 - 16,384) / 8,192 = 4
}

TEST(FlashInfer, CutsByTheTileOfTheMachine) {
  const workloads::Workload batch = decode("w", geometry(32, 8, 128), {8192});
  Grid ada{142, 1, 0, 0, 100 * 1024};
  EXPECT_NE(make_plan("flashinfer", batch, ada).reason.find("kernel tile 16 x 64"), std::string::npos);
  ada.shared_bytes_per_sm = 0;  // unknown: the H100's
  EXPECT_NE(make_plan("flashinfer", batch, ada).reason.find("kernel tile 16 x 128"), std::string::npos);
}

TEST(FlashInferRule, HolisticLimit) {
  EXPECT_EQ(flashinfer_holistic_kv_len_limit(131072, 8, 264, 16), 4096);
  EXPECT_EQ(flashinfer_holistic_kv_len_limit(12000, 8, 264, 16), 512);
  EXPECT_EQ(flashinfer_holistic_kv_len_limit(524288, 8, 264, 16), 16128);
  EXPECT_EQ(flashinfer_holistic_kv_len_limit(162816, 8, 264, 16), 5120);
  EXPECT_EQ(flashinfer_holistic_kv_len_limit(131072, 8, 264, 128), 2048);
  EXPECT_EQ(flashinfer_holistic_kv_len_limit(131072, 1, 264, 128), 512);
  EXPECT_EQ(flashinfer_holistic_kv_len_limit(0, 8, 264, 16), 128);
}

TEST(FlashInferHolistic, Examples) {
  for (const Example& e : {Example{{131072}, 4096, 256}, Example{uniform(4, 3000), 512, 192},
                           Example{uniform(64, 8192), 8192, 512}, Example{one_long(), 5120, 456}}) {
    const workloads::Workload w = decode("w", geometry(32, 8, 128), e.context_lens);
    const Plan plan = make_plan("flashinfer-holistic", w, kTwoCtasPerSm);
    EXPECT_EQ(longest_item(plan), e.chunk);
    EXPECT_EQ(static_cast<std::int32_t>(plan.items.size()), e.items);
    EXPECT_EQ(plan.ctas(), 264) << "the grid is persistent, whatever there is to do";
  }
  const workloads::Workload wide = decode("w", geometry(8, 2, 256), {1000});
  EXPECT_EQ(make_plan("flashinfer-holistic", wide, kTwoCtasPerSm).ctas(), 132);
}

TEST(FlashInferHolistic, LeastLoadedCtaTakesTheNextItem) {
  // 5 requests of one chunk on 4 CTAs: the fifth goes to a CTA with the shortest of the first four.
  const workloads::Workload w = decode("w", geometry(1, 1, 64), {128, 20, 100, 110, 128});
  const Plan plan = make_plan("flashinfer-holistic", w, {2, 2, 0, 0});
  ASSERT_EQ(plan.ctas(), 4);
  for (std::int32_t cta = 0; cta < 4; ++cta) {
    const bool has_short =
        std::any_of(plan.list(cta).begin(), plan.list(cta).end(), [](const Item& item) { return item.output == 1; });
    EXPECT_EQ(plan.list(cta).size(), has_short ? 2U : 1U);
  }
}

TEST(FlashInferHolistic, TiesFallAsInTheHeapOfGccsLibrary) {
  // 12 items of equal cost on 6 CTAs, as std::pop_heap and std::push_heap of libstdc++ 12 deal them.
  const workloads::Workload w = decode("w", geometry(4, 4, 128), uniform(3, 2048));
  const Plan plan = make_plan("flashinfer-holistic", w, {3, 2, 0, 0});
  std::vector<std::int32_t> outputs;
  for (const Item& item : plan.items) outputs.push_back(item.output);
  EXPECT_EQ(outputs, (std::vector<std::int32_t>{0, 6, 3, 10, 1, 9, 5, 8, 4, 7, 2, 11}));
  EXPECT_EQ(plan.cta_begin, (std::vector<std::int32_t>{0, 2, 4, 6, 8, 10, 12}));
}

TEST(FlashInferHolistic, LargeGroupsUseTheLargeTile) {
  const workloads::Workload w = testing::with_queries(decode("w", geometry(8, 2, 64), {5000, 900}), {40, 1});
  const Plan plan = make_plan("flashinfer-holistic", w, kTwoCtasPerSm);
  EXPECT_EQ(plan.tile_q, 128);
  EXPECT_EQ(plan.tile_kv, 64);
  EXPECT_EQ(plan.outputs.size(), 2U * 2U + 2U);
}

}  // namespace
}  // namespace splitwave::schedules
