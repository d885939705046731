// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/merge.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "cpu_reference/compare.h"
#include "cpu_reference/oracle.h"
#include "tests/support/tensors.h"

namespace splitwave::cpu_reference {
namespace {

using workloads::Dtype;
using workloads::Tensor;
using workloads::Tensors;
using workloads::Workload;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int32_t kDim = 4;

/// Attention of query 0, head 0 over some tokens, by the definition.
template <typename Real>
Partial<Real> partial_over(const Workload& workload, const Tensors& tensors, const std::vector<std::int32_t>& tokens) {
  const Dtype dtype = workload.geometry.dtype;
  const std::int64_t q = q_row(workload, tensors, 0, 0, 0);
  Partial<Real> partial;
  partial.output.resize(kDim);
  std::vector<Real> scores;
  for (const std::int32_t token : tokens) {
    const std::int64_t k = k_row(workload, tensors, 0, token, 0);
    Real score = 0;
    for (std::int32_t e = 0; e < kDim; ++e) {
      score += Real(load_element(dtype, tensors.q, q + e)) * Real(load_element(dtype, tensors.k, k + e));
    }
    scores.push_back(score);
    partial.max = std::max(partial.max, score);
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::int64_t v = v_row(workload, tensors, 0, tokens[i], 0);
    const Real weight = weight_below(scores[i], partial.max);
    partial.sum += weight;
    for (std::int32_t e = 0; e < kDim; ++e) partial.output[e] += weight * Real(load_element(dtype, tensors.v, v + e));
  }
  return partial;
}

struct Example {
  Workload workload;
  Tensors tensors;
};

Example any_example(Dtype dtype) {
  const Workload workload = testing::plain_workload(dtype, 1, 1, kDim, 1, *rc::gen::inRange(1, 200));
  const std::uint64_t seed = *rc::gen::arbitrary<std::uint64_t>();
  const float sharpness = *rc::gen::element(0.0F, 1.0F, 10.0F);
  const testing::Values normal = testing::normal_values(seed, *rc::gen::arbitrary<bool>());
  const auto values = [&](Tensor tensor, std::int32_t r, std::int32_t position, std::int32_t head, std::int32_t e) {
    return normal(tensor, r, position, head, e) * (tensor == Tensor::q ? sharpness : 1);
  };
  return {workload, testing::tensors_with(workload, values)};
}

/// The context dealt out to parts at random, some of them perhaps empty.
template <typename Real>
std::vector<Partial<Real>> any_parts(const Example& example, int count) {
  std::vector<std::vector<std::int32_t>> tokens(count);
  for (std::int32_t token = 0; token < example.workload.requests.front().context_len; ++token) {
    tokens[*rc::gen::inRange(0, count)].push_back(token);
  }
  std::vector<Partial<Real>> parts;
  parts.reserve(tokens.size());
  for (const auto& part : tokens) parts.push_back(partial_over<Real>(example.workload, example.tensors, part));
  return parts;
}

/// Merges neighbours, or any two, in a random order until one is left.
template <typename Real>
Partial<Real> merge_in_any_order(std::vector<Partial<Real>> parts) {
  while (parts.size() > 1) {
    const std::size_t a = *rc::gen::inRange<std::size_t>(0, parts.size());
    const std::size_t b = *rc::gen::inRange<std::size_t>(0, parts.size() - 1);
    const std::size_t other = b < a ? b : b + 1;
    parts[a] = merge(parts[a], parts[other]);
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(other));
  }
  return parts.front();
}

double largest_difference(const Partial<double>& x, const Partial<double>& y) {
  double worst = std::abs(lse(x) - lse(y)) / std::max(1.0, std::abs(lse(y)));
  const std::vector<double> outputs = normalised(x);
  const std::vector<double> expected = normalised(y);
  for (std::size_t i = 0; i < outputs.size(); ++i) worst = std::max(worst, std::abs(outputs[i] - expected[i]));
  return worst;
}

RC_GTEST_PROP(Merge, IsAssociativeAndCommutative, ()) {
  const Example example = any_example(Dtype::f32);
  const std::vector<Partial<double>> parts = any_parts<double>(example, 3);
  const Partial<double>& x = parts[0];
  const Partial<double>& y = parts[1];
  const Partial<double>& z = parts[2];
  const Partial<double> left = merge(merge(x, y), z);
  RC_ASSERT(largest_difference(merge(x, merge(y, z)), left) <= 1e-13);
  RC_ASSERT(largest_difference(merge(z, merge(y, x)), left) <= 1e-13);
}

RC_GTEST_PROP(Merge, ThePartWithoutTokensIsItsIdentity, ()) {
  const Example example = any_example(Dtype::f32);
  const Partial<double> x = any_parts<double>(example, 2).front();
  const Partial<double> nothing{-kInfinity, 0, std::vector<double>(kDim)};
  for (const Partial<double>& same : {merge(x, nothing), merge(nothing, x)}) {
    RC_ASSERT(same.max == x.max);
    RC_ASSERT(same.sum == x.sum);
    RC_ASSERT(same.output == x.output);
  }
}

RC_GTEST_PROP(Merge, AnyPartitionGivesTheOraclesAnswer, ()) {
  const Example example = any_example(*rc::gen::element(Dtype::f16, Dtype::bf16, Dtype::f32));
  const Result<double> exact = attend(example.workload, example.tensors);
  const Partial<double> all = merge_in_any_order(any_parts<double>(example, *rc::gen::inRange(1, 40)));
  const std::vector<double> output = normalised(all);
  for (std::int32_t e = 0; e < kDim; ++e) {
    RC_ASSERT(std::abs(output[e] - exact.output[e]) <= 1e-12 * std::max(1.0, std::abs(exact.output[e])));
  }
  RC_ASSERT(std::abs(lse(all) - exact.lse[0]) <= 1e-12 * std::max(1.0, std::abs(exact.lse[0])));
}

RC_GTEST_PROP(Merge, AnyPartitionInFp32IsWithinTheToleranceOfTheDtype, ()) {
  const Dtype dtype = *rc::gen::element(Dtype::f16, Dtype::bf16, Dtype::f32);
  const Example example = any_example(dtype);
  const Partial<float> all = merge_in_any_order(any_parts<float>(example, *rc::gen::inRange(1, 40)));
  const Result<float> result{normalised(all), {lse(all)}};
  RC_ASSERT(acceptable(compare(result, attend(example.workload, example.tensors)), tolerance(dtype)));
}

TEST(Merge, ScoresOfMinusInfinityAreNoNan) {
  // Both parts saw tokens, all of them with a score of -inf: e^(-inf - -inf) must not be taken.
  const Partial<double> x{-kInfinity, 0, {0, 0}};
  const Partial<double> both = merge(x, x);
  EXPECT_EQ(both.max, -kInfinity);
  EXPECT_EQ(both.sum, 0);
  EXPECT_EQ(both.output, (std::vector<double>{0, 0}));
  EXPECT_EQ(lse(both), -kInfinity);
  EXPECT_EQ(normalised(both), (std::vector<double>{0, 0}));
}

TEST(Merge, ANanReachesTheResult) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Partial<double> good{1, 2, {3}};
  const Partial<double> bad{nan, nan, {nan}};
  for (const Partial<double>& both : {merge(good, bad), merge(bad, good)}) {
    EXPECT_TRUE(std::isnan(both.sum));
    EXPECT_TRUE(std::isnan(both.output[0]));
    EXPECT_TRUE(std::isnan(lse(both)));
  }
}

TEST(Merge, PartsFarApartKeepTheLargerOne) {
  const Partial<double> low{-524288, 3, {6}};
  const Partial<double> high{0, 2, {1}};
  const Partial<double> both = merge(low, high);
  EXPECT_EQ(both.max, 0);
  EXPECT_EQ(both.sum, 2);
  EXPECT_EQ(both.output[0], 1);
}

TEST(Merge, OutputsOfDifferentLengthsAreABug) {
  EXPECT_THROW(merge(Partial<double>{0, 1, {1}}, Partial<double>{0, 1, {1, 2}}), std::logic_error);
}

}  // namespace
}  // namespace splitwave::cpu_reference
