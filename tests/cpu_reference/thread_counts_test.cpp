// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/thread_counts.h"

#include <gtest/gtest.h>

namespace splitwave::cpu_reference {
namespace {

TEST(ThreadCounts, AreFewHoweverManyThreadsThereAre) {
  EXPECT_EQ(doubling_counts(1), (std::vector<int>{1}));
  EXPECT_EQ(doubling_counts(6), (std::vector<int>{1, 2, 4, 6}));
  EXPECT_EQ(doubling_counts(8), (std::vector<int>{1, 2, 4, 8}));
  EXPECT_EQ(processor_counts(1, 8), (std::vector<int>{1}));
  EXPECT_EQ(processor_counts(3, 8), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(processor_counts(1000, 2), (std::vector<int>{1, 2, 1000})) << "1000 measurements took an hour";
}

TEST(ThreadCounts, RatesBetweenLieOnALine) {
  EXPECT_EQ(rates_between({1}, {5}), (std::vector<double>{5}));
  EXPECT_EQ(rates_between({1, 2, 5}, {10, 20, 50}), (std::vector<double>{10, 20, 30, 40, 50}));
  EXPECT_EQ(rates_between({1, 4}, {10, 4}), (std::vector<double>{10, 8, 6, 4}));
}

}  // namespace
}  // namespace splitwave::cpu_reference
