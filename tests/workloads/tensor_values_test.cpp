// SPDX-License-Identifier: Apache-2.0
#include "workloads/tensor_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace splitwave::workloads {
namespace {

// From an independent implementation in another language, with unbounded integers.
TEST(TensorValues, BitsNeverChange) {
  EXPECT_EQ(mix(1), 0x5692161d100b05e5U);
  EXPECT_EQ(row_key(0, Tensor::q, 0, 0, 0), 0x33fe8bd4f9c57863U);
  EXPECT_EQ(row_key(7, Tensor::v, 3, 100000, 5), 0x8376588fa72b3654U);
  const std::uint64_t row = row_key(7, Tensor::k, 3, 100000, 5);
  const std::int32_t steps[] = {160399, 79532, 246225, 142136};
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(element_value(row, i, false), static_cast<float>(steps[i]) * kNormalScale) << i;
  }
}

TEST(TensorValues, EveryCoordinateMatters) {
  const std::uint64_t row = row_key(1, Tensor::k, 2, 3, 4);
  EXPECT_NE(row, row_key(2, Tensor::k, 2, 3, 4));
  EXPECT_NE(row, row_key(1, Tensor::v, 2, 3, 4));
  EXPECT_NE(row, row_key(1, Tensor::k, 3, 3, 4));
  EXPECT_NE(row, row_key(1, Tensor::k, 2, 4, 4));
  EXPECT_NE(row, row_key(1, Tensor::k, 2, 3, 5));
  EXPECT_NE(row, row_key(1, Tensor::k, 2, 4, 3));
}

std::vector<double> draws(std::uint32_t count, bool outliers) {
  std::vector<double> values;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t row = row_key(11, Tensor::k, 0, i / 128, 0);
    values.push_back(element_value(row, i % 128, outliers));
  }
  return values;
}

struct Moments {
  double mean = 0;
  double variance = 0;
  double kurtosis = 0;
};

Moments moments(const std::vector<double>& values) {
  Moments m;
  const auto n = static_cast<double>(values.size());
  for (const double v : values) m.mean += v / n;
  for (const double v : values) m.variance += (v - m.mean) * (v - m.mean) / n;
  for (const double v : values) m.kurtosis += std::pow(v - m.mean, 4) / n / (m.variance * m.variance);
  return m;
}

constexpr std::uint32_t kDraws = 400'000;

TEST(TensorValues, NormalHasItsMoments) {
  const Moments m = moments(draws(kDraws, false));
  EXPECT_NEAR(m.mean, 0, 4 / std::sqrt(kDraws));  // four standard errors
  EXPECT_NEAR(m.variance, 1, 4 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(m.kurtosis, 3 - 0.03, 4 * std::sqrt(24.0 / kDraws));
}

TEST(TensorValues, NormalPassesKolmogorovSmirnov) {
  std::vector<double> values = draws(kDraws, false);
  std::sort(values.begin(), values.end());
  double distance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double exact = 0.5 * std::erfc(-values[i] / std::numbers::sqrt2);
    distance = std::max(distance, std::abs(exact - (static_cast<double>(i) + 0.5) / kDraws));
  }
  // 1.95 / sqrt(n) is the 0.1 % point of the test; the sum's distance from a true normal adds to it.
  EXPECT_LT(distance, 1.95 / std::sqrt(kDraws) + 2e-3);
}

TEST(TensorValues, NeighboursAreUncorrelated) {
  const std::vector<double> values = draws(kDraws, false);
  double elements = 0;
  double rows = 0;
  for (std::size_t i = 128; i < values.size(); ++i) {
    elements += values[i] * values[i - 1] / kDraws;
    rows += values[i] * values[i - 128] / kDraws;
  }
  EXPECT_NEAR(elements, 0, 4 / std::sqrt(kDraws));
  EXPECT_NEAR(rows, 0, 4 / std::sqrt(kDraws));
}

// FlashAttention-3's test: N(0,1) + N(0,100) * Bernoulli(0.001).
TEST(TensorValues, OutliersComeOnceInAThousandAndAddVarianceHundred) {
  const std::vector<double> plain = draws(kDraws, false);
  const std::vector<double> mixed = draws(kDraws, true);
  std::vector<double> added;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (plain[i] != mixed[i]) added.push_back(mixed[i] - plain[i]);
  }
  const double expected = 0.001 * kDraws;
  EXPECT_NEAR(static_cast<double>(added.size()), expected, 4 * std::sqrt(expected));
  const Moments m = moments(added);
  EXPECT_NEAR(m.mean, 0, 4 * 10 / std::sqrt(expected));
  EXPECT_NEAR(m.variance, 100, 4 * 100 * std::sqrt(2 / expected));
}

}  // namespace
}  // namespace splitwave::workloads
