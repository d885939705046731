// SPDX-License-Identifier: Apache-2.0
#include "base/quantile.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace splitwave::base {
namespace {

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(quantile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.9), 9);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.9), 7);
  EXPECT_DOUBLE_EQ(quantile({1, 2, 3}, 0), 1);
  EXPECT_DOUBLE_EQ(quantile({1, 2, 3}, 1), 3);
  EXPECT_THROW(quantile({}, 0.5), std::invalid_argument);
}

/// 1, 2, ..., n, so that a bound is its own rank.
std::vector<double> ranks(int n) {
  std::vector<double> values;
  for (int i = n; i >= 1; --i) values.push_back(i);
  return values;
}

TEST(MedianInterval, IsThatOfTheSignTest) {
  // Ranks of the 95 % interval in tables of the sign test (two-sided critical values 0 at 6, 1 at 9, 5 at 20).
  EXPECT_EQ(median_interval(ranks(6)).low, 1);
  EXPECT_EQ(median_interval(ranks(6)).high, 6);
  EXPECT_EQ(median_interval(ranks(8)).low, 1);
  EXPECT_EQ(median_interval(ranks(9)).low, 2);
  EXPECT_EQ(median_interval(ranks(9)).high, 8);
  EXPECT_EQ(median_interval(ranks(20)).low, 6);
  EXPECT_EQ(median_interval(ranks(20)).high, 15);
  EXPECT_EQ(median_interval(ranks(2000)).low, 956);
}

TEST(MedianInterval, OfFewValuesIsAllOfThem) {
  EXPECT_EQ(median_interval({3}).low, 3);
  EXPECT_EQ(median_interval({3}).high, 3);
  EXPECT_EQ(median_interval({5, 1, 2}).low, 1);
  EXPECT_EQ(median_interval({5, 1, 2}).high, 5);
  EXPECT_THROW(median_interval({}), std::invalid_argument);
}

RC_GTEST_PROP(Quantile, LiesBetweenTheExtremesAndGrowsWithQ, (std::vector<int> numbers)) {
  RC_PRE(!numbers.empty());
  const std::vector<double> values(numbers.begin(), numbers.end());
  double last = quantile(values, 0);
  RC_ASSERT(last == *std::min_element(values.begin(), values.end()));
  for (int step = 1; step <= 10; ++step) {
    const double next = quantile(values, step / 10.0);
    RC_ASSERT(next >= last);
    last = next;
  }
  RC_ASSERT(last == *std::max_element(values.begin(), values.end()));
}

}  // namespace
}  // namespace splitwave::base
