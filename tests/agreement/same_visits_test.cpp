// SPDX-License-Identifier: Apache-2.0
// The simulator carries out the plan that it is given: every item once, each list in order and on one slot.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "schedules/schedules.h"
#include "simulator/simulate.h"
#include "tests/support/battery.h"

namespace splitwave {
namespace {

/// The library's own kernel, or splitwave's where it has none for latent attention: visits do not depend on it.
simulator::KernelProfile kernel_for(const std::string& schedule, const workloads::Workload& workload,
                                    const simulator::Machine& machine) {
  return workload.geometry.kind == workloads::AttentionKind::mla
             ? simulator::kernel_for(simulator::load_kernel("splitwave"), workload, machine)
             : simulator::native_kernel(schedule, workload, machine);
}

class SameVisits : public ::testing::TestWithParam<workloads::Workload> {};

TEST_P(SameVisits, TheSimulatorVisitsEveryItemOnceInListOrder) {
  const workloads::Workload& workload = GetParam();
  const simulator::Machine machine = simulator::load_machine("h200");
  for (const std::string& name : schedules::default_names()) {
    const simulator::KernelProfile kernel = kernel_for(name, workload, machine);
    const schedules::Grid grid = simulator::grid_of(machine, kernel);
    const schedules::Plan plan = schedules::make_plan(name, workload, grid);
    const schedules::Timeline timeline = simulator::simulate(workload, plan, machine, kernel, {0, true});
    std::vector<std::int32_t> visits(plan.items.size(), 0);
    std::vector<const schedules::Span*> span_of(plan.items.size(), nullptr);
    for (const schedules::Span& span : timeline.spans) {
      EXPECT_LE(span.begin_seconds, span.end_seconds) << name;
      EXPECT_LE(span.end_seconds, timeline.seconds * (1 + 1e-9)) << name;
      if (span.item < 0) continue;
      ASSERT_LT(static_cast<std::size_t>(span.item), plan.items.size()) << name;
      ++visits[static_cast<std::size_t>(span.item)];
      span_of[static_cast<std::size_t>(span.item)] = &span;
    }
    EXPECT_TRUE(std::all_of(visits.begin(), visits.end(), [](std::int32_t n) { return n == 1; })) << name;
    for (std::int32_t list = 0; list < plan.lists(); ++list) {
      for (std::int32_t i = plan.cta_begin[list] + 1; i < plan.cta_begin[list + 1]; ++i) {
        ASSERT_TRUE(span_of[i - 1] != nullptr && span_of[i] != nullptr) << name;
        EXPECT_EQ(span_of[i - 1]->cta, span_of[i]->cta) << name << " list " << list;
        EXPECT_LE(span_of[i - 1]->begin_seconds, span_of[i]->begin_seconds) << name << " list " << list;
        EXPECT_LE(span_of[i - 1]->end_seconds, span_of[i]->end_seconds) << name << " list " << list;
      }
    }
  }
}

// A kernel that prefetches loads its next item while it still computes this one, so that spans of one slot may overlap.
TEST_P(SameVisits, ASlotEndsItsItemsInTheOrderItBeginsThem) {
  const workloads::Workload& workload = GetParam();
  const simulator::Machine machine = simulator::with_overrides(simulator::load_machine("h200"), {5, 0});
  for (const std::string& name : schedules::default_names()) {
    const simulator::KernelProfile kernel = kernel_for(name, workload, machine);
    const schedules::Plan plan = schedules::make_plan(name, workload, simulator::grid_of(machine, kernel));
    const schedules::Timeline timeline = simulator::simulate(workload, plan, machine, kernel, {0, true});
    std::map<std::pair<std::int32_t, std::int32_t>, std::vector<const schedules::Span*>> by_slot;
    for (const schedules::Span& span : timeline.spans) {
      if (span.item >= 0) by_slot[{span.sm, span.slot}].push_back(&span);
    }
    for (auto& [slot, spans] : by_slot) {
      std::sort(spans.begin(), spans.end(), [](const auto* a, const auto* b) {
        return std::pair(a->begin_seconds, a->end_seconds) < std::pair(b->begin_seconds, b->end_seconds);
      });
      for (std::size_t i = 1; i < spans.size(); ++i) {
        EXPECT_LE(spans[i - 1]->end_seconds, spans[i]->end_seconds)
            << name << " on SM " << slot.first << " slot " << slot.second;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Battery, SameVisits, ::testing::ValuesIn(testing::battery()),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace splitwave
