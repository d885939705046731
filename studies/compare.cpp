// SPDX-License-Identifier: Apache-2.0
#include "studies/compare.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/build_info.h"
#include "base/output_files.h"
#include "base/text.h"
#include "reports/dataset.h"
#include "reports/markdown_report.h"
#include "reports/statistics.h"
#include "reports/table.h"
#include "studies/measured_h200.h"
#include "studies/records.h"
#include "studies/report.h"

namespace splitwave::studies {
namespace {

std::vector<std::pair<std::string, std::string>> environment(const Comparison& comparison) {
  std::vector<std::string> machines;
  for (const Target& gpu : comparison.gpus) machines.push_back(gpu.name);
  std::vector<std::pair<std::string, std::string>> rows = {
      {"Date", fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", comparison.begin)},
      {"splitwave", fmt::format("{} ({})", base::version(), base::commit())},
      {"Simulated machines", fmt::format("{}", fmt::join(machines, ", "))},
      {"Workloads", fmt::format("{} ({})", comparison.suite, comparison.workloads.size())},
      {"Schedules", fmt::format("{}", fmt::join(comparison.schedules, ", "))}};
  rows.insert(rows.end(), comparison.executor.environment.begin(), comparison.executor.environment.end());
  return rows;
}

/// The baseline of the checked-in measurements, whatever is compared here.
constexpr std::string_view kMeasuredBaseline = "fixed-split:fa2";

/// The CPU's times say little about a GPU's: where none measures, what one measured is shown for the same suite.
bool shows_h200(const Comparison& comparison) {
  return comparison.executor.target.cpu && comparison.suite == kMeasuredSuite;
}

}  // namespace

double work_of(const Comparison& comparison) {
  double work = 0;
  for (const workloads::Workload& workload : comparison.workloads) {
    work += comparison.executor.work(workload, comparison.schedules.size());
  }
  return work;
}

CheckCount compare(const Comparison& comparison, const Watcher& watcher) {
  const Executor& executor = comparison.executor;
  CheckCount checks;
  for (const workloads::Workload& workload : comparison.workloads) {
    for (const Target& gpu : comparison.gpus) {
      if (gpu.name == executor.target.name) continue;  // predicted beside the measurements
      for (const std::string& schedule : comparison.schedules) {
        watcher.begin("predicting " + workload.name + " on " + gpu.name);
        watcher.record(predicted_record(workload, schedule, gpu, false));
      }
    }
    executor.measure(workload, comparison.schedules, executor.target, comparison.budget, true, {watcher, checks});
  }
  return checks;
}

std::string summary(const Comparison& comparison, std::span<const reports::Record> records, const CheckCount& checks) {
  const std::string baseline = baseline_of(comparison.schedules);
  reports::Table table{{{"executor"},
                        {"machine"},
                        {"schedule"},
                        {"workloads", reports::Align::right},
                        {"speed-up over " + baseline, reports::Align::right},
                        {"least", reports::Align::right},
                        {"most", reports::Align::right}},
                       {}};
  for (const reports::ScheduleSummary& one : reports::summarize(records, baseline)) {
    table.rows.push_back({one.executor, one.machine, one.schedule, fmt::format("{}", one.workloads),
                          reports::format_factor(one.geometric_mean), reports::format_factor(one.least),
                          reports::format_factor(one.most)});
  }
  std::string text = reports::to_text(table) + '\n' + checks.sentence() + '\n';
  for (const std::string& line : reports::summary_lines(records, baseline)) text += line + '\n';
  if (shows_h200(comparison)) text += '\n' + h200_summary(measured_h200(), std::string(kMeasuredBaseline));
  return text;
}

std::string write_report(const Comparison& comparison, std::span<const reports::Record> records,
                         const CheckCount& checks, const std::filesystem::path& folder) {
  const std::string baseline = baseline_of(comparison.schedules);
  reports::ReportContext context{
      "splitwave compare: " + comparison.suite, baseline, environment(comparison), checks.sentence(), {}, ""};
  ReportRequest request;
  request.workloads = comparison.workloads;
  request.baseline = baseline;
  request.title = context.title;
  request.command = "splitwave report " + base::shell_word((folder / "records.jsonl").string());
  auto facts = context.environment;
  facts.emplace_back("Check", checks.sentence());
  const reports::Dataset data = reports::dataset_of(records, reports::Shapes(comparison.workloads));
  const ReportResult page = write_page(data, request, {}, std::move(facts), folder);
  context.picture_note = page.note;
  for (const reports::Figure& figure : page.drawn) {
    context.pictures.emplace_back(figure.title, fmt::format("figures/{}.svg", figure.name));
  }
  std::string text = reports::markdown_report(records, context);
  if (shows_h200(comparison)) text += h200_section(measured_h200(), std::string(kMeasuredBaseline));
  base::write_new_file(folder / "report.md", text);
  return context.picture_note;
}

}  // namespace splitwave::studies
