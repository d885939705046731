// SPDX-License-Identifier: Apache-2.0
// Launches, and when CTAs and workers begin, by hand; toy.h has the round numbers. 1,000 tokens are 1 MB.
#include "simulator/simulate.h"

#include <gtest/gtest.h>

#include "tests/simulator/toy.h"

namespace splitwave::simulator {
namespace {

TEST(Simulate, ListsStartInOrderAsSlotsFreeUp) {
  // SM 0: 1 ms, then 2 ms; SM 1: 2.5 ms, then 1 ms.
  EXPECT_NEAR(toy::seconds({1000, 2500, 2000, 1000}, toy::machine(2), toy::kernel(1)), 3.5 * kMs, kTolerance);
}

TEST(Simulate, AQueuesWorkersPassTheRequestsBeforeTheirLists) {
  const workloads::Workload batch = toy::workload(std::vector<std::int32_t>(63, 1000));
  schedules::Plan plan = toy::one_cta_each(batch);
  plan.dispatch = schedules::Dispatch::queue;
  plan.workers = 63;
  KernelProfile kernel = toy::kernel(1);
  const auto seconds = [&] { return simulate(batch, plan, toy::machine(63), kernel).seconds; };
  const double one_wave = seconds();
  plan.workers = 21;
  const double three_waves = seconds();
  kernel.queue_walk_seconds = 0.5 * kMs;
  // The last of 63 requests is behind two groups of 31, however many lists a worker takes on its way there.
  EXPECT_NEAR(seconds(), three_waves + 2 * 0.5 * kMs, kTolerance);
  plan.workers = 63;
  EXPECT_NEAR(seconds(), one_wave + 2 * 0.5 * kMs, kTolerance);
}

TEST(Simulate, APersistentKernelStartsItsCtasOnce) {
  Machine machine = toy::machine(1);
  KernelProfile kernel = toy::kernel(1);
  kernel.prologue_seconds = 2 * kMs;
  kernel.item_seconds = 0.5 * kMs;
  EXPECT_NEAR(toy::seconds({1000, 1000}, machine, kernel), 2 * (2 + 1) * kMs, kTolerance);
  kernel.persistent = true;
  EXPECT_NEAR(toy::seconds({1000, 1000}, machine, kernel), (2 + 1 + 0.5 + 1) * kMs, kTolerance);
}

TEST(Simulate, AProgrammaticLaunchHidesTheLaunchAndTheFirstWavesStart) {
  Machine machine = toy::machine(1);
  machine.launch_seconds = 1 * kMs;
  machine.flag_seconds = 0.25 * kMs;
  KernelProfile kernel = toy::kernel(1);
  kernel.prologue_seconds = 2 * kMs;
  kernel.overlapped_prologue_seconds = 0.5 * kMs;
  EXPECT_NEAR(toy::seconds({1000, 1000}, machine, kernel), (1 + 2 + 1 + 2 + 1) * kMs, kTolerance);
  kernel.programmatic_launch = true;
  machine.compute_capability = "8.9";
  EXPECT_NEAR(toy::seconds({1000, 1000}, machine, kernel), (1 + 2 + 1 + 2 + 1) * kMs, kTolerance);
  for (const char* const capability : {"9.0", "10.0"}) {
    machine.compute_capability = capability;
    EXPECT_NEAR(toy::seconds({1000, 1000}, machine, kernel), (0.25 + 1.5 + 1 + 2 + 1) * kMs, kTolerance);
  }
}

TEST(Simulate, OverheadsOfLaunchCtaAndItemAddUp) {
  Machine machine = toy::machine(1);
  machine.launch_seconds = 1 * kMs;
  machine.launch_seconds_per_cta = 0.5 * kMs;
  KernelProfile kernel = toy::kernel(1);
  kernel.prologue_seconds = 2 * kMs;
  kernel.epilogue_seconds = 3 * kMs;
  kernel.item_seconds = 4 * kMs;
  EXPECT_NEAR(toy::seconds({1000}, machine, kernel), (1 + 0.5 + 2 + 1 + 3) * kMs, kTolerance);
  const workloads::Workload batch = toy::workload({1000, 1000});
  schedules::Plan plan = toy::one_cta_each(batch);
  plan.cta_begin = {0, 2};
  plan.dispatch = schedules::Dispatch::fixed;
  EXPECT_NEAR(simulate(batch, plan, machine, kernel).seconds, (1 + 0.5 + 2 + 1 + 3 + 4 + 1 + 3) * kMs, kTolerance);
}

TEST(Simulate, TheDispatcherStartsSoManyCtasPerSecond) {
  // 13,200 empty CTAs on an H200 were seen to take 8.4 us.
  const Machine h200 = load_machine("h200");
  KernelProfile kernel = toy::kernel(16);
  EXPECT_NEAR(toy::seconds(std::vector<std::int32_t>(13200, 0), h200, kernel), 8.4e-6, 0.2e-6 + h200.cold_seconds);
}

TEST(Simulate, CtasWithoutItemsBehindTheOthersDelayNobody) {
  Machine machine = toy::machine(1);
  machine.launch_seconds_per_cta = 1e-3;
  const workloads::Workload lone = toy::workload({1000});
  schedules::Plan plan = toy::one_cta_each(lone);
  plan.cta_begin = {0, 1, 1, 1};
  EXPECT_NEAR(simulate(lone, plan, machine, toy::kernel(3)).seconds, 3e-3, 1e-9);  // all of them are launched
  machine.launch_seconds_per_cta = 0.2e-3;
  EXPECT_NEAR(simulate(lone, plan, machine, toy::kernel(3)).seconds, 0.2e-3 + 1e-3, 1e-9);
  plan.cta_begin = {0, 0, 0, 1};
  EXPECT_NEAR(simulate(lone, plan, machine, toy::kernel(3)).seconds, 0.6e-3 + 1e-3, 1e-9);
}

TEST(Simulate, AQueueGivesListsToItsWorkersOnly) {
  const workloads::Workload batch = toy::workload({1000, 1000, 1000, 1000});
  schedules::Plan plan = toy::one_cta_each(batch);
  plan.dispatch = schedules::Dispatch::queue;
  plan.workers = 2;
  Machine machine = toy::machine(4);
  EXPECT_NEAR(simulate(batch, plan, machine, toy::kernel(1)).seconds, 2 * kMs, kTolerance);
  machine.flag_seconds = 0.5 * kMs;  // an atomic for every further list
  EXPECT_NEAR(simulate(batch, plan, machine, toy::kernel(1)).seconds, 2.5 * kMs, kTolerance);
}

TEST(Simulate, AnEmptyPlanTakesItsLaunch) {
  Machine machine = toy::machine(3);
  machine.launch_seconds = 1 * kMs;
  const schedules::Timeline timeline = simulate(toy::workload({}), schedules::Plan{}, machine, toy::kernel(1));
  EXPECT_NEAR(timeline.seconds, 1 * kMs, kTolerance);
  EXPECT_EQ(timeline.breakdown.total(), timeline.seconds);
}

}  // namespace
}  // namespace splitwave::simulator
