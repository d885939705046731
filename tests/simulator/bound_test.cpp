// SPDX-License-Identifier: Apache-2.0
#include "simulator/bound.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/error.h"
#include "schedules/schedules.h"
#include "simulator/alternatives.h"
#include "simulator/simulation.h"
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

/// Every config's rings of a lone list, of less than a tile to more than a window.
TEST(Bound, NoRingFillsSooner) {
  const Machine machine = load_machine("h200-calibrated");
  for (const char* spec : {"h=8/2,d=128", "h=72/2,d=128", "h=16/2,d=64", "h=16/1,d=576,dv=512,kind=mla"}) {
    for (const std::int32_t tokens : {7, 64, 130, 256, 512, 700, 2000}) {
      const workloads::Workload w = workloads::parse_spec(fmt::format("{}:1q1s{}", spec, tokens));
      for (const KernelProfile& kernel : alternatives(load_kernel(std::string(kOwnKernel)), w, machine, kAnyRows)) {
        schedules::Grid grid = grid_of(machine, kernel);
        grid.tile_q = kernel.most_rows;
        const schedules::Plan plan = schedules::make_plan("fixed-split:1", w, grid);
        const std::optional<KernelProfile> run = as_run(kernel, w, plan, grid.resident());
        if (!run) continue;
        EXPECT_LE(Simulation(w, plan, machine, *run).least_seconds(), simulate(w, plan, machine, *run).seconds)
            << w.name << ' ' << kernel.config;
      }
    }
  }
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

/// A batch of one model: of few or many requests, uniform or ragged, with one query or several.
workloads::Workload drawn_batch() {
  const std::vector<std::string> geometries = {"h=32/8,d=128", "h=8/1,d=64", "h=16/16,d=128", "h=72/2,d=128",
                                               "h=16/1,d=576,dv=512,kind=mla"};
  workloads::Workload workload = workloads::parse_spec(*rc::gen::elementOf(geometries) + ":1q1s1k");
  const auto batch = *rc::gen::oneOf(rc::gen::inRange(1, 12), rc::gen::inRange(12, 120));
  const auto longest = *rc::gen::oneOf(rc::gen::inRange(1, 700), rc::gen::inRange(700, 20'000));
  const auto queries = *rc::gen::oneOf(rc::gen::just(1), rc::gen::inRange(2, 6));
  const bool uniform = *rc::gen::arbitrary<bool>();
  workload.requests.assign(static_cast<std::size_t>(batch), {queries, longest});
  if (!uniform) {
    for (workloads::Request& request : workload.requests) request.context_len = *rc::gen::inRange(0, longest + 1);
  }
  return workload;
}

/// A plan as one of the own kernels' configs runs it, or nothing.
struct OwnPlan {
  schedules::Plan plan;
  KernelProfile kernel;
};
std::optional<OwnPlan> drawn_plan(const workloads::Workload& workload, const Machine& machine) {
  static const KernelFamily family = load_kernel(std::string(kOwnKernel));
  const std::vector<std::string> schedules = {
      "fixed-split:1",    "fixed-split:3+last_arriver",   "fixed-split:6+kernel", "fixed-size:256+host_cta",
      "fa3+last_arriver", "fixed-size:1024+last_arriver", "lean+last_arriver",    "lean+host_cta",
      "flashinfer",       "longest-first:1024+kernel"};
  const KernelProfile kernel = *rc::gen::elementOf(alternatives(family, workload, machine, kAnyRows));
  schedules::Grid grid = grid_of(machine, kernel);
  grid.tile_kv = 64;
  grid.tile_q = kernel.most_rows;
  try {
    schedules::Plan plan = schedules::make_plan(*rc::gen::elementOf(schedules), workload, grid);
    std::optional<KernelProfile> run = as_run(kernel, workload, plan, grid.resident());
    if (run) return OwnPlan{std::move(plan), std::move(*run)};
  } catch (const base::InputError&) {
    // More CTAs would wait for one another than are resident.
  }
  return std::nullopt;
}

RC_GTEST_PROP(Bound, NoPlanOfTheOwnKernelsIsFaster, ()) {
  static const Machine machine = load_machine("h200-calibrated");
  const workloads::Workload workload = drawn_batch();
  const std::optional<OwnPlan> drawn = drawn_plan(workload, machine);
  if (!drawn) RC_DISCARD("the kernel cannot run the plan");
  const auto& [plan, kernel] = *drawn;
  Simulation simulation(workload, plan, machine, kernel);
  const double seconds = simulate(workload, plan, machine, kernel).seconds;
  RC_ASSERT(simulation.least_seconds() <= seconds);
  // A run that is not given up is the whole one; one with time enough never is.
  const double limit = seconds * *rc::gen::element(0.5, 0.95, 1.05);
  const std::optional<schedules::Timeline> limited = simulation.run(limit);
  RC_ASSERT(limited.has_value() || limit < seconds);
  if (limited) RC_ASSERT(limited->seconds == seconds);
}

}  // namespace
}  // namespace splitwave::simulator
