// SPDX-License-Identifier: Apache-2.0
// What the probes are made of, without a clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "cpu_reference/compare.h"
#include "cpu_reference/made_up_run.h"
#include "cpu_reference/overlap.h"
#include "cpu_reference/stream_probe.h"
#include "cpu_reference/team_pace.h"
#include "schedules/validate.h"
#include "workloads/load.h"

namespace splitwave::cpu_reference {
namespace {

TEST(OverlapExponent, IsTheOneThatTheTimesHave) {
  for (const double p : {0.5, 0.8, 1.0, 2.0, 3.0, 7.5}) {
    for (const double arithmetic : {0.7e-11, 3e-11, 4e-11}) {
      const double memory = 3e-11;
      const double both = std::pow(std::pow(memory, p) + std::pow(arithmetic, p), 1 / p);
      EXPECT_NEAR(overlap_exponent(memory, arithmetic, both) / p, 1, 1e-6) << p << ' ' << arithmetic;
    }
  }
  EXPECT_NEAR(overlap_exponent(1, 1, 2), 1, 1e-9);  // one after the other
}

TEST(OverlapExponent, StaysWithinItsLimits) {
  EXPECT_EQ(overlap_exponent(2, 1, 2), kMostOverlap);
  EXPECT_EQ(overlap_exponent(2, 1, 1.5), kMostOverlap);  // disturbed: less than either
  EXPECT_EQ(overlap_exponent(2, 1, 0), kMostOverlap);
  EXPECT_EQ(overlap_exponent(1, 1, 4.1), kLeastOverlap);
  EXPECT_EQ(overlap_exponent(1, 1, 1000), kLeastOverlap);
}

TEST(StreamCost, IsFoundFromThreeTimes) {
  // 1000 bytes of 2 s each, lists of 30 s, further items of 5 s.
  const StreamCost cost = stream_cost(1000, 4, 100, 2000 + 30 + 3 * 5, 2000 + 30 + 99 * 5, 2000 + 100 * 30);
  EXPECT_DOUBLE_EQ(cost.item_seconds, 5);
  EXPECT_DOUBLE_EQ(cost.list_seconds, 30);
  EXPECT_DOUBLE_EQ(cost.seconds_per_kv_byte, 2);
}

TEST(StreamCost, IsNeverNegative) {
  const StreamCost cost = stream_cost(1000, 4, 100, 100, 90, 10);
  EXPECT_EQ(cost.item_seconds, 0);
  EXPECT_EQ(cost.list_seconds, 0);
  EXPECT_DOUBLE_EQ(cost.seconds_per_kv_byte, 0.1);
}

TEST(TeamTimes, OnlyAThreadThatIsMostlySlowIsTheSlowest) {
  TeamTimes times;
  EXPECT_THROW(times.pace(1), std::logic_error);
  times.add({2, 4});
  times.add({9, 4});  // once
  times.add({2, 4});
  EXPECT_DOUBLE_EQ(times.pace(1).slowest, 4);
  EXPECT_DOUBLE_EQ(times.pace(10).slowest, 0.4);
  EXPECT_DOUBLE_EQ(times.pace(1).shared, 2 / (1.0 / 2 + 1.0 / 4));
  EXPECT_GT(times.spread(), 0);
}

/// Layouts in which one KV head's rows lie otherwise.
constexpr const char* kLayouts[] = {"h=6/3,d=40:2q1s200", "h=6/3,d=40,layout=bhsd:2q1s200",
                                    "h=6/3,d=40,page=16:2q1s200"};

TEST(MadeUpRun, HasTheWorkloadsGeometryAndLayout) {
  for (const char* spec : kLayouts) {
    const workloads::Workload like = workloads::parse_spec(spec);
    const workloads::Workload made = made_up_workload(like, 5, 2, 100);
    workloads::validate(made);
    EXPECT_EQ(made.kv.layout, like.kv.layout) << spec;
    EXPECT_EQ(made.kv.page_size, like.kv.page_size) << spec;
    EXPECT_EQ(made.geometry.kv_heads, 3) << spec;
    EXPECT_EQ(made.geometry.group(), 5) << spec;
  }
}

TEST(MadeUpRun, ItsPlansAreWhole) {
  const workloads::Workload workload = made_up_workload(workloads::parse_spec(kLayouts[0]), 2, 2, 200);
  for (const schedules::Plan& plan :
       {items_plan(workload, {0, 2, 3}, 200, Lists::one), items_plan(workload, {0, 2, 3}, 200, Lists::each),
        split_plan(workload, {0, 2, 3}, 4)}) {
    EXPECT_NO_THROW(schedules::validate(workload, plan));
  }
}

TEST(MadeUpRun, ShortItemsHaveTheSameTokensInOneListOrMany) {
  const workloads::Workload workload = made_up_workload(workloads::parse_spec(kLayouts[0]), 2, 2, 200);
  const MadeUpOutputs second{1, 2, 3};
  for (const Lists lists : {Lists::one, Lists::each}) {
    const schedules::Plan plan = items_plan(workload, second, 64, lists);
    EXPECT_EQ(plan.outputs.size(), 3U);
    EXPECT_EQ(plan.items.size(), 12U);
    EXPECT_EQ(plan.lists(), lists == Lists::one ? 1 : 12);
    std::int32_t tokens = 0;
    for (const schedules::Item& item : plan.items) tokens += item.tokens();
    EXPECT_EQ(tokens, 3 * 200);
    for (const schedules::OutputTile& output : plan.outputs) EXPECT_EQ(output.request, 1);
  }
  const schedules::Plan empty = items_plan(workload, second, 0, Lists::one);
  EXPECT_EQ(empty.items.size(), 3U);
  for (const schedules::Item& item : empty.items) EXPECT_EQ(item.tokens(), 0);
}

TEST(MadeUpRun, RunsItsPlans) {
  for (const char* spec : kLayouts) {
    const workloads::Workload workload = made_up_workload(workloads::parse_spec(spec), 2, 2, 100);
    MadeUpRun made(workload, {items_plan(workload, {0, 2, 3}, 100, Lists::one), split_plan(workload, {0, 2, 3}, 3),
                              items_plan(workload, {1, 2, 1}, 16, Lists::each)});
    for (std::size_t plan = 0; plan < 3; ++plan) made.run(plan);
    EXPECT_EQ(made.tensors().q.size(), 2U * 6 * 40 * 2) << spec;
  }
}

}  // namespace
}  // namespace splitwave::cpu_reference
