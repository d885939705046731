// SPDX-License-Identifier: Apache-2.0
#include "studies/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/build_info.h"
#include "base/error.h"
#include "base/output_files.h"
#include "base/text.h"
#include "reports/draw_figures.h"
#include "reports/page.h"
#include "reports/record_files.h"
#include "studies/report_timelines.h"
#include "studies/target.h"

namespace splitwave::studies {
namespace {

void check_figures(const ReportRequest& request) {
  const std::vector<std::string> names = reports::figure_names();
  for (const std::string& name : request.figures) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw base::InputError(fmt::format("--figure: there is no figure {}{}; allowed: {}", base::printable(name),
                                         base::did_you_mean(name, names), base::join(names)));
    }
  }
}

void check_baseline(const reports::Dataset& data, const ReportRequest& request) {
  std::vector<std::string> schedules;
  for (const std::uint32_t schedule : data.schedules()) schedules.push_back(data.name(schedule));
  std::set<std::string> of_requests;
  for (const reports::Point& point : data.points()) {
    if (point.stages >= 0) of_requests.insert(data.name(point.schedule));
  }
  schedules.insert(schedules.end(), of_requests.begin(), of_requests.end());
  const bool known = std::find(schedules.begin(), schedules.end(), request.baseline) != schedules.end();
  if (!request.baseline.empty() && !known) {
    throw base::InputError(fmt::format("--baseline: no record with a time is of {}{}; allowed: {}",
                                       base::printable(request.baseline),
                                       base::did_you_mean(request.baseline, schedules), base::join(schedules)));
  }
}

std::string joined(const std::set<std::string>& texts) {
  return base::join({texts.begin(), texts.end()});
}

}  // namespace

void expect_place_for_page(const std::filesystem::path& folder) {
  base::expect_absent(folder / "report.html");
  base::expect_absent(folder / "figures");
  base::expect_writable(folder);
}

void write_records_csv(const std::string& from, const std::filesystem::path& to, int threads) {
  base::expect_absent(to);
  base::GrowingFile file(to);
  const auto refuse = [](const std::string& reason) { throw base::InputError(reason); };
  reports::RecordPrinter printer(
      reports::RecordFormat::csv, threads,
      [&](std::string_view text) {
        if (!text.empty()) file.append(text.substr(0, text.size() - 1));  // which adds the newline that it ends in
      },
      refuse);
  reports::RecordReader reader;
  reader.take = [&](const reports::PlacedRecord& placed) { printer.add(placed.json); };
  reader.skip = [&](const reports::SkippedRecord& skipped) { refuse(skipped.text()); };
  reports::read_record_file(from, reports::RecordFormat::jsonl, threads, reader);
  printer.finish();
  file.finish();
}

std::map<std::string, reports::MachinePeaks> peaks_of(const reports::Dataset& data) {
  std::map<std::string, reports::MachinePeaks> peaks;
  std::set<std::uint32_t> machines;
  for (const reports::Point& point : data.points()) machines.insert(point.machine);
  for (const std::uint32_t index : machines) {
    const std::string& name = data.name(index);
    std::optional<NamedTarget> named = parse_target_name(name);
    if (!named) continue;
    named->overrides.kernel.clear();  // a kernel changes no peak
    const simulator::Machine machine = target(named->machine, named->overrides).machine;
    peaks[name] = {machine.dram_peak_bytes_per_second, machine.mma_flops, machine.sms};
  }
  return peaks;
}

ReportResult write_page(const reports::Dataset& data, const ReportRequest& request, reports::ReadSummary read,
                        std::vector<std::pair<std::string, std::string>> facts, const std::filesystem::path& folder) {
  check_baseline(data, request);
  const std::string baseline = request.baseline.empty() ? reports::default_baseline(data) : request.baseline;
  const reports::FigureSet figures =
      reports::figures_of(data, {baseline, peaks_of(data), request.figures, request.command});
  reports::PageContext context;
  context.title = request.title.empty() ? "splitwave report" : request.title;
  context.baseline = baseline;
  context.facts = std::move(facts);
  context.read = std::move(read);
  context.timelines = timelines_of(data, request.workloads);
  return write_page_of(data, figures, std::move(context), folder);
}

ReportResult write_page_of(const reports::Dataset& data, const reports::FigureSet& figures,
                           reports::PageContext context, const std::filesystem::path& folder) {
  ReportResult result;
  result.page = folder / "report.html";
  expect_place_for_page(folder);
  const reports::DrawnFigures drawn = reports::draw(figures.figures, folder / "figures");
  context.drawing_note = drawn.note;
  base::write_new_file(result.page, reports::page_html(data, figures, drawn, context));
  result.read = std::move(context.read);
  for (const reports::Figure& figure : figures.figures) {
    result.figures.push_back(figure.name);
    if (drawn.svg.contains(figure.name)) result.drawn.push_back(figure);
  }
  result.note = drawn.note;
  result.no_program = reports::page_program().empty();
  return result;
}

ReportResult write_report_page(const ReportRequest& request, const std::filesystem::path& folder) {
  expect_place_for_page(folder);
  check_figures(request);
  reports::DatasetBuilder builder;
  reports::ReadSummary read =
      reports::read_records(request.files, request.read, [&](const reports::Record& record) { builder.add(record); });
  const reports::Dataset data = std::move(builder).finish(reports::Shapes(request.workloads));
  std::set<std::string> machines;
  for (const reports::Point& point : data.points()) machines.insert(data.name(point.machine));
  std::vector<std::string> files;
  for (const auto& file : read.files) {
    files.push_back(fmt::format("{} ({} record{})", file.name, file.records, file.records == 1 ? "" : "s"));
  }
  std::sort(files.begin(), files.end());
  std::vector<std::pair<std::string, std::string>> facts = {{"Records", base::join(files)},
                                                            {"Machines", joined(machines)}};
  if (!data.devices().empty()) facts.emplace_back("Devices", joined(data.devices()));
  if (!data.commits().empty()) facts.emplace_back("Made by commit", joined(data.commits()));
  if (read.skipped_lines > 0) facts.emplace_back("Lines left out", fmt::format("{}, listed below", read.skipped_lines));
  if (!request.date.empty()) facts.emplace_back("Page made", request.date);
  facts.emplace_back("By", fmt::format("splitwave {} ({})", base::version(), base::commit()));
  if (!request.command.empty()) facts.emplace_back("Command", request.command);
  return write_page(data, request, std::move(read), std::move(facts), folder);
}

}  // namespace splitwave::studies
