// SPDX-License-Identifier: Apache-2.0
#include "simulator/bound.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error.h"
#include "schedules/schedules.h"
#include "tests/simulator/toy.h"
#include "workloads/load.h"

namespace splitwave::simulator {
namespace {

TEST(Bound, IsTheTimeWhereNothingElseCosts) {
  // One CTA at 1 GB/s: 1 ms for 1,000 tokens of 1,000 bytes.
  const workloads::Workload lone = toy::workload({1000});
  EXPECT_NEAR(least_seconds(lone, toy::one_cta_each(lone), toy::machine(4), toy::kernel(1)), 1e-3, 1e-9);
  // 200 CTAs that could take 200 GB/s share 100 GB/s of DRAM.
  const workloads::Workload many = toy::workload(std::vector<std::int32_t>(200, 1000));
  EXPECT_NEAR(least_seconds(many, toy::one_cta_each(many), toy::machine(200), toy::kernel(1)), 2e-3, 1e-9);
}

TEST(Bound, CountsLaunchPrologueAndMergeKernel) {
  Machine machine = toy::machine(4);
  machine.launch_seconds = 1e-3;
  KernelProfile kernel = toy::kernel(1);
  kernel.prologue_seconds = 2e-3;
  kernel.merge_launch_seconds = 4e-3;
  EXPECT_NEAR(
      least_seconds(toy::workload({2000}), toy::cut({1000, 1000}, schedules::MergeKind::kernel), machine, kernel),
      1e-3 + 2e-3 + 1e-3 + 4e-3, 1e-8);
}

RC_GTEST_PROP(Bound, NoPlanIsFaster, ()) {
  const std::vector<std::string> machines = {"h200", "a100", "b200", "l40s"};
  const Machine machine = load_machine(*rc::gen::elementOf(machines));
  std::vector<std::string> schedules = schedules::default_names();
  schedules.emplace_back("xqa");  // programmatic launch
  const std::string schedule = *rc::gen::elementOf(schedules);
  const std::vector<std::string> geometries = {"h=32/8,d=128", "h=8/1,d=64", "h=16/16,d=128", "h=64/8,d=256"};
  workloads::Workload workload = workloads::parse_spec(*rc::gen::elementOf(geometries) + ":1q1s1k");
  const auto batch = *rc::gen::inRange(1, 40);
  workload.requests.clear();
  for (int i = 0; i < batch; ++i) workload.requests.push_back({1, *rc::gen::inRange(1, 40000)});
  try {
    const KernelProfile first = native_kernel(schedule, workload, machine);
    const schedules::Plan plan = schedules::make_plan(schedule, workload, grid_of(machine, first));
    const KernelProfile kernel = native_kernel(plan, workload, machine);
    const double bound = least_seconds(workload, plan, machine, kernel);
    RC_ASSERT(bound > 0);
    RC_ASSERT(bound <= simulate(workload, plan, machine, kernel).seconds);
  } catch (const base::InputError&) {
    RC_DISCARD("the schedule cannot serve the geometry on this machine");
  }
}

}  // namespace
}  // namespace splitwave::simulator
