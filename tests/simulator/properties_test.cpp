// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "schedules/schedules.h"
#include "tests/simulator/toy.h"
#include "workloads/load.h"

namespace splitwave::simulator {
namespace {

/// A machine and kernel with every term switched on.
Machine real_machine() {
  return load_machine("h200");
}

KernelProfile real_kernel() {
  KernelProfile kernel =
      kernel_for(load_kernel("splitwave"), workloads::parse_spec("h=1/1,d=128:1q1s1k"), real_machine());
  return kernel;
}

std::vector<std::int32_t> lengths(int most_ctas) {
  const auto count = *rc::gen::inRange(1, most_ctas + 1);
  return *rc::gen::container<std::vector<std::int32_t>>(static_cast<std::size_t>(count),
                                                        rc::gen::inRange<std::int32_t>(0, 20000));
}

schedules::Timeline run(const std::vector<std::int32_t>& contexts, const Machine& machine, bool spans = false) {
  const workloads::Workload batch = toy::workload(contexts);
  SimulateOptions options;
  options.spans = spans;
  return simulate(batch, toy::one_cta_each(batch), machine, real_kernel(), options);
}

/// Time may differ by what a change of rounding does.
double slack(double seconds) {
  return seconds * (1 + 1e-9);
}

RC_GTEST_PROP(Simulator, TheBreakdownAddsUpToTheTime, ()) {
  const schedules::Timeline timeline = run(lengths(600), real_machine());
  const schedules::Breakdown& parts = timeline.breakdown;
  RC_ASSERT(parts.total() == timeline.seconds);
  for (const double part :
       {parts.launch, parts.ramp, parts.stream, parts.compute, parts.merge, parts.wait, parts.idle}) {
    RC_ASSERT(part >= 0);
  }
  RC_ASSERT(timeline.occupancy > 0);
  RC_ASSERT(timeline.occupancy <= 1 + 1e-9);
}

RC_GTEST_PROP(Simulator, IsDeterministic, ()) {
  const std::vector<std::int32_t> contexts = lengths(600);
  RC_ASSERT(run(contexts, real_machine()).seconds == run(contexts, real_machine()).seconds);
}

RC_GTEST_PROP(Simulator, HandlingAlikeCtasTogetherChangesNothing, ()) {
  // Few different lengths, so that many lists are alike; spans switch the grouping off.
  std::vector<std::int32_t> contexts = lengths(1200);
  for (std::int32_t& context : contexts) context = context / 7000 * 1000;
  // The latter's SMs have ports and sides.
  const Machine machine = *rc::gen::element(real_machine(), load_machine("h200-calibrated"));
  const double together = run(contexts, machine).seconds;
  RC_ASSERT(std::abs(run(contexts, machine, true).seconds - together) <= 1e-9 * together);
}

RC_GTEST_PROP(Simulator, HandlingAlikeCtasOfSeveralItemsTogetherChangesNothing, ()) {
  MachineOverrides fewer;
  fewer.sms = *rc::gen::inRange(1, 133);
  const Machine machine = with_overrides(real_machine(), fewer);
  const std::string schedule = *rc::gen::element("lean", "lean:ort", "flashinfer-holistic");
  workloads::Workload batch = workloads::parse_spec("h=32/8,d=128:1q1s1k");
  batch.requests.clear();
  for (const std::int32_t context : lengths(8)) batch.requests.push_back({1, context / 5000 * 1024 + 1});
  const KernelProfile kernel = native_kernel(schedule, batch, machine);
  const schedules::Plan plan = schedules::make_plan(schedule, batch, grid_of(machine, kernel));
  const schedules::Timeline together = simulate(batch, plan, machine, kernel);
  const schedules::Timeline apart = simulate(batch, plan, machine, kernel, {.spans = true});
  RC_ASSERT(std::abs(together.seconds - apart.seconds) <= 1e-9 * together.seconds);
  RC_ASSERT(std::abs(together.breakdown.wait - apart.breakdown.wait) <= 1e-9 * together.seconds);
}

RC_GTEST_PROP(Simulator, MoreBandwidthIsNeverSlowerInOneWave, ()) {
  const std::vector<std::int32_t> contexts = lengths(132);
  const Machine machine = real_machine();
  MachineOverrides more;
  more.dram_peak_bytes_per_second = machine.dram_peak_bytes_per_second * *rc::gen::inRange(100, 300) / 100.0;
  RC_ASSERT(run(contexts, with_overrides(machine, more)).seconds <= slack(run(contexts, machine).seconds));
}

RC_GTEST_PROP(Simulator, AHigherClockIsNeverSlowerInOneWave, ()) {
  const std::vector<std::int32_t> contexts = lengths(132);
  const Machine machine = real_machine();
  MachineOverrides faster;
  faster.clock_hz = machine.clock_hz * *rc::gen::inRange(100, 300) / 100.0;
  RC_ASSERT(run(contexts, with_overrides(machine, faster)).seconds <= slack(run(contexts, machine).seconds));
}

RC_GTEST_PROP(Simulator, MoreSmsAreNeverSlowerForEqualListsInOneWave, ()) {
  // More waves can be slower on more SMs, as on real ones: a lone tail CTA does not fill a memory that five smaller
  // waves kept full (docs/simulator.md).
  MachineOverrides few;
  few.sms = *rc::gen::inRange(1, 200);
  MachineOverrides many;
  many.sms = few.sms + *rc::gen::inRange(0, 200);
  const auto ctas = *rc::gen::inRange(1, 2 * few.sms + 1);
  const std::vector<std::int32_t> contexts(static_cast<std::size_t>(ctas), *rc::gen::inRange(0, 20000));
  const double slow = run(contexts, with_overrides(real_machine(), few)).seconds;
  const double fast = run(contexts, with_overrides(real_machine(), many)).seconds;
  RC_ASSERT(fast <= slack(slow));
}

RC_GTEST_PROP(Simulator, MoreSmsAreNeverSlowerWhereMemoryIsNoLimit, ()) {
  const auto few = *rc::gen::inRange(1, 50);
  const auto more = *rc::gen::inRange(0, 50);
  const std::vector<std::int32_t> contexts = lengths(300);
  const auto time = [&](std::int32_t sms) {
    Machine machine = toy::machine(sms);
    machine.dram_bytes_per_second = machine.dram_asymptote = 1e15;
    return toy::seconds(contexts, machine, toy::kernel(1));
  };
  RC_ASSERT(time(few + more) <= slack(time(few)));
}

RC_GTEST_PROP(Simulator, LessWorkIsNeverSlowerInOneWave, ()) {
  const std::vector<std::int32_t> contexts = lengths(132);
  std::vector<std::int32_t> less = contexts;
  for (std::int32_t& context : less) context = context * *rc::gen::inRange(0, 101) / 100;
  RC_ASSERT(run(less, real_machine()).seconds <= slack(run(contexts, real_machine()).seconds));
}

/// One CTA for each KV head of each request: the same plan shape whatever the context length.
schedules::Timeline run_native(const std::string& profile, const Machine& machine, std::int32_t head_dim,
                               const std::vector<std::int32_t>& contexts) {
  workloads::Workload batch = workloads::parse_spec("h=8/1,d=" + std::to_string(head_dim) + ":1q1s1k");
  batch.requests.clear();
  for (const std::int32_t context : contexts) batch.requests.push_back({1, context});
  schedules::Plan plan = toy::one_cta_each(batch);
  plan.tile_q = 8;
  for (schedules::OutputTile& output : plan.outputs) {
    output.head_count = 8;
    output.row_end = 8;
  }
  return simulate(batch, plan, machine, kernel_for(load_kernel(profile), batch, machine));
}

RC_GTEST_PROP(Simulator, MoreTokensAreNeverFasterInOneWave, ()) {
  const Machine machine = load_machine(*rc::gen::elementOf(machine_names()));
  const std::string profile = *rc::gen::elementOf(kernel_names());
  const auto head_dim = *rc::gen::element(64, 128, 256);
  const auto ctas = *rc::gen::inRange(1, machine.sms + 1);
  const auto fewer = *rc::gen::inRange(0, 700);
  const auto more = fewer + *rc::gen::inRange(0, 200);
  try {
    const double less = run_native(profile, machine, head_dim, std::vector<std::int32_t>(ctas, fewer)).seconds;
    RC_ASSERT(less <= slack(run_native(profile, machine, head_dim, std::vector<std::int32_t>(ctas, more)).seconds));
  } catch (const base::InputError&) {
    RC_DISCARD("the kernel does not fit, or lacks the head dim");
  }
}

/// But for where the others go, if it is known which SMs make a GPC: SMs of a round are filled GPC by GPC, which with
/// more CTAs are other ones, behind other ports: of 50,000 draws up to 1.2 % faster.
RC_GTEST_PROP(Simulator, EmptyCtasBehindTheOthersMakeNothingFaster, ()) {
  const Machine machine = load_machine(*rc::gen::elementOf(machine_names()));
  const double placement = machine.gpc_of_sm.empty() ? 1 : 0.985;
  const std::string profile = *rc::gen::elementOf(kernel_names());
  const auto head_dim = *rc::gen::element(64, 128, 256);
  const auto ctas = *rc::gen::inRange(1, 2 * machine.sms);
  const auto context = *rc::gen::inRange(1, 3000);
  std::vector<std::int32_t> contexts(static_cast<std::size_t>(ctas), context);
  try {
    const double without = run_native(profile, machine, head_dim, contexts).seconds;
    contexts.insert(contexts.end(), static_cast<std::size_t>(*rc::gen::inRange(1, 400)), 0);
    RC_ASSERT(placement * without <= slack(run_native(profile, machine, head_dim, contexts).seconds));
  } catch (const base::InputError&) {
    RC_DISCARD("the kernel does not fit, or lacks the head dim");
  }
}

/// With 72 of them 142 others were taken for longer than the mean, so that what their GPCs take in showed: 1.6 %.
TEST(Simulator, EmptyCtasMakeTheOthersNoLonger) {
  const Machine machine = load_machine("h200-calibrated");
  std::vector<std::int32_t> contexts(142, 752);
  contexts.resize(213, 0);
  const double before = run_native("splitwave-h100", machine, 128, contexts).seconds;
  contexts.push_back(0);
  EXPECT_NEAR(run_native("splitwave-h100", machine, 128, contexts).seconds / before, 1, 1e-3);
}

/// With 200 of them the others were taken for two to an SM, whose streams memory serves less well, and by that no
/// longer for limited by arithmetic.
TEST(Simulator, EmptyCtasAreNoStreams) {
  const Machine machine = load_machine("h100-sxm-calibrated");
  std::vector<std::int32_t> contexts(102, 1);
  const double without = run_native("fa2-split", machine, 64, contexts).seconds;
  contexts.resize(302, 0);
  EXPECT_LE(without, slack(run_native("fa2-split", machine, 64, contexts).seconds));
}

RC_GTEST_PROP(Simulator, PermutingListsThatFillOneSmEachKeepsTheTime, ()) {
  // One GPC and one CTA per SM: all SMs are the same, so who sits where is nothing.
  Machine machine = real_machine();
  machine.sms_per_gpc = {machine.sms};
  std::vector<std::int32_t> contexts = lengths(132);
  const double before = run(contexts, machine).seconds;
  std::vector<std::int32_t> order = contexts;
  std::reverse(order.begin(), order.end());
  const double reversed = run(order, machine).seconds;
  std::sort(order.begin(), order.end());
  const double sorted = run(order, machine).seconds;
  RC_ASSERT(std::abs(before - reversed) <= 1e-9 * before);
  RC_ASSERT(std::abs(before - sorted) <= 1e-9 * before);
}

TEST(Simulator, EveryScheduleRunsOnEveryMachineOrSaysWhyNot) {
  const std::vector<workloads::Workload> batches = {workloads::parse_spec("h=32/8,d=128:1q1s8k_3q1s100"),
                                                    workloads::parse_spec("h=8/8,d=64:4q1s1k"),
                                                    workloads::parse_spec("h=32/8,d=128:2q64s1k_8q1s4k")};
  for (const std::string& name : machine_names()) {
    const Machine machine = load_machine(name);
    for (const std::string& schedule : schedules::default_names()) {
      for (const workloads::Workload& batch : batches) {
        try {
          const KernelProfile first = native_kernel(schedule, batch, machine);
          const schedules::Plan plan = schedules::make_plan(schedule, batch, grid_of(machine, first));
          const schedules::Timeline timeline = simulate(batch, plan, machine, native_kernel(plan, batch, machine));
          EXPECT_GT(timeline.seconds, 0) << name << " " << schedule;
          EXPECT_LT(timeline.seconds, 0.1) << name << " " << schedule;
          EXPECT_EQ(timeline.breakdown.total(), timeline.seconds) << name << " " << schedule;
        } catch (const base::InputError& error) {
          EXPECT_GT(std::string(error.what()).size(), 10U);
          EXPECT_NE(name, "h200") << schedule << ": " << error.what();
        }
      }
    }
  }
}

}  // namespace
}  // namespace splitwave::simulator
