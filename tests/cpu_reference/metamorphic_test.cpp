// SPDX-License-Identifier: Apache-2.0
// What must hold of attention whatever the numbers are: relations between inputs whose outputs are known from each
// other, and inputs whose outputs are known in closed form. Random normals alone miss real bugs.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "cpu_reference/oracle.h"
#include "tests/support/tensors.h"

namespace splitwave::cpu_reference {
namespace {

using workloads::AttentionKind;
using workloads::Dtype;
using workloads::Tensor;
using workloads::Workload;

constexpr double kSame = 1e-14;  // both sides are the oracle's, which is good to 4e-15

void expect_near(const std::vector<double>& values, const std::vector<double>& expected, double tolerance = kSame) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(values[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << "element " << i;
  }
}

std::vector<double> plus(std::vector<double> values, double constant) {
  for (double& value : values) value += constant;
  return values;
}

/// A workload without a mask and normal values for it, the same for every call with the same arguments.
struct Case {
  Workload workload;
  testing::Values values;
  Result<double> result() const { return attend(workload, testing::tensors_with(workload, values)); }
};

Case normal_case(std::uint64_t seed, std::int32_t context_len = 130) {
  return {testing::plain_workload(Dtype::f32, 4, 2, 6, 2, context_len), testing::normal_values(seed)};
}

RC_GTEST_PROP(Metamorphic, ConstantValuesComeOutConstant, (std::uint64_t seed)) {
  Case c = normal_case(seed);
  const testing::Values normal = c.values;
  c.values = [normal](Tensor tensor, std::int32_t r, std::int32_t position, std::int32_t head, std::int32_t e) {
    return tensor == Tensor::v ? 3.25F * static_cast<float>(e + 1) : normal(tensor, r, position, head, e);
  };
  const Result<double> result = c.result();
  for (std::size_t i = 0; i < result.output.size(); ++i) {
    const double expected = 3.25 * static_cast<double>(i % 6 + 1);
    RC_ASSERT(std::abs(result.output[i] - expected) <= kSame * expected);
  }
}

RC_GTEST_PROP(Metamorphic, TheOrderOfTokensDoesNotMatter, (std::uint64_t seed)) {
  Case c = normal_case(seed);
  const Result<double> expected = c.result();
  const testing::Values normal = c.values;
  const std::int32_t stride = *rc::gen::element(3, 7, 129);  // coprime to 130: a permutation
  c.values = [normal, stride](Tensor tensor, std::int32_t r, std::int32_t position, std::int32_t head, std::int32_t e) {
    return normal(tensor, r, tensor == Tensor::q ? position : position * stride % 130, head, e);
  };
  const Result<double> result = c.result();
  expect_near(result.output, expected.output);
  expect_near(result.lse, expected.lse);
}

RC_GTEST_PROP(Metamorphic, DuplicatedTokensAddLnTwoToTheLse, (std::uint64_t seed)) {
  Case c = normal_case(seed);
  const Result<double> expected = c.result();
  const testing::Values normal = c.values;
  c.workload.requests.front().context_len = 260;
  c.values = [normal](Tensor tensor, std::int32_t r, std::int32_t position, std::int32_t head, std::int32_t e) {
    return normal(tensor, r, tensor == Tensor::q ? position : position / 2, head, e);
  };
  const Result<double> result = c.result();
  expect_near(result.output, expected.output);
  expect_near(result.lse, plus(expected.lse, std::numbers::ln2));
}

RC_GTEST_PROP(Metamorphic, AConstantOnAllScoresIsAddedToTheLse, (std::uint64_t seed)) {
  Case c = normal_case(seed);
  c.workload.geometry.value_dim = 5;
  const testing::Values normal = c.values;
  const float constant = *rc::gen::element(1.0F, -40.0F, 1000.0F, -524288.0F);
  // The sixth element of every query is 1, and of every key the constant.
  const auto with_constant = [&](float last) {
    c.values = [normal, last](Tensor tensor, std::int32_t r, std::int32_t position, std::int32_t head, std::int32_t e) {
      if (e < 5) return normal(tensor, r, position, head, e);
      return tensor == Tensor::q ? 1.0F : last;
    };
    return c.result();
  };
  const Result<double> expected = with_constant(0);
  const Result<double> result = with_constant(constant);
  expect_near(result.output, expected.output);
  expect_near(result.lse, plus(expected.lse, constant));
}

RC_GTEST_PROP(Metamorphic, GqaIsMhaWithRepeatedHeads, (std::uint64_t seed)) {
  Case c = normal_case(seed);
  const Result<double> expected = c.result();
  const testing::Values normal = c.values;
  c.workload.geometry.kind = AttentionKind::mha;
  c.workload.geometry.kv_heads = 4;
  c.values = [normal](Tensor tensor, std::int32_t r, std::int32_t position, std::int32_t head, std::int32_t e) {
    return normal(tensor, r, position, tensor == Tensor::q ? head : head / 2, e);
  };
  const Result<double> result = c.result();
  EXPECT_EQ(result.output, expected.output);  // the same operations: the same bits
  EXPECT_EQ(result.lse, expected.lse);
}

/// Small whole numbers, so that products of matrices of them are exact in fp32.
float whole(std::uint64_t seed, std::uint32_t matrix, std::int32_t row, std::int32_t col) {
  const std::uint64_t key = workloads::row_key(seed, Tensor::q, matrix, row, col);
  return static_cast<float>(key % 5) - 2;
}

RC_GTEST_PROP(Metamorphic, MlaIsItsUpProjection, (std::uint64_t seed)) {
  // Per head h: keys [W_h c; rope] and values U_h c of a latent c. Absorbed: query [W_h^T q; q_rope] on [c; rope].
  constexpr std::int32_t kHeads = 3;
  constexpr std::int32_t kLatent = 8;
  constexpr std::int32_t kRope = 2;
  constexpr std::int32_t kDim = 5;  // of a head, without rope
  constexpr double kScale = 0.02;
  const auto latent = [&](std::int32_t token, std::int32_t e) { return whole(seed, 0, token, e); };
  const auto query = [&](std::int32_t head, std::int32_t e) { return whole(seed, 1, head, e); };
  const auto w = [&](std::int32_t head, std::int32_t row, std::int32_t e) { return whole(seed, 10 + head, row, e); };
  const auto u = [&](std::int32_t head, std::int32_t row, std::int32_t e) { return whole(seed, 20 + head, row, e); };

  Workload mla = testing::plain_workload(Dtype::f32, kHeads, 1, kLatent + kRope, 1, 90);
  mla.geometry.kind = AttentionKind::mla;
  mla.geometry.value_dim = kLatent;
  mla.geometry.softmax_scale = kScale;
  const Result<double> absorbed =
      attend(mla, testing::tensors_with(
                      mla, [&](Tensor tensor, std::int32_t, std::int32_t token, std::int32_t head, std::int32_t e) {
                        if (tensor == Tensor::k) return latent(token, e);
                        if (e >= kLatent) return query(head, kDim + e - kLatent);
                        float sum = 0;
                        for (std::int32_t row = 0; row < kDim; ++row) sum += w(head, row, e) * query(head, row);
                        return sum;
                      }));

  Workload mha = testing::plain_workload(Dtype::f32, kHeads, kHeads, kDim + kRope, 1, 90);
  mha.geometry.value_dim = kDim;
  mha.geometry.softmax_scale = kScale;
  const Result<double> projected =
      attend(mha, testing::tensors_with(
                      mha, [&](Tensor tensor, std::int32_t, std::int32_t token, std::int32_t head, std::int32_t e) {
                        if (tensor == Tensor::q) return query(head, e);
                        if (tensor == Tensor::k && e >= kDim) return latent(token, kLatent + e - kDim);
                        float sum = 0;
                        for (std::int32_t i = 0; i < kLatent; ++i) {
                          sum += (tensor == Tensor::k ? w(head, e, i) : u(head, e, i)) * latent(token, i);
                        }
                        return sum;
                      }));

  expect_near(absorbed.lse, projected.lse);
  for (std::int32_t head = 0; head < kHeads; ++head) {
    for (std::int32_t e = 0; e < kDim; ++e) {
      double value = 0;
      for (std::int32_t i = 0; i < kLatent; ++i) value += u(head, e, i) * absorbed.output[head * kLatent + i];
      RC_ASSERT(std::abs(value - projected.output[head * kDim + e]) <= 1e-13);
    }
  }
}

TEST(ClosedForm, ZeroQueriesGiveTheMeanOfTheValues) {
  Case c = normal_case(21, 1000);
  const testing::Values normal = c.values;
  c.values = [normal](Tensor tensor, std::int32_t r, std::int32_t position, std::int32_t head, std::int32_t e) {
    return tensor == Tensor::q ? 0.0F : normal(tensor, r, position, head, e);
  };
  const Result<double> result = c.result();
  for (std::int32_t e = 0; e < 6; ++e) {
    long double sum = 0;
    for (std::int32_t token = 0; token < 1000; ++token) sum += normal(Tensor::v, 0, token, 1, e);
    EXPECT_NEAR(result.output[3 * 6 + e], static_cast<double>(sum / 1000), 1e-16);  // query 0, head 3
  }
  for (const double lse : result.lse) EXPECT_DOUBLE_EQ(lse, std::log(1000.0));
}

TEST(ClosedForm, AQueryThatMatchesOneKeyGetsItsValue) {
  Case c = normal_case(22);
  const testing::Values normal = c.values;
  c.values = [normal](Tensor tensor, std::int32_t r, std::int32_t position, std::int32_t head, std::int32_t e) {
    if (tensor == Tensor::v) return normal(tensor, r, position, head, e);
    if (tensor == Tensor::q) return e == 0 ? 100.0F : 0.0F;
    return position == 77 && e == 0 ? 100.0F : 0.0F;
  };
  const Result<double> result = c.result();
  for (std::int32_t e = 0; e < 6; ++e) EXPECT_EQ(result.output[e], normal(Tensor::v, 0, 77, 0, e));
  EXPECT_EQ(result.lse[0], 10000);
}

/// Score of every token and value of every token, one head of one element.
Result<double> attend_tokens(Dtype dtype, std::int32_t tokens, const std::function<float(std::int32_t)>& score,
                             const std::function<float(std::int32_t)>& value) {
  const Workload workload = testing::plain_workload(dtype, 1, 1, 1, 1, tokens);
  return attend(workload, testing::tensors_with(workload, [&](Tensor tensor, std::int32_t, std::int32_t position,
                                                              std::int32_t, std::int32_t) {
                  if (tensor == Tensor::q) return 1.0F;
                  return tensor == Tensor::k ? score(position) : value(position);
                }));
}

TEST(ClosedForm, FlatScoresOverALongContextLoseNothing) {
  // An fp16 accumulator stalls at 2048 here and gives 1/64.
  constexpr std::int32_t kTokens = 131072;
  const auto one = [](std::int32_t) { return 1.0F; };
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    const Result<double> result = attend_tokens(
        dtype, kTokens, [](std::int32_t) { return 0.25F; }, one);
    EXPECT_EQ(result.output[0], 1);
    EXPECT_DOUBLE_EQ(result.lse[0], 0.25 + std::log(static_cast<double>(kTokens)));
  }
  const auto large = [](std::int32_t) { return 60000.0F; };
  EXPECT_EQ(attend_tokens(
                Dtype::f16, kTokens, [](std::int32_t) { return 0.0F; }, large)
                .output[0],
            60000);
}

TEST(ClosedForm, RisingAndFallingScoresAreGeometricSeries) {
  // e^(token / 8): the maximum moves with every token, or never.
  constexpr std::int32_t kTokens = 800;
  const double expected = 100 - 1.0 / 8 - std::log1p(-std::exp(-1.0 / 8));  // the rest of the series is below 1e-43
  const auto one = [](std::int32_t) { return 1.0F; };
  const auto rising = [](std::int32_t token) { return static_cast<float>(token) / 8; };
  const auto falling = [](std::int32_t token) { return static_cast<float>(kTokens - 1 - token) / 8; };
  EXPECT_DOUBLE_EQ(attend_tokens(Dtype::f32, kTokens, rising, one).lse[0], expected);
  EXPECT_DOUBLE_EQ(attend_tokens(Dtype::f32, kTokens, falling, one).lse[0], expected);
}

TEST(ClosedForm, AnAttentionSinkLeavesTheRestTheirShare) {
  // One token with e^30 of the weight of each of 4,000 others.
  const auto sink = [](std::int32_t token) { return token == 0 ? 30.0F : 0.0F; };
  const Result<double> result =
      attend_tokens(Dtype::f16, 4001, sink, [](std::int32_t token) { return token == 0 ? 0.0F : 1.0F; });
  EXPECT_DOUBLE_EQ(result.output[0], 4000 / (std::exp(30.0) + 4000));
}

TEST(ClosedForm, ScoresBelowAnyFiniteMask) {
  // Libraries that mask with -5e4 or -1e4 let masked tokens win here (FlashInfer issues 4267 and 4449 to 4452).
  const auto value = [](std::int32_t token) { return token % 2 == 0 ? 1.0F : 3.0F; };
  for (const float level : {-524288.0F, -500000.0F}) {
    const Result<double> result = attend_tokens(
        Dtype::f32, 64, [level](std::int32_t) { return level; }, value);
    EXPECT_EQ(result.output[0], 2);
    EXPECT_DOUBLE_EQ(result.lse[0], level + std::log(64.0));
  }
}

TEST(ClosedForm, ScoresAtTheEdgeOfHalfPrecision) {
  const auto value = [](std::int32_t token) { return static_cast<float>(token); };
  const auto spread = [](std::int32_t token) { return token == 5 ? 60000.0F : -60000.0F; };
  const Result<double> result = attend_tokens(Dtype::f16, 9, spread, value);
  EXPECT_EQ(result.output[0], 5);
  EXPECT_EQ(result.lse[0], 60000);
  const Result<double> low = attend_tokens(
      Dtype::f16, 9, [](std::int32_t) { return -60000.0F; }, value);
  EXPECT_EQ(low.output[0], 4);
}

TEST(ClosedForm, AScoreThatOverflowsHalfPrecisionStaysFinite) {
  // 2 x 60000^2 is far beyond fp16 and exact in double.
  const Workload workload = testing::plain_workload(Dtype::f16, 1, 1, 2, 1, 3);
  const Result<double> result = attend(
      workload, testing::tensors_with(
                    workload, [](Tensor tensor, std::int32_t, std::int32_t position, std::int32_t, std::int32_t) {
                      if (tensor == Tensor::v) return static_cast<float>(position);
                      return tensor == Tensor::k && position != 2 ? -60000.0F : 60000.0F;
                    }));
  EXPECT_EQ(result.output[0], 2);
  EXPECT_EQ(result.lse[0], 7.2e9);
}

TEST(ClosedForm, ProductsThatCancelLeaveTheSmallOnesBetweenThem) {
  // 2^60 + 1 - 2^60, in one lane of the sums: double alone gives 0.
  const Workload workload = testing::plain_workload(Dtype::f32, 1, 1, 24, 1, 2);
  const Result<double> result =
      attend(workload, testing::tensors_with(workload, [](Tensor tensor, std::int32_t, std::int32_t position,
                                                          std::int32_t, std::int32_t element) {
               if (tensor == Tensor::q) return 1.0F;
               if (tensor == Tensor::v || position == 1) return static_cast<float>(tensor == Tensor::v ? position : 0);
               return element == 0 ? 0x1p60F : element == 8 ? 1.0F : element == 16 ? -0x1p60F : 0.0F;
             }));
  const double e = std::exp(1.0);
  EXPECT_NEAR(result.output[0], 1 / (e + 1), 4e-15);
  EXPECT_NEAR(result.lse[0], std::log(e + 1), 4e-15);
}

TEST(ClosedForm, SubnormalNumbersAreNumbers) {
  const auto flat = [](std::int32_t) { return 0.0F; };
  const auto smallest = [](float unit) {
    return [unit](std::int32_t token) { return unit * static_cast<float>(token + 1); };
  };
  EXPECT_DOUBLE_EQ(attend_tokens(Dtype::f16, 3, flat, smallest(0x1p-24F)).output[0], 0x1p-23);
  EXPECT_DOUBLE_EQ(attend_tokens(Dtype::bf16, 3, flat, smallest(0x1p-133F)).output[0], 0x1p-132);
  EXPECT_DOUBLE_EQ(attend_tokens(Dtype::f32, 3, flat, smallest(0x1p-149F)).output[0], 0x1p-148);
  // Subnormal keys still order the tokens: scores of 0, 2^-24 * 2^15, ...
  const Workload workload = testing::plain_workload(Dtype::f16, 1, 1, 1, 1, 2);
  const Result<double> keys = attend(
      workload, testing::tensors_with(
                    workload, [](Tensor tensor, std::int32_t, std::int32_t position, std::int32_t, std::int32_t) {
                      if (tensor == Tensor::q) return 32768.0F;
                      return static_cast<float>(position) * (tensor == Tensor::k ? 0x1p-24F : 1.0F);
                    }));
  EXPECT_DOUBLE_EQ(keys.output[0], 1 / (1 + std::exp(-0x1p-9)));
}

}  // namespace
}  // namespace splitwave::cpu_reference
