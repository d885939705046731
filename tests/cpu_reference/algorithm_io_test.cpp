// SPDX-License-Identifier: Apache-2.0
// The IO models: equal to the loads and stores that the algorithms' own loops make, to counts by hand, and to the
// figures that FlashAttention's authors published.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "cpu_reference/algorithms/algorithms.h"
#include "cpu_reference/algorithms/functions.h"

namespace splitwave::cpu_reference::algorithms {
namespace {

Matrix any_matrix(std::int64_t rows, std::int64_t cols) {
  Matrix matrix(rows, cols);
  for (std::size_t i = 0; i < matrix.values.size(); ++i) matrix.values[i] = static_cast<double>(i % 7) - 3;
  return matrix;
}

Head head_of(const HeadShape& shape) {
  return {any_matrix(shape.rows, shape.head_dim), any_matrix(shape.tokens, shape.head_dim),
          any_matrix(shape.tokens, shape.value_dim), 0.25, shape.v_in_k};
}

RC_GTEST_PROP(AlgorithmIo, TheModelIsWhatTheLoopsLoadAndStore, ()) {
  HeadShape shape;
  shape.rows = *rc::gen::inRange(1, 40);
  shape.tokens = *rc::gen::inRange(1, 150);
  shape.head_dim = *rc::gen::inRange(1, 12);
  shape.v_in_k = *rc::gen::arbitrary<bool>();
  shape.value_dim = *rc::gen::inRange<std::int64_t>(1, shape.v_in_k ? shape.head_dim + 1 : 12);
  Head head = head_of(shape);
  for (std::int64_t row = 0; shape.v_in_k && row < shape.tokens; ++row) {
    std::copy_n(head.k.values.begin() + row * shape.head_dim, shape.value_dim,
                head.v.values.begin() + row * shape.value_dim);
  }
  for (const Algorithm& algorithm : all()) {
    Call call{&algorithm, {}};
    for (const Parameter& parameter : algorithm.parameters) {
      call.values.push_back(*rc::gen::inRange<std::int64_t>(1, parameter.name == "sram_elements" ? 2000 : 70));
    }
    const HeadResult result = call.attend(head);
    RC_ASSERT(result.traffic == call.io(shape));
    RC_ASSERT(result.output.values.size() == static_cast<std::size_t>(shape.rows * shape.value_dim));
  }
}

// 4 query rows, 10 tokens, head_dim 3, value_dim 2: every load and store by hand.
constexpr HeadShape kSmall{4, 10, 3, 2, false};

TEST(AlgorithmIo, StandardByHand) {
  const Traffic io = standard_attention_io(kSmall);
  EXPECT_EQ(io.q, (Moved{12, 0}));
  EXPECT_EQ(io.k, (Moved{30, 0}));
  EXPECT_EQ(io.v, (Moved{20, 0}));
  EXPECT_EQ(io.scores, (Moved{80, 80}));  // S written and read, P written and read
  EXPECT_EQ(io.output, (Moved{0, 8}));
  EXPECT_EQ(io.total(), 12 + 30 + 20 + 160 + 8);
}

TEST(AlgorithmIo, PassesByHand) {
  EXPECT_EQ(three_pass_attention_io(kSmall).scores, (Moved{80, 40}));
  EXPECT_EQ(two_pass_attention_io(kSmall).scores, (Moved{40, 40}));
  EXPECT_EQ(one_pass_attention_io(kSmall).scores, (Moved{0, 0}));
  EXPECT_EQ(one_pass_attention_io(kSmall).k, (Moved{120, 0}));  // once for each query row
}

TEST(AlgorithmIo, FlashAttention1ByHand) {
  // M = 48: B_c = 48 / 12 = 4 tokens, so that T_c = 3.
  const Traffic io = flash_attention_1_io(kSmall, 48);
  EXPECT_EQ(io.q, (Moved{36, 0}));
  EXPECT_EQ(io.k, (Moved{30, 0}));
  EXPECT_EQ(io.v, (Moved{20, 0}));
  EXPECT_EQ(io.output, (Moved{24, 32}));
  EXPECT_EQ(io.statistics, (Moved{24, 32}));
}

TEST(AlgorithmIo, FlashAttention2ByHand) {
  const Traffic io = flash_attention_2_io(kSmall, 3, 4);  // T_r = 2
  EXPECT_EQ(io.q, (Moved{12, 0}));
  EXPECT_EQ(io.k, (Moved{60, 0}));
  EXPECT_EQ(io.v, (Moved{40, 0}));
  EXPECT_EQ(io.output, (Moved{0, 8}));
  EXPECT_EQ(io.statistics, (Moved{0, 4}));
}

TEST(AlgorithmIo, FlashDecodingByHand) {
  const Traffic io = flash_decoding_io(kSmall, 2, 3);  // 5 blocks in parts of 2, 2 and 1
  EXPECT_EQ(io.q, (Moved{36, 0}));
  EXPECT_EQ(io.k, (Moved{30, 0}));
  EXPECT_EQ(io.partials, (Moved{36, 36}));  // 3 parts of 4 rows of 2 elements and an LSE
  EXPECT_EQ(io.output, (Moved{0, 8}));
}

TEST(AlgorithmIo, LeanAttentionByHand) {
  // One output tile of 5 LeanTiles on 3 CTAs: a host and two others, which leave O, m and l.
  const Traffic io = lean_attention_io(kSmall, 4, 2, 3);
  EXPECT_EQ(io.q, (Moved{36, 0}));
  EXPECT_EQ(io.k, (Moved{30, 0}));
  EXPECT_EQ(io.partials, (Moved{32, 32}));
  // One CTA per output tile is FlashAttention-2 (section 4.3).
  EXPECT_EQ(lean_attention_io(kSmall, 2, 2, 2), flash_attention_2_io(kSmall, 2, 2));
}

TEST(AlgorithmIo, WhereVIsAPartOfKOnlySeparateStepsLoadItAgain) {
  HeadShape mla = kSmall;
  mla.v_in_k = true;
  EXPECT_EQ(standard_attention_io(mla).v, (Moved{20, 0}));
  EXPECT_EQ(two_pass_attention_io(mla).v, (Moved{80, 0}));
  EXPECT_EQ(one_pass_attention_io(mla).v, (Moved{0, 0}));
  EXPECT_EQ(etap_attention_io(mla, 64, 64).v, (Moved{0, 0}));
}

TEST(AlgorithmIo, BytesOfStatisticsAndPartialsAreFp32) {
  Traffic elements;
  elements.k = {10, 1};
  elements.statistics = {3, 2};
  elements.partials = {1, 1};
  const Traffic bytes = in_bytes(elements, 2);
  EXPECT_EQ(bytes.k, (Moved{20, 2}));
  EXPECT_EQ(bytes.statistics, (Moved{12, 8}));
  EXPECT_EQ(bytes.total(), 22 + 20 + 8);
}

// FlashAttention's Figure 2 (left), which the lecture shows: "HBM R/W (GB)" 40.3 for standard attention, 4.4 for
// FlashAttention; GPT-2 medium, sequence 1024, head_dim 64, 16 heads, batch 64, fp16, forward and backward on an A100.
// The models here are of the forward pass; the backward passes are counted below, from the paper's algorithms.
// docs/algorithms.md says what is known of how the figures were made.
constexpr HeadShape kGpt2{1024, 1024, 64, 64, false};
constexpr std::int64_t kGpt2Heads = 64 * 16;
constexpr double kMatrixGb = 2.0 * 1024 * 64 * kGpt2Heads / 1e9;    // one of Q, K, V, O and their gradients
constexpr double kScoresGb = 2.0 * 1024 * 1024 * kGpt2Heads / 1e9;  // one of S, P and their gradients
constexpr double kStatisticGb = 4.0 * 1024 * kGpt2Heads / 1e9;      // one of l and m

double forward_gb(const Traffic& elements) {
  return static_cast<double>(in_bytes(elements, 2).total() * kGpt2Heads) / 1e9;
}

TEST(FlashAttentionFigure2, StandardAttentionWithDropoutAndMask) {
  const double forward = forward_gb(standard_attention_io(kGpt2));
  EXPECT_NEAR(forward, 4 * kMatrixGb + 4 * kScoresGb, 1e-9);
  // Algorithm 3: read P, dO, write dV; read dO, V, write dP; read P, dP, write dS; read dS, K, write dQ; read dS, Q,
  // write dK.
  const double backward = 8 * kMatrixGb + 7 * kScoresGb;
  EXPECT_NEAR(forward + backward, 25.2, 0.05);  // the paper's algorithms have neither dropout nor a mask; its runs had
  // Dropout: read P, write it with a byte of mask per element; read dP and the mask, write dP. Mask: read and write S.
  const double dropout_and_mask = (2.5 + 2.5 + 2) * kScoresGb;
  EXPECT_NEAR(forward + backward + dropout_and_mask, 40.3, 0.05);
}

TEST(FlashAttentionFigure2, FlashAttention) {
  // Algorithm 1 and Algorithm 4 to the letter, with the A100's 192 KiB: M = 98304, B_c = 384, T_c = 3.
  const double forward = forward_gb(flash_attention_1_io(kGpt2, 98304));
  EXPECT_NEAR(forward, 12 * kMatrixGb + 14 * kStatisticGb, 1e-9);
  // Algorithm 4: dQ, dK, dV set to 0; K_j, V_j read and dK_j, dV_j written once; in each of the T_c steps Q, O, dO, dQ,
  // l and m read and dQ written.
  const double backward = (3 + 4 + 5 * 3) * kMatrixGb + 2 * 3 * kStatisticGb;
  EXPECT_NEAR(forward + backward, 4.65, 0.01);
  // Its code at the time had B_c = 256, T_c = 4, read neither O nor dQ in the first step, and O once on the way back.
  const double code_forward = (2 + 4 + 3 + 4) * kMatrixGb;
  const double code_backward = (4 + 4 + 1 + 4 + 3 + 4) * kMatrixGb;
  EXPECT_NEAR(code_forward + code_backward, 4.4, 0.05);
}

TEST(FlashAttentionFigure2, ForwardAlone) {
  const double standard = forward_gb(standard_attention_io(kGpt2));
  EXPECT_NEAR(standard, 9.13, 0.005);
  EXPECT_NEAR(standard / forward_gb(flash_attention_1_io(kGpt2, 98304)), 5.47, 0.01);
  // FlashAttention-2 does not move O in every step, but reads K and V for each of its 8 blocks of Q.
  EXPECT_NEAR(forward_gb(flash_attention_2_io(kGpt2, 128, 128)), (1 + 8 + 8 + 1) * kMatrixGb + kStatisticGb, 1e-9);
}

}  // namespace
}  // namespace splitwave::cpu_reference::algorithms
