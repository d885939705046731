// SPDX-License-Identifier: Apache-2.0
#include "reports/markdown_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "reports/statistics.h"
#include "reports/table.h"

namespace splitwave::reports {
namespace {

/// What a table says where a figure does not apply.
constexpr const char* kNone = "–";

template <typename Value, typename Format>
std::string cell(const std::optional<Value>& value, Format format) {
  return value ? format(*value) : kNone;
}

std::string count(std::int64_t value) {
  return fmt::format("{}", value);
}
bool has_energy(const Record* record) {
  return record != nullptr && record->joules.has_value();
}
std::string energy_cell(const Record* record) {
  return has_energy(record) ? format_joules(*record->joules) : kNone;
}
std::string two_digits(double value) {
  return fmt::format("{:.2f}", value);
}
std::string scientific(double value) {
  return fmt::format("{:.1e}", value);
}
std::string signed_percent(double ratio) {
  return fmt::format("{:+.1f} %", ratio * 100);
}

/// The predicted and the measured record of one workload and schedule on one machine; either may be missing.
struct Row {
  const Record* predicted = nullptr;
  const Record* measured = nullptr;
  const Record& any() const { return predicted != nullptr ? *predicted : *measured; }
};

/// Rows of one machine, in the order of the records.
std::vector<Row> rows_of(std::span<const Record> records, const std::string& machine) {
  std::vector<Row> rows;
  std::map<std::pair<std::string, std::string>, std::size_t> index;
  for (const Record& record : records) {
    if (record.machine != machine) {
      continue;
    }
    const auto [found, added] = index.emplace(std::pair{record.workload, record.schedule}, rows.size());
    if (added) {
      rows.emplace_back();
    }
    Row& row = rows[found->second];
    (record.executor == kSimulator ? row.predicted : row.measured) = &record;
  }
  return rows;
}

std::vector<std::string> machines(std::span<const Record> records) {
  std::vector<std::string> names;
  for (const Record& record : records) {
    if (std::find(names.begin(), names.end(), record.machine) == names.end()) {
      names.push_back(record.machine);
    }
  }
  return names;
}

std::vector<std::string> plan_cells(const Record& record) {
  return {cell(record.num_splits, count), cell(record.ctas, count), cell(record.waves, two_digits)};
}

Table predicted_table(const std::vector<Row>& rows, const Baseline& baseline, const std::string& baseline_name) {
  Table table{{{"workload"},
               {"schedule"},
               {"splits", Align::right},
               {"CTAs", Align::right},
               {"waves", Align::right},
               {"predicted", Align::right},
               {"bandwidth", Align::right},
               {"speed-up over " + baseline_name, Align::right}},
              {}};
  const bool energy = std::any_of(rows.begin(), rows.end(), [](const Row& row) { return has_energy(row.predicted); });
  if (energy) table.columns.push_back({"energy", Align::right});
  for (const Row& row : rows) {
    const Record& record = row.any();
    std::vector<std::string> cells = {record.workload, schedule_words(record)};
    for (std::string& text : plan_cells(record)) {
      cells.push_back(std::move(text));
    }
    cells.push_back(record.failure ? "cannot run: " + *record.failure : cell(record.seconds, format_seconds));
    cells.push_back(cell(record.bytes_per_second, format_bandwidth));
    cells.push_back(cell(baseline.speed_up(record), format_factor));
    if (energy) cells.push_back(energy_cell(&record));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// Predicted and measured energy, and the error.
std::vector<std::string> energy_cells(const Row& row) {
  const bool both = row.predicted != nullptr && row.measured != nullptr;
  const std::optional<double> error = both ? Pair{row.predicted, row.measured}.energy_error() : std::nullopt;
  return {energy_cell(row.predicted), energy_cell(row.measured), cell(error, signed_percent)};
}

std::string failure_or_time(const Record* record) {
  if (record == nullptr) {
    return kNone;
  }
  return record->failure ? "cannot run: " + *record->failure : cell(record->seconds, format_seconds);
}

/// The interval of a speed-up from runs in pairs, in brackets.
std::string interval(const Record* record) {
  if (record == nullptr || !record->speed_up) {
    return "";
  }
  return fmt::format(" ({} to {})", format_factor(record->speed_up->low), format_factor(record->speed_up->high));
}

Table measured_table(const std::vector<Row>& rows, const Baseline& baseline, const std::string& baseline_name) {
  Table table{{{"workload"},
               {"schedule"},
               {"splits", Align::right},
               {"CTAs", Align::right},
               {"waves", Align::right},
               {"predicted", Align::right},
               {"measured", Align::right},
               {"error", Align::right},
               {"speed-up over " + baseline_name + ": predicted", Align::right},
               {"measured", Align::right},
               {"bandwidth", Align::right},
               {"relative L2 error", Align::right}},
              {}};
  const bool energy = std::any_of(rows.begin(), rows.end(), [](const Row& row) { return has_energy(row.measured); });
  if (energy) {
    for (const char* title : {"energy: predicted", "measured", "error"}) table.columns.push_back({title, Align::right});
  }
  for (const Row& row : rows) {
    std::vector<std::string> cells = {row.any().workload, schedule_words(row.any())};
    for (std::string& text : plan_cells(row.any())) {
      cells.push_back(std::move(text));
    }
    const bool both = row.predicted != nullptr && row.measured != nullptr && row.predicted->seconds &&
                      row.measured->seconds && *row.measured->seconds > 0;
    const auto factor = [&](const Record* record) {
      return record == nullptr ? kNone : cell(baseline.speed_up(*record), format_factor);
    };
    cells.push_back(failure_or_time(row.predicted));
    cells.push_back(failure_or_time(row.measured));
    cells.push_back(both ? signed_percent(Pair{row.predicted, row.measured}.relative_error()) : kNone);
    cells.push_back(factor(row.predicted));
    cells.push_back(factor(row.measured) + interval(row.measured));
    cells.push_back(row.measured == nullptr ? kNone : cell(row.measured->bytes_per_second, format_bandwidth));
    cells.push_back(row.measured == nullptr || !row.measured->error ? kNone
                                                                    : scientific(row.measured->error->relative_l2));
    if (energy) {
      for (std::string& text : energy_cells(row)) cells.push_back(std::move(text));
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// One row per schedule, one column per executor and machine: geometric mean of the speed-ups (least to most).
std::string schedule_table(std::span<const Record> records, const std::string& baseline) {
  Table table{{{"schedule"}}, {}};
  std::vector<std::string> series;
  std::vector<std::string> schedules;
  std::map<std::pair<std::string, std::string>, std::string> cells;
  for (const ScheduleSummary& summary : summarize(records, baseline)) {
    const std::string title =
        (summary.executor == kSimulator ? "predicted, " : "measured by " + summary.executor + ", ") + summary.machine;
    if (std::find(series.begin(), series.end(), title) == series.end()) {
      series.push_back(title);
      table.columns.push_back(Column{title, Align::right});
    }
    if (std::find(schedules.begin(), schedules.end(), summary.schedule) == schedules.end()) {
      schedules.push_back(summary.schedule);
    }
    cells[{summary.schedule, title}] = fmt::format("{} ({} to {})", format_factor(summary.geometric_mean),
                                                   format_factor(summary.least), format_factor(summary.most));
  }
  for (const std::string& schedule : schedules) {
    std::vector<std::string> row = {schedule};
    for (const std::string& title : series) {
      const auto found = cells.find({schedule, title});
      row.push_back(found == cells.end() ? kNone : found->second);
    }
    table.rows.push_back(std::move(row));
  }
  return to_markdown(table);
}

std::string machine_sections(std::span<const Record> records, const std::string& baseline_name) {
  const Baseline baseline(records, baseline_name);
  std::string text;
  for (const std::string& machine : machines(records)) {
    const std::vector<Row> rows = rows_of(records, machine);
    const bool measured = std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.measured != nullptr; });
    text +=
        fmt::format("\n## {}: {}\n\n{}", markdown_text(machine), measured ? "predicted against measured" : "predicted",
                    to_markdown(measured ? measured_table(rows, baseline, baseline_name)
                                         : predicted_table(rows, baseline, baseline_name)));
  }
  return text;
}

/// What repeated runs, and probes between them, say of the machine; empty if there are none.
std::string noise_line(const Noise& seen) {
  if (seen.plans == 0) return "";
  std::string text =
      fmt::format("The machine's own noise: repeated runs of a plan differ by {}", format_percent(seen.run_spread));
  if (seen.probed > 0) {
    text += fmt::format(", the reads between them by {}, tiles in cache by {}", format_percent(seen.read_spread),
                        format_percent(seen.tile_spread));
  }
  text += " (20th to 80th percentile; median over the plans)";
  if (seen.interrupted > 0) {
    text += fmt::format("; {} runs that other processes interrupted were repeated", seen.interrupted);
  }
  return text + '.';
}

std::string sign_line(const Agreement& result, const std::string& baseline) {
  const bool pairs = result.paired_speed_ups > 0;
  const std::string clear = pairs ? "outside the noise (95 % interval of runs in pairs on one side of 1, and more than "
                                    "2 % away from it)"
                                  : "more than 2 % away from 1";
  if (result.clear_speed_ups == 0) return fmt::format("No measured speed-up over {} is {}.", baseline, clear);
  return fmt::format("Of {} measured speed-ups over {} that are {}, {} were predicted on the right side of 1.",
                     result.clear_speed_ups, baseline, clear, format_percent(result.same_sign));
}

}  // namespace

std::vector<std::string> summary_lines(std::span<const Record> records, const std::string& baseline) {
  const Agreement result = agreement(records, baseline);
  if (result.points == 0) {
    return {"Nothing was measured here, so the predictions are not checked against a clock."};
  }
  std::vector<std::string> lines = {
      fmt::format("Predicted against measured, {} points: median error {}, p90 error {}; {} are within 10 %.",
                  result.points, format_percent(result.median_error), format_percent(result.p90_error),
                  format_percent(result.within_10_percent)),
      fmt::format("Predictions are {} times the measured times (geometric mean; 1 is no bias).",
                  two_digits(result.geometric_mean_ratio))};
  if (const EnergyAgreement energy = energy_agreement(records); energy.points > 0) {
    lines.push_back(fmt::format("Their energy, {} points: median error {}, p90 error {}; {} are within 10 %.",
                                energy.points, format_percent(energy.median_error), format_percent(energy.p90_error),
                                format_percent(energy.within_10_percent)));
  }
  const std::string noise_words = noise_line(noise(records));
  if (!noise_words.empty()) lines.push_back(noise_words);
  lines.push_back(sign_line(result, baseline));
  if (result.same_plans > 0) {
    lines.push_back(fmt::format(
        "A check of that noise: {} of the {} paired speed-ups set the baseline's plan against itself; {} of them came "
        "out outside the noise.",
        result.same_plans, result.paired_speed_ups, result.clear_same_plans));
  }
  return lines;
}

std::string markdown_report(std::span<const Record> records, const ReportContext& context) {
  std::string text = fmt::format("# {}\n\n## Summary\n\n", markdown_text(context.title));
  if (!context.check.empty()) {
    text += "- " + markdown_text(context.check) + '\n';
  }
  for (const std::string& line : summary_lines(records, context.baseline)) {
    text += "- " + markdown_text(line) + '\n';
  }
  text += fmt::format("\n## Speed-up over {} by schedule\n\nGeometric mean over the workloads (least to most).\n\n{}",
                      markdown_text(context.baseline), schedule_table(records, context.baseline));
  if (!context.picture_note.empty()) {
    text += '\n' + markdown_text(context.picture_note) + '\n';
  }
  for (const auto& [title, path] : context.pictures) {
    text += fmt::format("\n![{}]({})\n", title, path);
  }
  Table environment{{{"what"}, {"value"}}, {}};
  for (const auto& [key, value] : context.environment) {
    environment.rows.push_back({key, value});
  }
  text += "\n## Environment\n\n" + to_markdown(environment);
  return text + machine_sections(records, context.baseline);
}

}  // namespace splitwave::reports
