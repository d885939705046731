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
#include "simulator/alternatives.h"
#include "studies/candidates.h"

namespace splitwave::studies {
namespace {

std::string reason_of(const Prediction& best, const std::optional<Prediction>& next, const Target& target) {
  const std::string kernel = best.kernel.config.empty() ? "" : " with kernel " + best.kernel.config;
  std::string reason = fmt::format("auto: {}{} has the least predicted time on {}, {}", best.plan.schedule, kernel,
                                   target.name, reports::format_seconds(best.timeline.seconds));
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

namespace {

/// Candidates with the least bounds that are simulated. On 400 random batches 40 left 0.3 % more of the least predicted
/// time.
constexpr int kMostTried = 52;

/// No more is tried once nothing left can be faster by more than this, which predictions err by (docs/accuracy.md). On
/// 77 measured shapes 0 to 3 % chose no better, and 7 % worse.
constexpr double kSettled = 0.05;

/// The two fastest of what was tried.
class Fastest {
 public:
  /// Whether all that takes at least `least_seconds` can be left out.
  bool settled(double least_seconds) const { return best_ && least_seconds * (1 + kSettled) > best_->timeline.seconds; }
  /// What takes longer than this changes nothing.
  double limit() const { return next_ ? next_->timeline.seconds : std::numeric_limits<double>::infinity(); }

  void offer(std::optional<Prediction> candidate) {
    if (!candidate) return;
    if (!best_ || candidate->timeline.seconds < best_->timeline.seconds) {
      next_ = std::exchange(best_, std::move(candidate));
    } else if (!next_ || candidate->timeline.seconds < next_->timeline.seconds) {
      next_ = std::move(candidate);
    }
  }
  template <typename Make>
  void offer_made(Make make) {
    try {
      offer(make());
    } catch (const base::InputError& error) {
      if (refused_.empty()) refused_ = error.what();
    }
  }

  Prediction take(const Target& target) && {
    if (!best_) {
      throw base::InputError(fmt::format("auto: no schedule can serve the workload, for example: {}", refused_));
    }
    best_->plan.reason = reason_of(*best_, next_, target);
    best_->by_auto = true;
    return std::move(*best_);
  }

 private:
  std::optional<Prediction> best_;
  std::optional<Prediction> next_;
  std::string refused_;
};

/// The configs of the target's kernel that hold the workload's rows, and those that hold one query head's. Of more rows
/// than any holds, in blocks, also those of half as many: their last block may have fewer rows of none.
std::vector<simulator::KernelProfile> configs_of(const workloads::Workload& workload, const Target& target) {
  if (!target.kernel || target.cpu) return {};
  const std::int32_t queries = std::max(1, workloads::max_query_len(workload));
  const std::int32_t rows = workload.geometry.group() * queries;
  std::vector<simulator::KernelProfile> all = simulator::alternatives(*target.kernel, workload, target.machine, rows);
  if (all.empty()) return all;
  const std::int32_t most = all.front().most_rows;
  const auto add = [&](std::int32_t held) {
    const std::int32_t least = all.back().most_rows;
    for (simulator::KernelProfile& kernel : simulator::alternatives(*target.kernel, workload, target.machine, held)) {
      if (kernel.most_rows < least) all.push_back(std::move(kernel));
    }
  };
  if (rows > most) add(most / 2);
  if (queries > 1) add(queries);
  return all;
}

}  // namespace

Prediction choose(const workloads::Workload& workload, const Target& target, const PredictOptions& options) {
  Fastest fastest;
  const std::vector<simulator::KernelProfile> kernels = configs_of(workload, target);
  int tried = 0;
  PredictOptions tiles = options;
  for (const Candidate& candidate : candidates(workload, target.machine, kernels)) {
    if (fastest.settled(candidate.least_seconds) || ++tried > kMostTried) break;
    if (options.tile_kv == 0) tiles.tile_kv = candidate.tile_kv;
    if (options.tile_q == 0) tiles.tile_q = candidate.kernel->most_rows;
    fastest.offer_made(
        [&] { return predict_with(fastest.limit(), workload, candidate.schedule, *candidate.kernel, target, tiles); });
  }
  if (kernels.empty()) {
    for (const std::string& name : schedules::default_names({&workload, 1})) {
      fastest.offer_made([&] { return predict_within(fastest.limit(), workload, name, target, options); });
    }
  }
  return std::move(fastest).take(target);
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
