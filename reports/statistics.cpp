// SPDX-License-Identifier: Apache-2.0
#include "reports/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "base/quantile.h"

namespace splitwave::reports {
namespace {

/// Speed-ups this close to 1 are noise, not a sign.
constexpr double kClearSpeedUp = 0.02;
/// Of fewer pairs, least and greatest are no 95 % interval.
constexpr std::int64_t kFewestPairs = 6;

bool timed(const Record& record) {
  return record.seconds && *record.seconds > 0;
}

double share_within_10_percent(const std::vector<double>& errors) {
  const auto close = std::count_if(errors.begin(), errors.end(), [](double error) { return error <= 0.1; });
  return static_cast<double>(close) / static_cast<double>(errors.size());
}

double geometric_mean(const std::vector<double>& values) {
  const double logs = std::accumulate(values.begin(), values.end(), 0.0,
                                      [](double sum, double value) { return sum + std::log(value); });
  return std::exp(logs / static_cast<double>(values.size()));
}

void add_signs(const std::vector<Pair>& pairs, const Baseline& baseline, Agreement& result) {
  std::int64_t same = 0;
  for (const Pair& pair : pairs) {
    const std::optional<double> predicted = baseline.speed_up(*pair.predicted);
    const std::optional<double> measured = baseline.speed_up(*pair.measured);
    if (!predicted || !measured) continue;
    const bool clear = baseline.clear(*pair.measured);
    const bool same_plan = baseline.same_plan(*pair.predicted);
    if (pair.measured->speed_up) {
      ++result.paired_speed_ups;
      result.same_plans += same_plan ? 1 : 0;
      result.clear_same_plans += same_plan && clear ? 1 : 0;
    }
    if (clear && !same_plan) {
      ++result.clear_speed_ups;
      same += (*predicted > 1) == (*measured > 1) ? 1 : 0;
    }
  }
  if (result.clear_speed_ups > 0) {
    result.same_sign = static_cast<double>(same) / static_cast<double>(result.clear_speed_ups);
  }
}

}  // namespace

Baseline::Baseline(std::span<const Record> records, const std::string& schedule) : schedule_(schedule) {
  for (const Record& record : records) {
    if (record.schedule == schedule && timed(record)) {
      records_.emplace(key(record), &record);
    }
  }
}

const Record* Baseline::of(const Record& record) const {
  const auto found = records_.find(key(record));
  return found == records_.end() || !timed(record) ? nullptr : found->second;
}

std::optional<double> Baseline::speed_up(const Record& record) const {
  if (in_pairs(record)) return record.speed_up->median;
  const Record* const baseline = of(record);
  if (baseline == nullptr) return std::nullopt;
  return *baseline->seconds / *record.seconds;
}

bool Baseline::clear(const Record& measured) const {
  const std::optional<double> factor = speed_up(measured);
  if (!factor || std::abs(*factor - 1) <= kClearSpeedUp) return false;
  if (!in_pairs(measured)) return true;
  return measured.speed_up->pairs >= kFewestPairs && (measured.speed_up->low > 1 || measured.speed_up->high < 1);
}

bool Baseline::same_plan(const Record& predicted) const {
  const Record* const baseline = of(predicted);
  return baseline != nullptr && baseline->seconds == predicted.seconds && baseline->ctas == predicted.ctas &&
         baseline->num_splits == predicted.num_splits && baseline->merge == predicted.merge;
}

std::optional<double> Pair::energy_error() const {
  if (!predicted->joules || !measured->joules || *measured->joules <= 0) return std::nullopt;
  return *predicted->joules / *measured->joules - 1;
}

std::vector<Pair> pair_up(std::span<const Record> records) {
  using Key = std::tuple<std::string, std::string, std::string>;
  struct Queue {
    std::vector<const Record*> predicted;
    std::size_t next = 0;
  };
  const auto key = [](const Record& record) { return Key{record.workload, record.schedule, record.machine}; };
  std::map<Key, Queue> queues;
  for (const Record& record : records) {
    if (record.executor == kSimulator && timed(record)) {
      queues[key(record)].predicted.push_back(&record);
    }
  }
  std::vector<Pair> pairs;
  for (const Record& record : records) {
    if (record.executor == kSimulator || !timed(record)) {
      continue;
    }
    const auto found = queues.find(key(record));
    if (found != queues.end() && found->second.next < found->second.predicted.size()) {
      pairs.push_back(Pair{found->second.predicted[found->second.next++], &record});
    }
  }
  return pairs;
}

Noise noise(std::span<const Record> records) {
  Noise result;
  std::vector<double> runs;
  std::vector<double> reads;
  std::vector<double> tiles;
  for (const Record& record : records) {
    if (record.seconds_p20 && record.seconds_p80 && timed(record)) {
      runs.push_back((*record.seconds_p80 - *record.seconds_p20) / *record.seconds);
    }
    result.interrupted += record.interrupted.value_or(0);
    if (record.probes) {
      reads.push_back(record.probes->read_spread);
      tiles.push_back(record.probes->tile_spread);
    }
  }
  result.plans = static_cast<std::int64_t>(runs.size());
  result.probed = static_cast<std::int64_t>(reads.size());
  if (!runs.empty()) result.run_spread = base::quantile(runs, 0.5);
  if (!reads.empty()) {
    result.read_spread = base::quantile(reads, 0.5);
    result.tile_spread = base::quantile(tiles, 0.5);
  }
  return result;
}

Agreement agreement(std::span<const Record> records, const std::string& baseline) {
  const std::vector<Pair> pairs = pair_up(records);
  Agreement result;
  if (pairs.empty()) {
    return result;
  }
  std::vector<double> errors;
  std::vector<double> ratios;
  for (const Pair& pair : pairs) {
    errors.push_back(std::abs(pair.relative_error()));
    ratios.push_back(pair.relative_error() + 1);
  }
  result.points = static_cast<std::int64_t>(pairs.size());
  result.median_error = base::quantile(errors, 0.5);
  result.p90_error = base::quantile(errors, 0.9);
  result.within_10_percent = share_within_10_percent(errors);
  result.geometric_mean_ratio = geometric_mean(ratios);
  add_signs(pairs, Baseline(records, baseline), result);
  return result;
}

EnergyAgreement energy_agreement(std::span<const Record> records) {
  std::vector<double> errors;
  for (const Pair& pair : pair_up(records)) {
    if (const std::optional<double> error = pair.energy_error()) errors.push_back(std::abs(*error));
  }
  if (errors.empty()) return {};
  return {static_cast<std::int64_t>(errors.size()), base::quantile(errors, 0.5), base::quantile(errors, 0.9),
          share_within_10_percent(errors)};
}

std::vector<ScheduleSummary> summarize(std::span<const Record> records, const std::string& baseline) {
  const Baseline base(records, baseline);
  struct Group {
    ScheduleSummary summary;
    std::vector<double> speed_ups;
  };
  std::vector<std::pair<std::string, std::string>> series;
  std::map<std::pair<std::string, std::string>, std::vector<Group>> groups;
  for (const Record& record : records) {
    const std::pair key{record.executor, record.machine};
    if (groups.find(key) == groups.end()) {
      series.push_back(key);
    }
    std::vector<Group>& of_series = groups[key];
    auto group = std::find_if(of_series.begin(), of_series.end(),
                              [&](const Group& one) { return one.summary.schedule == record.schedule; });
    if (group == of_series.end()) {
      of_series.push_back(Group{ScheduleSummary{record.schedule, record.executor, record.machine}, {}});
      group = of_series.end() - 1;
    }
    if (const std::optional<double> factor = base.speed_up(record)) {
      group->speed_ups.push_back(*factor);
    }
  }
  std::vector<ScheduleSummary> result;
  for (const auto& key : series) {
    for (Group& group : groups[key]) {
      if (group.speed_ups.empty()) {
        continue;
      }
      group.summary.workloads = static_cast<std::int64_t>(group.speed_ups.size());
      group.summary.geometric_mean = geometric_mean(group.speed_ups);
      const auto [least, most] = std::minmax_element(group.speed_ups.begin(), group.speed_ups.end());
      group.summary.least = *least;
      group.summary.most = *most;
      result.push_back(group.summary);
    }
  }
  return result;
}

}  // namespace splitwave::reports
