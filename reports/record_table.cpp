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

std::string failure_line(const Record& record) {
  return fmt::format("{} cannot run {}: {}\n", record.schedule, record.workload, *record.failure);
}

/// Three digits of an error, or a dash where it is not finite.
std::string error_words(double value) {
  return std::isfinite(value) ? fmt::format("{:.2e}", value) : "-";
}

}  // namespace

std::string record_table(std::span<const Record> records) {
  const bool measured =
      std::any_of(records.begin(), records.end(), [](const Record& record) { return record.samples.has_value(); });
  const bool energy =
      std::any_of(records.begin(), records.end(), [](const Record& record) { return record.joules.has_value(); });
  Table table{{{"workload"},
               {"machine"},
               {"schedule"},
               {"splits", Align::right},
               {"CTAs", Align::right},
               {"waves", Align::right},
               {measured ? "median" : "predicted", Align::right},
               {"bandwidth", Align::right}},
              {}};
  if (measured) {
    table.columns.push_back({"p20", Align::right});
    table.columns.push_back({"p80", Align::right});
    table.columns.push_back({"samples", Align::right});
    table.columns.push_back({"relative L2 error", Align::right});
  } else {
    table.columns.push_back({"occupancy", Align::right});
  }
  if (energy) table.columns.push_back({"energy", Align::right});
  std::string failures;
  for (const Record& record : records) {
    if (record.failure) {
      failures += failure_line(record);
      continue;
    }
    std::vector<std::string> row = {record.workload,
                                    record.machine,
                                    schedule_words(record),
                                    or_dash(record.num_splits, whole_number),
                                    or_dash(record.ctas, whole_number),
                                    or_dash(record.waves, [](double value) { return fmt::format("{:.2f}", value); }),
                                    or_dash(record.seconds, format_seconds),
                                    or_dash(record.bytes_per_second, format_bandwidth)};
    if (measured) {
      row.push_back(or_dash(record.seconds_p20, format_seconds));
      row.push_back(or_dash(record.seconds_p80, format_seconds));
      row.push_back(or_dash(record.samples, whole_number));
      row.push_back(record.error ? fmt::format("{:.1e}", record.error->relative_l2) : "-");
    } else {
      row.push_back(or_dash(record.occupancy, format_percent));
    }
    if (energy) row.push_back(or_dash(record.joules, format_joules));
    table.rows.push_back(std::move(row));
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
                          or_dash(record.seconds, format_seconds),
                          record.error ? fmt::format("{:.1e}", record.error->relative_l2) : "-"});
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
