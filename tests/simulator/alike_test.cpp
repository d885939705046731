// SPDX-License-Identifier: Apache-2.0
#include "simulator/alike.h"

#include <gtest/gtest.h>

#include "tests/simulator/toy.h"

namespace splitwave::simulator {
namespace {

TEST(Alike, ListsWithTheSameWorkHaveTheSameNumber) {
  const schedules::Plan plan = toy::one_cta_each(toy::workload({5, 7, 5, 5, 7, 1}));
  std::vector<std::int32_t> kinds;
  number_alike(plan, Work{}, plan.lists(), kinds);
  EXPECT_EQ(kinds, (std::vector<std::int32_t>{0, 1, 0, 0, 1, 2}));
}

TEST(Alike, DifferentCostsAreDifferentWork) {
  const schedules::Plan plan = toy::one_cta_each(toy::workload({5, 5, 5}));
  Work work;
  work.cost_of_output = {0, 1, 0};
  std::vector<std::int32_t> kinds;
  number_alike(plan, work, plan.lists(), kinds);
  EXPECT_EQ(kinds, (std::vector<std::int32_t>{0, 1, 0}));
}

TEST(Alike, WhatIsAtTheEdgeOfAMaskIsDifferentWork) {
  const schedules::Plan plan = toy::one_cta_each(toy::workload({5, 5, 5}));
  Work work;
  work.seen_of_output = {{0, 5}, {0, 4}, {0, 5}};
  std::vector<std::int32_t> kinds;
  number_alike(plan, work, plan.lists(), kinds);
  EXPECT_EQ(kinds, (std::vector<std::int32_t>{0, 1, 0}));
}

TEST(Alike, RowsAreGroupedByEquality) {
  std::vector<std::int32_t> groups;
  group_alike({1, 2, 1, 3, 1, 2, -1, -1}, 2, groups);
  EXPECT_EQ(groups, (std::vector<std::int32_t>{0, 1, 0, 2}));
}

}  // namespace
}  // namespace splitwave::simulator
