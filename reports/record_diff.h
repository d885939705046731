// SPDX-License-Identifier: Apache-2.0
// Two runs set side by side: what got slower by more than its own spread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/record.h"

namespace splitwave::reports {

/// What became of a workload, schedule, executor and machine.
///   same      the time changed by no more than the tolerance, or its spreads overlap
///   slower    the later median is beyond the tolerance, and where both were measured the 20th percentile of the later
///             runs is above the 80th of the earlier ones
///   faster    the same the other way round
///   unclear   beyond the tolerance, but measured without percentiles or by fewer than kFewestSamples runs
///   fails     had a time, and now only a failure
///   works     the other way round
///   gone, added   only in the earlier, only in the later run
enum class Change { same, slower, faster, unclear, fails, works, gone, added };

inline constexpr std::array<std::string_view, 8> kChangeNames = {"same",  "slower", "faster", "unclear",
                                                                 "fails", "works",  "gone",   "added"};

/// 20th and 80th percentiles of fewer samples are too near the median.
inline constexpr std::int64_t kFewestSamples = 9;

/// Times of one run. Several records of one workload, schedule, executor and machine are taken together: the median of
/// their medians, the least 20th and the greatest 80th percentile, the fewest samples.
struct RunTime {
  std::optional<double> seconds;  ///< none: it failed
  std::optional<double> low;      ///< 20th percentile
  std::optional<double> high;     ///< 80th percentile
  std::int64_t samples = 0;
};

struct RecordChange {
  std::string workload;
  std::string schedule;
  std::string executor;
  std::string machine;
  Change change = Change::same;
  std::optional<RunTime> before;
  std::optional<RunTime> after;
  /// after / before; none unless both have a time.
  std::optional<double> ratio;
};

class RecordDiff {
 public:
  /// Records without time and failure (run --rounding) are not compared.
  void add_before(const Record& record) { add(record, 0); }
  void add_after(const Record& record) { add(record, 1); }

  /// Every workload, schedule, executor and machine, in their order. `tolerance`: 0.02 is 2 %.
  std::vector<RecordChange> changes(double tolerance) const;

 private:
  struct Times {
    std::vector<double> medians;
    RunTime run;
    bool failed = false;
    bool there() const { return failed || !medians.empty(); }
  };
  void add(const Record& record, std::size_t side);
  static std::optional<RunTime> whole(const Times& times);

  std::map<std::array<std::string, 4>, std::array<Times, 2>> times_;
};

/// Whether a gate lets no such change pass.
bool is_regression(Change change);

/// One line of JSON without its newline: the four names, change, ratio, and before and after with seconds, low, high
/// and samples.
std::string to_json(const RecordChange& change);

/// What changed, as an aligned table for a terminal; then one line that counts.
std::string change_table(const std::vector<RecordChange>& changes);

}  // namespace splitwave::reports
