// SPDX-License-Identifier: Apache-2.0
#include "reports/markdown_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
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

bool has_energy(const Record* record) {
  return record != nullptr && record->joules.has_value();
}
std::string energy_cell(const Record* record) {
  return has_energy(record) ? format_joules(*record->joules) : kNone;
}
std::string two_digits(double value) {
  return fmt::format("{:.2f}", value);
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

/// One row a workload and one column a schedule, both in the order of the records.
std::string matrix(const std::vector<Row>& rows, const std::function<std::string(const Row&)>& words) {
  Table table{{{"workload"}}, {}};
  std::map<std::string, std::size_t> columns;
  std::map<std::string, std::size_t> lines;
  for (const Row& row : rows) {
    const bool added = columns.emplace(row.any().schedule, table.columns.size()).second;
    if (added) table.columns.push_back({row.any().schedule, Align::right});
  }
  for (const Row& row : rows) {
    const auto [found, added] = lines.emplace(row.any().workload, table.rows.size());
    if (added) {
      table.rows.emplace_back(table.columns.size(), kNone);
      table.rows.back().front() = row.any().workload;
    }
    table.rows[found->second][columns.at(row.any().schedule)] = words(row);
  }
  return to_markdown(table);
}

/// "1.20 ms (-25.0 %), 0.92x": the measured time, what the predicted one is off by, and the measured speed-up; a
/// predicted time alone where nothing was measured. What `auto` took stands behind.
std::string time_words(const Row& row, const Baseline& baseline, const std::string& baseline_name) {
  const Record& record = row.measured != nullptr ? *row.measured : *row.predicted;
  if (record.failure) return "cannot run";
  std::string words = cell(record.seconds, format_seconds);
  if (row.measured != nullptr && row.predicted != nullptr && row.predicted->seconds && *record.seconds > 0) {
    words += fmt::format(" ({})", signed_percent(Pair{row.predicted, row.measured}.relative_error()));
  }
  const std::optional<double> factor = baseline.speed_up(record);
  if (factor && record.schedule != baseline_name) words += ", " + format_factor(*factor);
  if (record.chosen) words += ": " + *record.chosen;
  return words;
}

/// "0.75 J (+3.0 %)".
std::string energy_words(const Row& row) {
  const bool both = row.predicted != nullptr && row.measured != nullptr;
  const std::optional<double> error = both ? Pair{row.predicted, row.measured}.energy_error() : std::nullopt;
  const std::string words = energy_cell(row.measured != nullptr ? row.measured : row.predicted);
  return error ? fmt::format("{} ({})", words, signed_percent(*error)) : words;
}

/// Why points cannot run: a line a schedule and reason.
std::string failures(const std::vector<Row>& rows) {
  std::map<std::pair<std::string, std::string>, std::int64_t> counts;
  for (const Row& row : rows) {
    for (const Record* record : {row.predicted, row.measured}) {
      if (record == nullptr || !record->failure) continue;
      ++counts[{record->schedule, *record->failure}];
      break;
    }
  }
  std::string text = counts.empty() ? "" : "\n";
  for (const auto& [what, workloads] : counts) {
    text += fmt::format("- {} cannot run {} workload{}: {}\n", markdown_text(what.first), workloads,
                        workloads == 1 ? "" : "s", markdown_text(what.second));
  }
  return text;
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

std::string machine_sections(std::span<const Record> records, const std::string& baseline) {
  std::string text;
  for (const std::string& machine : machines(records)) {
    const bool measured = std::any_of(records.begin(), records.end(), [&](const Record& record) {
      return record.machine == machine && record.executor != kSimulator;
    });
    text +=
        fmt::format("\n## {}: {}\n\n{}", markdown_text(machine), measured ? "predicted against measured" : "predicted",
                    machine_table(records, machine, baseline));
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

std::string machine_table(std::span<const Record> records, const std::string& machine,
                          const std::string& baseline_name) {
  const Baseline baseline(records, baseline_name);
  const std::vector<Row> rows = rows_of(records, machine);
  const auto any = [&](auto holds) { return std::any_of(rows.begin(), rows.end(), holds); };
  const bool measured = any([](const Row& row) { return row.measured != nullptr; });
  const char* const brackets = measured ? " (in brackets what the predicted one is off by)" : "";
  const char* const what = measured ? "Measured" : "Predicted";
  std::string text = fmt::format(
      "{} time{}, and speed-up over {}.\n\n{}{}", what, brackets, markdown_text(baseline_name),
      matrix(rows, [&](const Row& row) { return time_words(row, baseline, baseline_name); }), failures(rows));
  if (any([&](const Row& row) { return has_energy(measured ? row.measured : row.predicted); })) {
    text += fmt::format("\n{} energy of a call{}.\n\n{}", what, brackets, matrix(rows, energy_words));
  }
  return text;
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
