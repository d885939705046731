// SPDX-License-Identifier: Apache-2.0
#include "studies/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "reports/table.h"
#include "schedules/schedules.h"

namespace splitwave::studies {
namespace {

std::string reason_of(const Prediction& best, const std::optional<Prediction>& next, const Target& target) {
  std::string reason = fmt::format("auto: {} has the least predicted time on {}, {}", best.plan.schedule, target.name,
                                   reports::format_seconds(best.timeline.seconds));
  if (next) {
    reason += fmt::format(" (next: {}, {})", next->plan.schedule, reports::format_seconds(next->timeline.seconds));
  }
  return reason + ". " + best.plan.reason;
}

/// Why no target can run any of the workloads by the schedule, or nothing if one can.
std::string refusal(const std::string& schedule, std::span<const workloads::Workload> workloads,
                    std::span<const Target> targets) {
  std::string first;
  const auto serves = [&](const auto& make) {
    try {
      make();
      return true;
    } catch (const base::InputError& error) {
      if (first.empty()) first = error.what();
      return false;
    }
  };
  for (const workloads::Workload& workload : workloads) {
    if (targets.empty() && serves([&] { schedules::make_plan(schedule, workload, {}); })) return "";
    for (const Target& target : targets) {
      if (serves([&] { schedules::make_plan(schedule, workload, grid_for(workload, schedule, target)); })) return "";
    }
  }
  return first;
}

}  // namespace

Prediction choose(const workloads::Workload& workload, const Target& target, const PredictOptions& options) {
  std::optional<Prediction> best;
  std::optional<Prediction> next;
  std::string refused;
  for (const std::string& name : schedules::default_names({&workload, 1})) {
    try {
      // What takes longer than the second best changes nothing.
      const double limit = next ? next->timeline.seconds : std::numeric_limits<double>::infinity();
      std::optional<Prediction> candidate = predict_within(limit, workload, name, target, options);
      if (!candidate) continue;
      if (!best || candidate->timeline.seconds < best->timeline.seconds) {
        next = std::exchange(best, std::move(candidate));
      } else if (!next || candidate->timeline.seconds < next->timeline.seconds) {
        next = std::move(candidate);
      }
    } catch (const base::InputError& error) {
      if (refused.empty()) refused = error.what();
    }
  }
  if (!best) {
    throw base::InputError(fmt::format("auto: no schedule can serve the workload, for example: {}", refused));
  }
  best->plan.reason = reason_of(*best, next, target);
  best->by_auto = true;
  return std::move(*best);
}

std::vector<std::string> chosen_schedules(const std::vector<std::string>& given,
                                          std::span<const workloads::Workload> workloads,
                                          std::span<const Target> targets) {
  std::string refused;
  std::vector<std::string> names;
  for (const std::string& name : given.empty() ? schedules::default_names(workloads) : given) {
    refused = name == kAuto ? "" : refusal(name, workloads, targets);
    if (!refused.empty() && !given.empty()) throw base::InputError(refused);
    if (refused.empty()) names.push_back(name);
  }
  if (names.empty()) throw base::InputError(refused);
  return names;
}

}  // namespace splitwave::studies
