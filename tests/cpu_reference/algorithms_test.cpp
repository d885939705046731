// SPDX-License-Identifier: Apache-2.0
// Every algorithm of the papers gives the oracle's answer, for any shape and any cut.
#include "cpu_reference/algorithms/functions.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "cpu_reference/oracle.h"
#include "tests/support/tensors.h"

namespace splitwave::cpu_reference::algorithms {
namespace {

using workloads::Dtype;
using workloads::Tensor;
using workloads::Tensors;
using workloads::Workload;

Matrix matrix_of(const workloads::Bytes& tensor, std::int64_t rows, std::int64_t cols) {
  Matrix matrix(rows, cols);
  for (std::int64_t i = 0; i < rows * cols; ++i) matrix.values[i] = load_element(Dtype::f32, tensor, i);
  return matrix;
}

/// One head, and the oracle's answer for it.
struct Example {
  Head head;
  Result<double> exact;
};

Example make_example(const Workload& workload, const testing::Values& values) {
  const workloads::Geometry& g = workload.geometry;
  const workloads::Request& request = workload.requests.front();
  const Tensors tensors = testing::tensors_with(workload, values);
  return {{matrix_of(tensors.q, request.query_len, g.head_dim), matrix_of(tensors.k, request.context_len, g.head_dim),
           matrix_of(tensors.v, request.context_len, g.value_dim), g.scale()},
          attend(workload, tensors)};
}

Example any_example() {
  Workload workload = testing::plain_workload(Dtype::f32, 1, 1, *rc::gen::inRange(1, 20), *rc::gen::inRange(1, 12),
                                              *rc::gen::inRange(1, 120));
  workload.geometry.value_dim = *rc::gen::inRange(1, 20);
  workload.geometry.softmax_scale = *rc::gen::element(0.125, 1.0, 4.0);
  return make_example(workload, testing::normal_values(*rc::gen::arbitrary<std::uint64_t>()));
}

double worst_error(const HeadResult& result, const Result<double>& exact) {
  double worst = 0;
  const auto update = [&worst](double value, double expected) {
    const double error = std::abs(value - expected) / std::max(1.0, std::abs(expected));
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
  };
  for (std::size_t i = 0; i < exact.output.size(); ++i) update(result.output.values[i], exact.output[i]);
  for (std::size_t i = 0; i < exact.lse.size(); ++i) update(result.lse[i], exact.lse[i]);
  return worst;
}

constexpr double kAccuracy = 1e-12;

RC_GTEST_PROP(Algorithms, Standard, ()) {
  const Example example = any_example();
  RC_ASSERT(worst_error(standard_attention(example.head), example.exact) <= kAccuracy);
}

RC_GTEST_PROP(Algorithms, ThreePassSafeSoftmax, ()) {
  const Example example = any_example();
  RC_ASSERT(worst_error(three_pass_attention(example.head), example.exact) <= kAccuracy);
}

RC_GTEST_PROP(Algorithms, TwoPassOnlineSoftmax, ()) {
  const Example example = any_example();
  RC_ASSERT(worst_error(two_pass_attention(example.head), example.exact) <= kAccuracy);
}

RC_GTEST_PROP(Algorithms, OnePass, ()) {
  const Example example = any_example();
  RC_ASSERT(worst_error(one_pass_attention(example.head), example.exact) <= kAccuracy);
}

RC_GTEST_PROP(Algorithms, FlashAttention1, ()) {
  const Example example = any_example();
  const std::int64_t sram_elements = *rc::gen::inRange(1, 2000);
  RC_ASSERT(worst_error(flash_attention_1(example.head, sram_elements), example.exact) <= kAccuracy);
}

RC_GTEST_PROP(Algorithms, FlashAttention2, ()) {
  const Example example = any_example();
  const std::int64_t block_rows = *rc::gen::inRange(1, 16);
  const std::int64_t block_tokens = *rc::gen::inRange(1, 130);
  RC_ASSERT(worst_error(flash_attention_2(example.head, block_rows, block_tokens), example.exact) <= kAccuracy);
}

RC_GTEST_PROP(Algorithms, FlashDecoding, ()) {
  const Example example = any_example();
  const std::int64_t block_tokens = *rc::gen::inRange(1, 40);
  const std::int64_t splits = *rc::gen::inRange(1, 140);
  RC_ASSERT(worst_error(flash_decoding(example.head, block_tokens, splits), example.exact) <= kAccuracy);
}

RC_GTEST_PROP(Algorithms, LeanAttentionOnAnyGrid, ()) {
  const Example example = any_example();
  const std::int64_t tile_rows = *rc::gen::inRange(1, 13);
  const std::int64_t tile_tokens = *rc::gen::inRange(1, 40);
  const std::int64_t grid = *rc::gen::inRange(1, 33);
  RC_ASSERT(worst_error(lean_attention(example.head, tile_rows, tile_tokens, grid), example.exact) <= kAccuracy);
}

RC_GTEST_PROP(Algorithms, Etap, ()) {
  const Example example = any_example();
  const std::int64_t block_rows = *rc::gen::inRange(1, 16);
  const std::int64_t block_tokens = *rc::gen::inRange(1, 130);
  RC_ASSERT(worst_error(etap_attention(example.head, block_rows, block_tokens), example.exact) <= kAccuracy);
}

/// Five query rows, 50 tokens.
Example fixed_example() {
  return make_example(testing::plain_workload(Dtype::f32, 1, 1, 8, 5, 50), testing::normal_values(41));
}

TEST(LeanAttention, EveryGridUpToBeyondTheWorkEnds) {
  // 3 output tiles of 7 LeanTiles: 21 iterations. Beyond 21 CTAs some have nothing to do.
  const Example example = fixed_example();
  for (std::int64_t grid = 1; grid <= 24; ++grid) {
    EXPECT_LE(worst_error(lean_attention(example.head, 2, 8, grid), example.exact), kAccuracy) << grid << " CTAs";
  }
  EXPECT_LE(worst_error(lean_attention(example.head, 2, 8, 1000), example.exact), kAccuracy);
}

TEST(LeanAttention, TheTimingOfThreadsDoesNotChangeABit) {
  const Example example = fixed_example();
  const HeadResult first = lean_attention(example.head, 5, 3, 16);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const HeadResult again = lean_attention(example.head, 5, 3, 16);
    ASSERT_EQ(again.output.values, first.output.values);
    ASSERT_EQ(again.lse, first.lse);
  }
}

TEST(LeanAttention, IsFlashAttention2WhenTheGridIsTheNumberOfOutputTiles) {
  // LeanAttention, section 4.3: no output tile is cut, so that the operations are the same.
  const Example example = fixed_example();
  const HeadResult lean = lean_attention(example.head, 2, 8, 3);
  const HeadResult fa2 = flash_attention_2(example.head, 2, 8);
  for (std::size_t i = 0; i < fa2.output.values.size(); ++i) {
    EXPECT_DOUBLE_EQ(lean.output.values[i], fa2.output.values[i]);
  }
}

TEST(LeanAttention, IsFlashDecodingWhenTheGridIsAMultipleOfTheOutputTiles) {
  // One output tile of 6 LeanTiles on 3 CTAs: the cuts of three splits.
  const Example example = make_example(testing::plain_workload(Dtype::f32, 1, 1, 8, 4, 48), testing::normal_values(42));
  const HeadResult lean = lean_attention(example.head, 4, 8, 3);
  const HeadResult split = flash_decoding(example.head, 8, 3);
  for (std::size_t i = 0; i < split.output.values.size(); ++i) {
    EXPECT_NEAR(lean.output.values[i], split.output.values[i], 1e-15);
  }
}

TEST(Algorithms, RisingScoresRescaleInEveryStep) {
  const Workload workload = testing::plain_workload(Dtype::f32, 1, 1, 1, 2, 300);
  const Example example =
      make_example(workload, [](Tensor tensor, std::int32_t, std::int32_t position, std::int32_t, std::int32_t) {
        if (tensor == Tensor::q) return position == 0 ? 1.0F : -1.0F;  // rising for row 0, falling for row 1
        return static_cast<float>(position) * (tensor == Tensor::k ? 2.0F : 1.0F);
      });
  const Head& head = example.head;
  for (const HeadResult& result :
       {standard_attention(head), three_pass_attention(head), two_pass_attention(head), one_pass_attention(head),
        flash_attention_1(head, 32), flash_attention_2(head, 1, 8), flash_decoding(head, 8, 5),
        lean_attention(head, 2, 8, 7), etap_attention(head, 2, 8)}) {
    EXPECT_LE(worst_error(result, example.exact), kAccuracy);
  }
}

}  // namespace
}  // namespace splitwave::cpu_reference::algorithms
