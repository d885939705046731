// SPDX-License-Identifier: Apache-2.0
#include "studies/traced_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reports/trace.h"
#include "studies/choose.h"

namespace splitwave::studies {
namespace {

std::string name_of(const Prediction& prediction) {
  return prediction.by_auto ? fmt::format("{} ({})", kAuto, prediction.plan.schedule) : prediction.plan.schedule;
}

}  // namespace

PictureRows picture_rows(const schedules::Grid& grid, const simulator::KernelProfile& kernel,
                         const schedules::Timeline& timeline) {
  const std::int32_t slots = std::max(grid.ctas_per_sm, schedules::slots_per_sm(timeline));
  if (kernel.cluster == 1) return {grid.sms, slots};
  return {(grid.sms * grid.ctas_per_sm + slots - 1) / slots, slots};
}

TracedPlan predicted_trace(const Prediction& prediction, const workloads::Workload& workload,
                           const std::string& machine) {
  const PictureRows rows = picture_rows(prediction.grid, prediction.kernel, prediction.timeline);
  return {fmt::format("simulator: {} on {}", name_of(prediction), machine),
          &workload,
          prediction.plan,
          schedules::from_first_span(prediction.timeline),
          rows.sms,
          rows.slots_per_sm};
}

TracedPlan measured_trace(const schedules::Recording& recording, const Prediction& prediction,
                          const workloads::Workload& workload, const std::string& device, std::int32_t sms) {
  schedules::Timeline timeline = schedules::timeline_of(recording);
  const std::int32_t slots = schedules::slots_per_sm(timeline);
  return {fmt::format("measured: {} on {}, clock steps of {} ns", name_of(prediction), device,
                      schedules::clock_step_nanoseconds(recording)),
          &workload,
          prediction.plan,
          std::move(timeline),
          sms,
          slots};
}

std::string trace_file(std::span<const TracedPlan> plans) {
  const bool several = std::any_of(plans.begin(), plans.end(),
                                   [&](const TracedPlan& one) { return one.workload != plans.front().workload; });
  std::vector<reports::TracedRun> runs;
  for (const TracedPlan& one : plans) {
    runs.push_back({several ? one.title + ", " + one.workload->name : one.title, one.workload, &one.plan, &one.timeline,
                    one.sms, one.slots_per_sm});
  }
  return reports::chrome_trace(runs);
}

}  // namespace splitwave::studies
