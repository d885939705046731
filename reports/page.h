// SPDX-License-Identifier: Apache-2.0
// A report as one HTML file that needs nothing else: figures, tables, and the program that makes them live.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/dataset.h"
#include "reports/draw_figures.h"
#include "reports/figures.h"
#include "reports/read_records.h"

namespace splitwave::reports {

/// Records that the page holds for its table; the others are in the files that it was made from.
inline constexpr std::size_t kMostPageRecords = 50'000;

/// Why schedules take their times on one workload and machine.
struct PageTimeline {
  std::string workload;
  std::string machine;
  std::string svg;  ///< who works when, a panel a schedule
  /// A headline ("lean: 65.7 µs") and the plain text below it, of each schedule.
  std::vector<std::pair<std::string, std::string>> schedules;
};

/// What a page says besides its records.
struct PageContext {
  std::string title;
  std::string baseline;
  /// Facts in order, for the top: what was read, date, commit, command.
  std::vector<std::pair<std::string, std::string>> facts;
  ReadSummary read;                          ///< lines that were left out are told
  std::vector<PageTimeline> timelines = {};  ///< stand before the table of records, whose rows link to them
  std::string drawing_note = {};             ///< one line if pictures are missing
};

/// The page. Texts are escaped; the page loads nothing and may send nothing. Without JavaScript it shows the drawn
/// figures and tables.
std::string page_html(const Dataset& data, const FigureSet& figures, const DrawnFigures& drawn,
                      const PageContext& context);

}  // namespace splitwave::reports
