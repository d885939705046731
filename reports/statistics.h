// SPDX-License-Identifier: Apache-2.0
// Predicted against measured, and schedule against schedule.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "reports/record.h"

namespace splitwave::reports {

/// A predicted and a measured record of the same workload, schedule and machine, both with a time.
struct Pair {
  const Record* predicted = nullptr;
  const Record* measured = nullptr;
  /// (predicted - measured) / measured.
  double relative_error() const { return *predicted->seconds / *measured->seconds - 1; }
  /// The same of their energy; nothing if either has none.
  std::optional<double> energy_error() const;
};

/// All pairs, in the order of the measured records. Where a key occurs several times, its k-th predicted record goes
/// with its k-th measured one. The pairs point into `records`.
std::vector<Pair> pair_up(std::span<const Record> records);

/// The times of one schedule, which others are set against.
class Baseline {
 public:
  /// The baseline's times are the records of `schedule` that have one. Keeps pointers into `records`.
  Baseline(std::span<const Record> records, const std::string& schedule);

  /// The record's own speed-up over the baseline from runs in pairs, if it has one; else seconds of the baseline on the
  /// record's workload, executor and machine over the record's own. None if either has no time.
  std::optional<double> speed_up(const Record& record) const;

  /// Whether a measured speed-up is more than noise: more than 2 % away from 1, and, of runs in pairs, with 6 pairs or
  /// more and an interval on one side of 1. False if there is none.
  bool clear(const Record& measured) const;

  /// Whether the predicted record is of the baseline's own plan: the same splits, CTAs, merge and time.
  bool same_plan(const Record& predicted) const;

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  static Key key(const Record& record) { return {record.workload, record.executor, record.machine}; }
  const Record* of(const Record& record) const;
  bool in_pairs(const Record& record) const { return record.speed_up && record.speed_up->over == schedule_; }
  std::string schedule_;
  std::map<Key, const Record*> records_;
};

/// How good the predictions are. Ratios, not percent.
struct Agreement {
  std::int64_t points = 0;
  double median_error = 0;          ///< median of |predicted - measured| / measured
  double p90_error = 0;             ///< 90th percentile of the same
  double within_10_percent = 0;     ///< share of points whose error is at most 0.1
  double geometric_mean_ratio = 1;  ///< of predicted / measured: above 1 means too slow a prediction
  /// Of the speed-ups over the baseline that were measured clearly (Baseline::clear) and are not of the baseline's own
  /// plan, the share that was predicted on the same side of 1; and how many there are.
  double same_sign = 0;
  std::int64_t clear_speed_ups = 0;
  std::int64_t paired_speed_ups = 0;  ///< speed-ups of other schedules that were measured by runs in pairs
  std::int64_t same_plans = 0;        ///< of them, those that compare the baseline's plan with itself
  std::int64_t clear_same_plans = 0;  ///< of these, those that were measured clearly all the same
};

/// How much the machine changed while it was measured. Spreads are medians of (80th - 20th percentile) / median.
struct Noise {
  std::int64_t plans = 0;  ///< measured records with percentiles
  double run_spread = 0;   ///< of the runs of one plan
  std::int64_t interrupted = 0;
  std::int64_t probed = 0;  ///< predicted records that say what was probed
  double read_spread = 0;   ///< of the probes' reads
  double tile_spread = 0;   ///< of their tiles in cache
};

/// Noise over all records.
Noise noise(std::span<const Record> records);

/// Agreement over all pairs of the records; points is 0 if there are none.
Agreement agreement(std::span<const Record> records, const std::string& baseline);

/// One schedule on one machine by one executor, over all workloads that it and the baseline have a time for.
struct ScheduleSummary {
  std::string schedule;
  std::string executor;
  std::string machine;
  std::int64_t workloads = 0;
  double geometric_mean = 1;  ///< of the speed-ups over the baseline
  double least = 1;
  double most = 1;
};

/// How good the predicted energies are. Ratios, not percent.
struct EnergyAgreement {
  std::int64_t points = 0;
  double median_error = 0;  ///< median of |predicted - measured| / measured
  double p90_error = 0;
  double within_10_percent = 0;  ///< share of points whose error is at most 0.1
};

/// Over all pairs of the records whose energy was both predicted and measured; points is 0 if there are none.
EnergyAgreement energy_agreement(std::span<const Record> records);

/// Summaries in order of first appearance of (executor, machine), then of the schedule; the baseline is among them.
std::vector<ScheduleSummary> summarize(std::span<const Record> records, const std::string& baseline);

}  // namespace splitwave::reports
