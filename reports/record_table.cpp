// SPDX-License-Identifier: Apache-2.0
#include "reports/record_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/table.h"

namespace splitwave::reports {
namespace {

template <typename Value, typename Format>
std::string or_dash(const std::optional<Value>& value, Format format) {
  return value ? format(*value) : "-";
}

std::string whole_number(std::int64_t value) {
  return fmt::format("{}", value);
}

std::string repeat_words(const RecordRepeat& repeat) {
  return repeat.differing == 0 ? fmt::format("{}, bitwise equal", repeat.runs)
                               : fmt::format("{} of {} differ", repeat.differing, repeat.runs);
}

std::string error_text(const RecordError& error) {
  return fmt::format("{:.1e}", error.relative_l2);
}

/// What a table of records shows besides the plan.
struct Shown {
  bool measured = false;
  bool sampled = false;  ///< a part was computed, and nothing timed
  bool repeated = false;
  bool energy = false;
};

Shown shown_of(std::span<const Record> records) {
  Shown shown;
  for (const Record& record : records) {
    shown.measured |= record.samples.has_value();
    shown.sampled |= record.sampled_groups.has_value();
    shown.repeated |= record.repeat.has_value();
    shown.energy |= record.joules.has_value();
  }
  return shown;
}

std::vector<Column> columns(const Shown& shown) {
  std::vector<std::string> titles = {"splits", "CTAs", "waves"};
  if (shown.sampled) {
    titles.insert(titles.end(), {"KV heads computed", "relative L2 error"});
  } else if (shown.measured) {
    titles.insert(titles.end(), {"median", "bandwidth", "p20", "p80", "samples", "relative L2 error"});
  } else {
    titles.insert(titles.end(), {"predicted", "bandwidth", "occupancy"});
  }
  std::vector<Column> all = {{"workload"}, {"machine"}, {"schedule"}};
  for (const std::string& title : titles) all.push_back({title, Align::right});
  if (shown.repeated) all.push_back({"repeated runs"});
  if (shown.energy) all.push_back({"energy", Align::right});
  return all;
}

std::vector<std::string> cells(const Record& record, const Shown& shown) {
  std::vector<std::string> row = {record.workload,
                                  record.machine,
                                  schedule_words(record),
                                  or_dash(record.num_splits, whole_number),
                                  or_dash(record.ctas, whole_number),
                                  or_dash(record.waves, [](double value) { return fmt::format("{:.2f}", value); })};
  if (shown.sampled) {
    row.push_back(or_dash(record.sampled_groups, whole_number));
    row.push_back(or_dash(record.error, error_text));
  } else {
    row.push_back(or_dash(record.seconds, format_seconds));
    row.push_back(or_dash(record.bytes_per_second, format_bandwidth));
    if (shown.measured) {
      row.push_back(or_dash(record.seconds_p20, format_seconds));
      row.push_back(or_dash(record.seconds_p80, format_seconds));
      row.push_back(or_dash(record.samples, whole_number));
      row.push_back(or_dash(record.error, error_text));
    } else {
      row.push_back(or_dash(record.occupancy, format_percent));
    }
  }
  if (shown.repeated) row.push_back(or_dash(record.repeat, repeat_words));
  if (shown.energy) row.push_back(or_dash(record.joules, format_joules));
  return row;
}

std::string failure_line(const Record& record) {
  return fmt::format("{} cannot run {}: {}\n", record.schedule, record.workload, *record.failure);
}

/// Three digits of an error, or a dash where it is not finite.
std::string error_words(double value) {
  return std::isfinite(value) ? fmt::format("{:.2e}", value) : "-";
}

}  // namespace

std::string record_table(std::span<const Record> records) {
  const Shown shown = shown_of(records);
  Table table{columns(shown), {}};
  std::string failures;
  for (const Record& record : records) {
    if (record.failure) {
      failures += failure_line(record);
    } else {
      table.rows.push_back(cells(record, shown));
    }
  }
  return to_text(table) + failures;
}

std::string algorithm_table(std::span<const Record> records) {
  Table table{{{"workload"},
               {"algorithm"},
               {"moved", Align::right},
               {"of least", Align::right},
               {"Q", Align::right},
               {"K and V", Align::right},
               {"scores", Align::right},
               {"output", Align::right},
               {"statistics", Align::right},
               {"partials", Align::right},
               {"median", Align::right},
               {"relative L2 error", Align::right}},
              {}};
  for (const Record& record : records) {
    if (!record.io) continue;
    const auto part = [](std::int64_t bytes) { return bytes == 0 ? "-" : format_bytes(bytes); };
    const RecordIo& io = *record.io;
    const double ratio =
        static_cast<double>(io.total()) / static_cast<double>(std::max<std::int64_t>(*record.bytes, 1));
    table.rows.push_back({record.workload, record.schedule, format_bytes(io.total()), format_factor(ratio), part(io.q),
                          part(io.kv), part(io.scores), part(io.output), part(io.statistics), part(io.partials),
                          or_dash(record.seconds, format_seconds), or_dash(record.error, error_text)});
  }
  return to_text(table);
}

std::string rounding_table(std::span<const Record> records) {
  Table table{{{"workload"},
               {"schedule"},
               {"splits", Align::right},
               {"rounding"},
               {"max error", Align::right},
               {"RMSE", Align::right},
               {"RMSE / RMS", Align::right},
               {"predicted RMSE", Align::right},
               {"measured / predicted", Align::right}},
              {}};
  std::string failures;
  for (const Record& record : records) {
    if (record.failure) failures += failure_line(record);
    if (!record.error || !record.rounding) continue;
    const RecordError& error = *record.error;
    const double predicted = error.predicted_rmse.value_or(0);
    table.rows.push_back(
        {record.workload, schedule_words(record), or_dash(record.num_splits, whole_number), *record.rounding,
         error_words(error.max_abs), error_words(error.rmse), error_words(error.relative_l2), error_words(predicted),
         predicted > 0 && std::isfinite(error.rmse) ? fmt::format("{:.2f}", error.rmse / predicted) : "-"});
  }
  return to_text(table) + failures;
}

}  // namespace splitwave::reports
