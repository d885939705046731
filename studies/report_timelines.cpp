// SPDX-License-Identifier: Apache-2.0
#include "studies/report_timelines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "reports/gantt.h"
#include "reports/table.h"
#include "studies/choose.h"
#include "studies/explain.h"
#include "studies/target.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

/// KV heads of requests beyond which bars are thinner than a pixel, and a study of a workload takes long.
constexpr std::int64_t kMostHeads = 4096;

/// Names that are looked up before the page does without: one that is no workload costs an exception.
constexpr std::size_t kMostTried = 100;

/// What a record says otherwise than this program is of another version, or of a kernel that its machine's name does
/// not tell.
constexpr double kSameTime = 0.01;

/// The predicted times of one workload on one machine.
struct Times {
  std::vector<const reports::Point*> schedules;
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  double spread() const { return most / least; }
};

using Key = std::pair<std::uint32_t, std::uint32_t>;  ///< workload and machine

/// Those with two schedules or more, the most different first.
std::vector<std::pair<Key, Times>> questions(const reports::Dataset& data) {
  std::map<Key, Times> times;
  for (const reports::Point& point : data.points()) {
    if (!point.predicted || !point.timed() || data.name(point.schedule) == kAuto) continue;
    Times& one = times[{point.workload, point.machine}];
    if (one.schedules.empty() || one.schedules.back()->schedule != point.schedule) one.schedules.push_back(&point);
    one.least = std::min(one.least, point.seconds);
    one.most = std::max(one.most, point.seconds);
  }
  std::vector<std::pair<Key, Times>> result;
  for (auto& [key, one] : times) {
    if (one.schedules.size() > 1) result.emplace_back(key, std::move(one));
  }
  // Numbers of names are in the names' order, whatever the order of the records was.
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.second.spread() > b.second.spread(); });
  return result;
}

/// Workloads by name.
class Names {
 public:
  explicit Names(std::span<const workloads::Workload> known) {
    for (const workloads::Workload& workload : known) known_.emplace(workload.name, workload);
    for (const std::string& suite : workloads::suite_names()) {
      for (workloads::Workload& workload : workloads::load(suite)) known_.emplace(workload.name, std::move(workload));
    }
  }
  std::optional<workloads::Workload> find(const std::string& name) const {
    if (const auto found = known_.find(name); found != known_.end()) return found->second;
    try {
      return workloads::parse_spec(name);
    } catch (const base::InputError&) {
      return std::nullopt;
    }
  }

 private:
  std::map<std::string, workloads::Workload> known_;
};

/// The explanations that agree with their records.
std::vector<Explanation> explanations(const reports::Dataset& data, const Times& times,
                                      const workloads::Workload& workload, const Target& target) {
  std::vector<Explanation> result;
  for (const reports::Point* point : times.schedules) {
    if (result.size() == kMostTimelineSchedules) break;
    try {
      Explanation one = explain(data.name(point->schedule), workload, target);
      if (std::abs(one.timeline.seconds / point->seconds - 1) < kSameTime) result.push_back(std::move(one));
    } catch (const base::InputError&) {
      continue;  // another version had the schedule, or served the workload
    }
  }
  return result;
}

std::optional<reports::PageTimeline> timeline(const std::vector<Explanation>& explained,
                                              const workloads::Workload& workload) {
  reports::PageTimeline result;
  std::vector<reports::TracedRun> runs;
  for (const Explanation& one : explained) {
    runs.push_back(traced_run(one, workload));
    result.schedules.emplace_back(
        fmt::format("{}: {}", one.plan.schedule, reports::format_seconds(one.timeline.seconds)), to_text(one));
  }
  try {
    if (!runs.empty()) result.svg = reports::gantt_svg(runs);
  } catch (const base::InputError&) {  // too many bars
  }
  return result.svg.empty() ? std::nullopt : std::optional(std::move(result));
}

}  // namespace

std::vector<reports::PageTimeline> timelines_of(const reports::Dataset& data,
                                                std::span<const workloads::Workload> known) {
  std::vector<reports::PageTimeline> result;
  std::vector<std::uint32_t> seen;
  std::optional<Names> names;
  std::size_t tried = 0;
  for (const auto& [key, times] : questions(data)) {
    if (result.size() == kMostTimelines || tried == kMostTried) break;
    const std::optional<NamedTarget> named = parse_target_name(data.name(key.second));
    if (!named || std::find(seen.begin(), seen.end(), key.first) != seen.end()) continue;
    ++tried;
    if (!names) names.emplace(known);
    const std::optional<workloads::Workload> workload = names->find(data.name(key.first));
    if (!workload || static_cast<std::int64_t>(workload->requests.size()) * workload->geometry.kv_heads > kMostHeads) {
      continue;
    }
    std::optional<reports::PageTimeline> one =
        timeline(explanations(data, times, *workload, target(named->machine, named->overrides)), *workload);
    if (!one) continue;
    seen.push_back(key.first);
    one->workload = data.name(key.first);
    one->machine = data.name(key.second);
    result.push_back(std::move(*one));
  }
  return result;
}

}  // namespace splitwave::studies
