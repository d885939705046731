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

struct Candidate {
  std::string name;
  Prediction prediction;
  double seconds() const { return prediction.timeline.seconds; }
};

std::string reason_of(const Candidate& best, const std::optional<Candidate>& next, const Target& target) {
  std::string reason = fmt::format("auto: {} has the least predicted time on {}, {}", best.name, target.name,
                                   reports::format_seconds(best.seconds()));
  if (next) {
    reason += fmt::format(" (next: {}, {})", next->name, reports::format_seconds(next->seconds()));
  }
  return reason + ". " + best.prediction.plan.reason;
}

}  // namespace

Prediction predict_auto(const workloads::Workload& workload, const Target& target) {
  std::optional<Candidate> best;
  std::optional<Candidate> next;
  std::string refused;
  for (const std::string& name : schedules::default_names()) {
    if (name == kAuto) {
      continue;
    }
    try {
      // What takes longer than the second best changes nothing.
      const double limit = next ? next->seconds() : std::numeric_limits<double>::infinity();
      std::optional<Prediction> prediction = predict_within(limit, name, workload, target);
      if (!prediction) {
        continue;
      }
      Candidate candidate{name, std::move(*prediction)};
      if (!best || candidate.seconds() < best->seconds()) {
        next = std::exchange(best, std::move(candidate));
      } else if (!next || candidate.seconds() < next->seconds()) {
        next = std::move(candidate);
      }
    } catch (const base::InputError& error) {
      refused = error.what();
    }
  }
  if (!best) {
    throw base::InputError(fmt::format("auto: no schedule can serve the workload, for example: {}", refused));
  }
  best->prediction.plan.reason = reason_of(*best, next, target);
  best->prediction.plan.schedule = kAuto;
  return best->prediction;
}

std::vector<std::string> chosen_schedules(const std::vector<std::string>& option,
                                          const std::vector<workloads::Workload>& workloads) {
  if (option.empty()) {
    return schedules::default_names();
  }
  for (const std::string& name : option) {
    if (name == kAuto) {
      continue;
    }
    std::string refused;
    const bool serves = std::any_of(workloads.begin(), workloads.end(), [&](const workloads::Workload& workload) {
      try {
        schedules::make_plan(name, workload, schedules::Grid{});
        return true;
      } catch (const base::InputError& error) {
        refused = refused.empty() ? error.what() : refused;
        return false;
      }
    });
    if (!serves) {
      throw base::InputError(refused);
    }
  }
  return option;
}

}  // namespace splitwave::studies
