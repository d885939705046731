// SPDX-License-Identifier: Apache-2.0
// A report of records from files or at hand: a page, its figures, and how they came about.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reports/dataset.h"
#include "reports/figures.h"
#include "reports/page.h"
#include "reports/read_records.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// Throws InputError if a page cannot be written into the folder, or if one is there: what takes long asks first.
void expect_place_for_page(const std::filesystem::path& folder);

/// What a report is made of.
struct ReportRequest {
  std::vector<std::string> files;  ///< of records
  reports::ReadOptions read;
  std::vector<workloads::Workload>
      workloads;                     ///< whose shapes names in the records stand for, besides suites and specs
  std::string baseline;              ///< empty: reports::default_baseline
  std::vector<std::string> figures;  ///< names; empty: all
  std::string title;                 ///< empty: "splitwave report"
  std::string date;                  ///< for the page's top; empty: none is told
  std::string command;               ///< the command line, without --figure
};

/// How a report went.
struct ReportResult {
  std::filesystem::path page;
  reports::ReadSummary read;
  std::vector<std::string> figures;    ///< names
  std::vector<reports::Figure> drawn;  ///< those that have an SVG
  std::string note;                    ///< one line: what was not drawn and why; empty if all was
  bool no_program = false;             ///< the build left out the program that draws
};

/// Reads the files and writes FOLDER/report.html and FOLDER/figures. Throws InputError as read_records() does, if there
/// is no such figure or baseline, or if a file cannot be written or is there already.
ReportResult write_report_page(const ReportRequest& request, const std::filesystem::path& folder);

/// Writes the page and the figures of a dataset; `facts` stand at the page's top.
ReportResult write_page(const reports::Dataset& data, const ReportRequest& request, reports::ReadSummary read,
                        std::vector<std::pair<std::string, std::string>> facts, const std::filesystem::path& folder);

/// Writes FOLDER/report.html and FOLDER/figures of figures that are made already. Throws InputError if they cannot be
/// written or are there already.
ReportResult write_page_of(const reports::Dataset& data, const reports::FigureSet& figures,
                           reports::PageContext context, const std::filesystem::path& folder);

/// Writes the records of a file of JSON Lines, however many, as CSV (docs/records.md) to a new file. Throws InputError
/// if one cannot be read or written.
void write_records_csv(const std::string& from, const std::filesystem::path& to, int threads);

/// Peaks of the dataset's machines, of those that are shipped; what their names override is taken into account. None
/// where what they override is no machine ("h200 (sms=nan)").
std::map<std::string, reports::MachinePeaks> peaks_of(const reports::Dataset& data);

}  // namespace splitwave::studies
