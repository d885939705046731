// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/options.h"
#include "cli/output.h"
#include "studies/report.h"
#include "studies/reproduction/page.h"
#include "workloads/load.h"

namespace splitwave::cli {
namespace {

struct ReportCommand {
  studies::ReportRequest request;
  std::vector<std::string> columns;
  std::string workloads;
  std::string out;
  bool reproduce = false;
  bool json = false;
};

/// The command line that makes the same report again, without --figure and --out, which are the caller's.
std::string command_line(const ReportCommand& options) {
  std::string line = "splitwave report";
  for (const std::string& file : options.request.files) line += " " + base::shell_word(file);
  for (const std::string& column : options.columns) line += " --column " + base::shell_word(column);
  if (!options.workloads.empty()) line += " --workloads " + base::shell_word(options.workloads);
  if (!options.request.baseline.empty()) line += " --baseline " + base::shell_word(options.request.baseline);
  if (options.request.read.strict) line += " --strict";
  return line;
}

std::string to_json(const studies::ReportResult& result) {
  nlohmann::ordered_json json = {{"page", result.page.string()}, {"figures", result.figures}};
  for (const auto& file : result.read.files) {
    json["files"].push_back({{"name", file.name}, {"records", file.records}});
  }
  json["left_out"] = result.read.skipped_lines;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

int report(const ReportCommand& command) {
  if (command.reproduce != command.request.files.empty()) {
    throw base::InputError(command.reproduce ? "report --reproduce: files are given too; allowed: one of them"
                                             : "report: no files are given; allowed: files of records, or --reproduce");
  }
  studies::ReportRequest request = command.request;
  for (const std::string& column : command.columns) request.read.columns.keys.push_back(reports::parse_column(column));
  if (!command.workloads.empty()) request.workloads = workloads::load(command.workloads);
  request.command = command_line(command);
  const std::tm now = fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
  request.date = fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", now);
  const std::string out = command.out.empty() ? fmt::format("out/report-{:%Y-%m-%dT%H%M%S}Z", now) : command.out;
  const studies::ReportResult result =
      command.reproduce ? reproduction::write_reproduction_page(request.date, "splitwave report --reproduce", out)
                        : studies::write_report_page(request, out);
  constexpr std::size_t kMostTold = 10;
  for (std::size_t i = 0; i < std::min(kMostTold, result.read.skipped.size()); ++i) {
    const reports::SkippedLine& line = result.read.skipped[i];
    note(fmt::format("left out: {}: line {}: {}", line.file, line.line, line.reason));
  }
  if (result.read.skipped_lines > static_cast<std::int64_t>(kMostTold)) {
    note(fmt::format("left out: {} lines in all; the page lists them", result.read.skipped_lines));
  }
  std::int64_t records = 0;
  for (const auto& file : result.read.files) records += file.records;
  const std::string what = command.reproduce ? "the papers' claims" : fmt::format("{} records", records);
  if (command.json) {
    print(to_json(result) + '\n');
  } else {
    print(fmt::format("{}, {} figures: {}\n", what, result.figures.size(), base::plain_line(result.page.string())));
  }
  if (!result.note.empty()) note(result.note);
  return result.no_program ? kMissing : kGood;
}

}  // namespace

void add_report(CLI::App& program, int& status) {
  const auto options = std::make_shared<ReportCommand>();
  CLI::App* verb =
      program.add_subcommand("report", "Draw records, predicted, measured or foreign, as a page with figures");
  verb->footer(
      "  splitwave report out/mine/records.jsonl\n"
      "  splitwave report predicted.jsonl measured.jsonl --baseline fa2 --out out/page\n"
      "  splitwave report times.csv --column 'schedule={kernel}' --column 'seconds={latency_us}*1e-6'\n"
      "  splitwave report --reproduce --out out/papers");
  verb->add_option("files", options->request.files, "records: JSON Lines (docs/records.md), or CSV")
      ->type_name("FILE...");
  verb->add_flag("--reproduce", options->reproduce,
                 "instead of files: the papers' claims, predicted, published and measured");
  add_out_option(*verb, options->out, "folder for report.html and figures/; out/report-<UTC time> if not given");
  verb->add_option("--baseline", options->request.baseline,
                   "schedule that speed-ups are relative to; if not given fixed-split:fa2 where it was timed, else the "
                   "first other fixed-split, else the first of all")
      ->type_name("SCHEDULE");
  verb->add_option("--figure", options->request.figures,
                   "only these figures (docs/reports.md); all that the records allow")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("A,B,...");
  verb->add_option(
          "--column", options->columns,
          "of CSV files: a record's key from columns in braces, numbers with an optional *FACTOR (docs/reports.md)")
      ->allow_extra_args(false)
      ->type_name("KEY=TEMPLATE");
  verb->add_option("--workloads", options->workloads,
                   "file of workloads whose names the records use, where they are no specs and of no shipped suite")
      ->type_name("FILE|NAME");
  verb->add_option("--title", options->request.title, "title of the page")->type_name("TEXT");
  verb->add_flag("--strict", options->request.read.strict,
                 "refuse files with a line that is no record, or that came before");
  add_json_option(*verb, options->json, "the page, the figures and how many records came of which file");
  verb->callback([options, &status] { status = report(*options); });
}

}  // namespace splitwave::cli
