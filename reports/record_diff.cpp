// SPDX-License-Identifier: Apache-2.0
#include "reports/record_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/quantile.h"
#include "reports/table.h"

namespace splitwave::reports {
namespace {

/// What was predicted has no spread, and is the same each time.
Change judged(const RecordChange& one, double tolerance) {
  if (!one.before) return Change::added;
  if (!one.after) return Change::gone;
  if (!one.ratio) {
    if (one.before->seconds) return Change::fails;
    return one.after->seconds ? Change::works : Change::same;
  }
  const bool slower = *one.ratio > 1 + tolerance;
  const bool faster = *one.ratio < 1 / (1 + tolerance);
  if (!slower && !faster) return Change::same;
  const Change change = slower ? Change::slower : Change::faster;
  if (one.executor == kSimulator) return change;
  const auto clear = [](const RunTime& run) { return run.low && run.high && run.samples >= kFewestSamples; };
  if (!clear(*one.before) || !clear(*one.after)) return Change::unclear;
  const bool apart = slower ? *one.after->low > *one.before->high : *one.after->high < *one.before->low;
  return apart ? change : Change::same;
}

nlohmann::ordered_json run_json(const RunTime& run) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (run.seconds) json["seconds"] = *run.seconds;
  if (run.low) json["seconds_p20"] = *run.low;
  if (run.high) json["seconds_p80"] = *run.high;
  if (run.samples > 0) json["samples"] = run.samples;
  return json;
}

std::string run_words(const std::optional<RunTime>& run) {
  if (!run) return "-";
  return run->seconds ? format_seconds(*run->seconds) : "failed";
}

std::string spread_words(const std::optional<RunTime>& run) {
  return run && run->low && run->high ? format_seconds(*run->low) + " to " + format_seconds(*run->high) : "-";
}

}  // namespace

void RecordDiff::add(const Record& record, std::size_t side) {
  const bool timed = record.seconds && *record.seconds > 0;
  if (!timed && !record.failure) return;
  Times& times = times_[{record.workload, record.schedule, record.executor, record.machine}][side];
  if (!timed) {
    times.failed = true;
    return;
  }
  const bool first = times.medians.empty();
  const auto wider = [&](std::optional<double>& bound, const std::optional<double>& other, auto choose) {
    // A record without percentiles leaves the spread of all unknown.
    bound = first ? other : (bound && other ? std::optional(choose(*bound, *other)) : std::nullopt);
  };
  times.medians.push_back(*record.seconds);
  wider(times.run.low, record.seconds_p20, [](double a, double b) { return std::min(a, b); });
  wider(times.run.high, record.seconds_p80, [](double a, double b) { return std::max(a, b); });
  const std::int64_t samples = record.samples.value_or(0);
  times.run.samples = first ? samples : std::min(times.run.samples, samples);
}

std::optional<RunTime> RecordDiff::whole(const Times& times) {
  if (!times.there()) return std::nullopt;
  if (times.medians.empty()) return RunTime{};
  RunTime run = times.run;
  run.seconds = base::quantile(times.medians, 0.5);
  return run;
}

std::vector<RecordChange> RecordDiff::changes(double tolerance) const {
  std::vector<RecordChange> all;
  all.reserve(times_.size());
  for (const auto& [names, sides] : times_) {
    RecordChange one{names[0], names[1], names[2], names[3], Change::same, whole(sides[0]), whole(sides[1]), {}};
    if (one.before && one.after && one.before->seconds && one.after->seconds) {
      one.ratio = *one.after->seconds / *one.before->seconds;
    }
    one.change = judged(one, tolerance);
    all.push_back(std::move(one));
  }
  return all;
}

bool is_regression(Change change) {
  return change == Change::slower || change == Change::fails;
}

std::string to_json(const RecordChange& change) {
  using Json = nlohmann::ordered_json;
  Json json = {{"workload", change.workload},
               {"schedule", change.schedule},
               {"executor", change.executor},
               {"machine", change.machine},
               {"change", kChangeNames[static_cast<std::size_t>(change.change)]}};
  if (change.ratio) json["ratio"] = *change.ratio;
  if (change.before) json["before"] = run_json(*change.before);
  if (change.after) json["after"] = run_json(*change.after);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string change_table(const std::vector<RecordChange>& changes) {
  Table table{{{"workload"},
               {"schedule"},
               {"executor"},
               {"machine"},
               {"change"},
               {"before", Align::right},
               {"after", Align::right},
               {"after / before", Align::right},
               {"p20 to p80 before", Align::right},
               {"after", Align::right}},
              {}};
  std::array<std::int64_t, kChangeNames.size()> counts = {};
  for (const RecordChange& one : changes) {
    ++counts[static_cast<std::size_t>(one.change)];
    if (one.change == Change::same) continue;
    table.rows.push_back({one.workload, one.schedule, one.executor, one.machine,
                          std::string(kChangeNames[static_cast<std::size_t>(one.change)]), run_words(one.before),
                          run_words(one.after), one.ratio ? fmt::format("{:.3f}", *one.ratio) : "-",
                          spread_words(one.before), spread_words(one.after)});
  }
  std::string line;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    line += fmt::format("{}{} {}", i == 0 ? "" : ", ", counts[i], kChangeNames[i]);
  }
  return (table.rows.empty() ? "" : to_text(table) + '\n') + line + '\n';
}

}  // namespace splitwave::reports
