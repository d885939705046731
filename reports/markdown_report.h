// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reports/record.h"

namespace splitwave::reports {

/// What a report says besides its records.
struct ReportContext {
  std::string title;
  std::string baseline;  ///< schedule that speed-ups are relative to
  /// Facts about the run in order: date, commit, processor, how it was timed ("Date", "2026-01-02 03:04:05 UTC").
  std::vector<std::pair<std::string, std::string>> environment;
  /// How the check against the oracle went, one sentence; empty if nothing was run.
  std::string check;
  /// Pictures as (title, path relative to the report); empty if there are none.
  std::vector<std::pair<std::string, std::string>> pictures;
  std::string picture_note;  ///< why there are no pictures; empty if there are
};

/// How well the predictions of the records hold, in sentences of one line each: points, median and p90 error, bias,
/// direction of the speed-ups. One line that says so if nothing was measured.
std::vector<std::string> summary_lines(std::span<const Record> records, const std::string& baseline);

/// Of one machine's records in Markdown: a row a workload, a column a schedule, with the measured time, what the
/// predicted one is off by, and the speed-up over the baseline; below it why points cannot run, and a table of energy
/// where it is known.
std::string machine_table(std::span<const Record> records, const std::string& machine, const std::string& baseline);

/// The whole report in Markdown: summary, speed-up by schedule, pictures, environment, then each
/// machine's table. The rest of the points is in the records.
std::string markdown_report(std::span<const Record> records, const ReportContext& context);

}  // namespace splitwave::reports
