// SPDX-License-Identifier: Apache-2.0
#include "simulator/clusters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "schedules/timeline.h"
#include "simulator/machine.h"
#include "simulator/simulate.h"
#include "tests/simulator/own_kernels.h"
#include "tests/simulator/toy.h"
#include "workloads/load.h"

namespace splitwave::simulator {
namespace {

/// cudaOccupancyMaxActiveClusters of every decode kernel on an H200: by CTAs per SM and cluster.
TEST(Clusters, AreResidentAsTheRuntimeSays) {
  const Machine machine = load_machine("h200-calibrated");
  struct Row {
    std::int32_t per_sm, cluster, resident;
  };
  for (const Row& row : {Row{1, 2, 66},
                         {1, 4, 30},
                         {1, 8, 15},
                         {2, 2, 132},
                         {2, 4, 62},
                         {2, 8, 30},
                         {2, 16, 14},
                         {3, 4, 92},
                         {3, 8, 45},
                         {3, 16, 21},
                         {4, 4, 124},
                         {4, 8, 62},
                         {4, 16, 28},
                         {5, 2, 330},
                         {5, 4, 154},
                         {5, 16, 35}}) {
    EXPECT_EQ(resident_workers(machine, row.cluster, row.per_sm), row.resident)
        << row.per_sm << " per SM, clusters of " << row.cluster;
  }
}

/// Two of them on most GPCs, one on others.
TEST(Clusters, ThatHoldTheirItemsAndAllFindRoomAreServedAlike) {
  const workloads::Workload workload = workloads::parse_spec("h=56/14,d=128:1q1s1k");
  const KernelProfile kernel = own_kernels::config("r1w4s1t32c8", workload);
  const schedules::Plan plan = own_kernels::plan_for("fixed-split:1", workload, kernel);
  ASSERT_EQ(plan.lists(), 14);
  SimulateOptions options;
  options.spans = true;
  const schedules::Timeline timeline = simulate(workload, plan, own_kernels::h200(), kernel, options);
  double first = timeline.seconds;
  ASSERT_FALSE(timeline.spans.empty());
  for (const schedules::Span& span : timeline.spans) first = std::min(first, span.end_seconds);
  EXPECT_NEAR(first, timeline.seconds, 0.001 * timeline.seconds);
}

TEST(Clusters, FitIntoFewerSms) {
  const Machine few = with_overrides(load_machine("h200"), {.sms = 16});
  EXPECT_EQ(resident_workers(few, 8, 1), 0);  // eight GPCs of two SMs
  EXPECT_EQ(resident_workers(few, 2, 1), 8);
}

TEST(Clusters, LoseNoSmRates) {
  const Machine machine = load_machine("h200-calibrated");
  const Machine pairs = clustered(machine, 2, 1);
  EXPECT_EQ(pairs.sms, 66);
  EXPECT_DOUBLE_EQ(pairs.mma_flops, machine.mma_flops);
  EXPECT_DOUBLE_EQ(pairs.sm_bytes_per_second, 2 * machine.sm_bytes_per_second);
  EXPECT_EQ(pairs.port_of_sm.size(), 66U);
  EXPECT_EQ(pairs.dispatch_order.size(), 66U);
}

/// Lists by place are as long as there are places; without ports there are none.
void expect_lists_that_fit(const Machine& machine) {
  const auto places = static_cast<std::size_t>(machine.port_of_sm.empty() ? 0 : machine.sms);
  EXPECT_EQ(machine.port_of_sm.size(), places);
  EXPECT_TRUE(machine.side_of_sm.empty() || machine.side_of_sm.size() == places);
  if (machine.dispatch_order.empty()) return;
  std::vector<std::int32_t> order = machine.dispatch_order;
  std::sort(order.begin(), order.end());
  std::vector<std::int32_t> all(places);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(order, all);
}

TEST(Clusters, ListsByPlaceFitAnyPartOfADevice) {
  for (const char* name : {"h200-calibrated", "h100-sxm-calibrated"}) {
    const Machine whole = load_machine(name);
    for (std::int32_t sms = 1; sms <= whole.sms; ++sms) {
      const Machine part = with_overrides(whole, {sms, 0, 0, 0});
      for (const std::int32_t cluster : {1, 2, 4, 8, 16}) {
        for (const std::int32_t per_sm : {1, 2, 3}) {
          SCOPED_TRACE(::testing::Message() << name << ", " << sms << " SMs, " << cluster << " x " << per_sm);
          if (resident_workers(part, cluster, per_sm) == 0) continue;
          expect_lists_that_fit(clustered(part, cluster, per_sm));
        }
      }
    }
  }
}

TEST(Clusters, PairsAreOfOneGpc) {
  Machine machine = toy::machine(7);
  machine.sms_per_gpc = {3, 4};
  machine.gpc_of_sm = {0, 0, 1, 1, 0, 1, 1};
  machine.port_of_sm = {0, 0, 1, 1, 2, 3, 3};
  machine.dispatch_order = {4, 6, 0, 1, 2, 3, 5};
  const Machine pairs = clustered(machine, 2, 1);
  EXPECT_EQ(pairs.sms, 3) << "the third SM of the first GPC has no other";
  EXPECT_EQ(pairs.port_of_sm, (std::vector<std::int32_t>{0, 1, 3}));
  EXPECT_EQ(pairs.dispatch_order, (std::vector<std::int32_t>{2, 0, 1}));
  // Two CTAs to an SM: it holds a pair by itself.
  const Machine twice = clustered(machine, 2, 2);
  EXPECT_EQ(twice.sms, 4);
  EXPECT_EQ(twice.port_of_sm, (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(twice.dispatch_order, (std::vector<std::int32_t>{2, 3, 0, 1}));
}

TEST(Clusters, AnOrderOfSmsIsNoneOfPlacesWithoutPorts) {
  Machine machine = toy::machine(4);
  machine.dispatch_order = {3, 2, 1, 0};
  EXPECT_TRUE(clustered(machine, 2, 1).dispatch_order.empty());
}

}  // namespace
}  // namespace splitwave::simulator
