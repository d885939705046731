// SPDX-License-Identifier: Apache-2.0
#include "studies/measured_h200.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <stdexcept>

#include "base/embedded_file.h"
#include "base/quantile.h"
#include "base/text.h"
#include "reports/markdown_report.h"
#include "reports/statistics.h"
#include "reports/table.h"

namespace splitwave::studies {

std::span<const base::EmbeddedFile> h200_files();

namespace {

constexpr std::string_view kHeader = "workload,schedule,predicted_us,measured_us";

double seconds_of(std::string_view text, std::string_view line) {
  const std::optional<double> microseconds = base::number_in(text);
  if (!microseconds || *microseconds <= 0) throw std::logic_error("h200_points: bad line: " + std::string(line));
  return *microseconds * 1e-6;
}

/// The predicted and the measured record of a line.
std::array<reports::Record, 2> records_of(std::string_view line) {
  std::array<std::string_view, 4> cells;
  std::string_view rest = line;
  for (std::string_view& cell : cells) {
    const std::size_t comma = rest.find(',');
    cell = rest.substr(0, comma);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  std::array<reports::Record, 2> records;
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].workload = cells[0];
    records[i].schedule = cells[1];
    records[i].executor = i == 0 ? reports::kSimulator : "cuda";
    records[i].machine = "h200";
    records[i].seconds = seconds_of(cells[2 + i], line);
  }
  return records;
}

std::vector<std::string> schedules_of(const std::vector<reports::Record>& records) {
  std::vector<std::string> names;
  for (const reports::Record& record : records) {
    if (std::find(names.begin(), names.end(), record.schedule) == names.end()) names.push_back(record.schedule);
  }
  return names;
}

/// Geometric mean of the speed-ups of one schedule by one executor.
std::string mean_speed_up(const std::vector<reports::ScheduleSummary>& summaries, const std::string& schedule,
                          std::string_view executor) {
  const auto found = std::find_if(summaries.begin(), summaries.end(), [&](const reports::ScheduleSummary& one) {
    return one.schedule == schedule && one.executor == executor;
  });
  return found == summaries.end() ? "–" : reports::format_factor(found->geometric_mean);
}

reports::Table schedule_table(const MeasuredH200& measured, const std::string& baseline) {
  reports::Table table{{{"schedule"},
                        {"points", reports::Align::right},
                        {"median error", reports::Align::right},
                        {"speed-up over " + baseline + ": predicted", reports::Align::right},
                        {"measured", reports::Align::right}},
                       {}};
  const std::vector<reports::ScheduleSummary> summaries = reports::summarize(measured.records, baseline);
  const std::vector<reports::Pair> pairs = reports::pair_up(measured.records);
  for (const std::string& schedule : schedules_of(measured.records)) {
    std::vector<double> errors;
    for (const reports::Pair& pair : pairs) {
      if (pair.measured->schedule == schedule) errors.push_back(std::abs(pair.relative_error()));
    }
    table.rows.push_back(
        {schedule, fmt::format("{}", errors.size()), reports::format_percent(base::quantile(errors, 0.5)),
         mean_speed_up(summaries, schedule, reports::kSimulator), mean_speed_up(summaries, schedule, "cuda")});
  }
  return table;
}

}  // namespace

MeasuredH200 measured_h200() {
  return parse_measured_h200(h200_files().front().text);
}

MeasuredH200 parse_measured_h200(std::string_view text) {
  MeasuredH200 measured;
  bool header = false;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with("# ")) {
      measured.origin = line.substr(2);  // the last such line
    } else if (!header) {
      header = line == kHeader;
      if (!header) throw std::logic_error("h200_points: bad header: " + std::string(line));
    } else {
      for (reports::Record& record : records_of(line)) measured.records.push_back(std::move(record));
    }
  }
  if (measured.records.empty()) throw std::logic_error("h200_points: no points");
  return measured;
}

std::string h200_summary(const MeasuredH200& measured, const std::string& baseline) {
  std::string text = fmt::format("The same suite, measured on an H200 ({}):\n\n{}\n", measured.origin,
                                 reports::to_text(schedule_table(measured, baseline)));
  for (const std::string& line : reports::summary_lines(measured.records, baseline)) text += line + '\n';
  return text;
}

std::string h200_section(const MeasuredH200& measured, const std::string& baseline) {
  std::string text = fmt::format(
      "\n## Measured on an H200\n\nNot of this run: the same suite by splitwave's CUDA kernels, checked in with the "
      "source. {}. The predictions are that commit's, for the kernel that ran each plan; those of the sections above "
      "are "
      "for each schedule's own library.\n\n",
      measured.origin);
  for (const std::string& line : reports::summary_lines(measured.records, baseline)) text += "- " + line + '\n';
  return text + '\n' + reports::to_markdown(schedule_table(measured, baseline)) + '\n' +
         reports::machine_table(measured.records, "h200", baseline);
}

}  // namespace splitwave::studies
