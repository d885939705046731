// SPDX-License-Identifier: Apache-2.0
// The main job: predict, run, check and report.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/build_info.h"
#include "base/error.h"
#include "base/output_files.h"
#include "cli/commands.h"
#include "cli/executor.h"
#include "cli/exit_codes.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/watch.h"
#include "reports/figures.h"
#include "reports/markdown_report.h"
#include "reports/statistics.h"
#include "reports/table.h"
#include "studies/choose.h"
#include "studies/measure.h"
#include "studies/records.h"

namespace splitwave::cli {
namespace {

struct CompareOptions {
  WorkloadOptions workload{"real", {}};
  MachineOptions machine{{"h100-sxm", "h200"}};
  std::vector<std::string> schedules;
  std::string executor = "cpu";
  std::int32_t threads = 0;
  studies::TimingBudget budget{5, 0.1};
  std::string out;
  bool json = false;
};

/// What a comparison is made of, loaded and checked. The executor comes last: measuring a CPU takes time that bad input
/// must not.
struct Job {
  std::vector<workloads::Workload> workloads;
  std::vector<std::string> schedules;
  std::vector<studies::Target> gpus;  ///< predicted only
  studies::Executor executor;
  std::tm begin{};
};

/// The machines that are predicted only. "cpu" is the machine of --executor cpu, which is always among the machines,
/// and is no other executor's.
MachineOptions predicted_machines(const CompareOptions& options) {
  MachineOptions machines = options.machine;
  if (std::erase(machines.gpus, studies::kThisCpu) == 0) {
    return machines;
  }
  if (options.executor != studies::kThisCpu) {
    throw base::InputError(fmt::format(
        "--gpu cpu: --executor {} does not run on it; allowed: --executor cpu, or the machines of 'splitwave gpus'",
        options.executor));
  }
  if (const std::string changed = studies::override_words(options.machine.overrides); !changed.empty()) {
    throw base::InputError(fmt::format("--gpu cpu:{} does not apply to it; allowed: --threads", changed));
  }
  return machines;
}

Job make_job(const CompareOptions& options) {
  const MachineOptions machines = predicted_machines(options);
  require_executor(options.executor);
  Job job;
  job.begin = fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
  job.workloads = load_workloads(options.workload);
  job.schedules = studies::chosen_schedules(options.schedules, job.workloads);
  job.gpus = studies::targets(machines.gpus, machines.overrides, 0);
  return job;
}

/// Speed-ups are relative to the first fixed-split schedule, or to the first schedule where there is none.
std::string baseline_of(const std::vector<std::string>& schedules) {
  const auto found = std::find_if(schedules.begin(), schedules.end(),
                                  [](const std::string& name) { return name.starts_with("fixed-split"); });
  return found != schedules.end() ? *found : schedules.front();
}

studies::CheckCount execute(const Job& job, const studies::TimingBudget& budget, RecordSink& sink) {
  double work = 0;
  for (const workloads::Workload& workload : job.workloads) {
    work += job.executor.work(workload, job.schedules.size());
  }
  Progress progress(work);
  studies::CheckCount checks;
  const studies::Watcher watcher = watch(progress, sink);
  for (const workloads::Workload& workload : job.workloads) {
    for (const studies::Target& gpu : job.gpus) {
      if (gpu.name == job.executor.target.name) {
        continue;  // predicted beside the measurements
      }
      progress.show("predicting " + workload.name + " on " + gpu.name);
      for (const std::string& schedule : job.schedules) {
        stop_if_asked();
        sink.add(studies::predicted_record(workload, schedule, gpu, false));
      }
    }
    job.executor.measure(workload, job.schedules, job.executor.target, budget, true, {watcher, checks});
  }
  return checks;
}

std::vector<std::pair<std::string, std::string>> environment(const Job& job, const CompareOptions& options) {
  std::vector<std::string> machines;
  for (const studies::Target& gpu : job.gpus) {
    machines.push_back(gpu.name);
  }
  std::vector<std::pair<std::string, std::string>> rows = {
      {"Date", fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", job.begin)},
      {"splitwave", fmt::format("{} ({})", base::version(), base::commit())},
      {"Simulated machines", fmt::format("{}", fmt::join(machines, ", "))},
      {"Workloads", fmt::format("{} ({})", options.workload.workload, job.workloads.size())},
      {"Schedules", fmt::format("{}", fmt::join(job.schedules, ", "))}};
  rows.insert(rows.end(), job.executor.environment.begin(), job.executor.environment.end());
  return rows;
}

/// Writes pictures, report.md and the finished records.
void write_report(const Job& job, const CompareOptions& options, const std::filesystem::path& folder,
                  const studies::CheckCount& checks, RecordSink& sink) {
  const std::string baseline = baseline_of(job.schedules);
  const std::string caption = fmt::format("{}; splitwave {} ({}); {:%Y-%m-%d} UTC; cold caches",
                                          job.executor.target.name, base::version(), base::commit(), job.begin);
  std::vector<reports::Figure> figures = {reports::speed_up_figure(sink.records(), baseline, caption)};
  if (!reports::pair_up(sink.records()).empty()) {
    figures.push_back(reports::predicted_measured_figure(sink.records(), caption));
  }
  reports::ReportContext context{
      "splitwave compare: " + options.workload.workload, baseline, environment(job, options), checks.sentence(), {},
      reports::draw(figures, folder / "figures")};
  if (context.picture_note.empty()) {
    for (const reports::Figure& figure : figures) {
      context.pictures.emplace_back(figure.title, fmt::format("figures/{}.svg", figure.name));
    }
  } else {
    note(context.picture_note);
  }
  base::write_new_file(folder / "report.md", reports::markdown_report(sink.records(), context));
  sink.finish();
}

/// What a terminal shows: the speed-ups by schedule and the summary.
std::string summary(const Job& job, const RecordSink& sink, const studies::CheckCount& checks) {
  const std::string baseline = baseline_of(job.schedules);
  reports::Table table{{{"executor"},
                        {"machine"},
                        {"schedule"},
                        {"workloads", reports::Align::right},
                        {"speed-up over " + baseline, reports::Align::right},
                        {"least", reports::Align::right},
                        {"most", reports::Align::right}},
                       {}};
  for (const reports::ScheduleSummary& one : reports::summarize(sink.records(), baseline)) {
    table.rows.push_back({one.executor, one.machine, one.schedule, fmt::format("{}", one.workloads),
                          reports::format_factor(one.geometric_mean), reports::format_factor(one.least),
                          reports::format_factor(one.most)});
  }
  std::string text = reports::to_text(table) + '\n' + checks.sentence() + '\n';
  for (const std::string& line : reports::summary_lines(sink.records(), baseline)) {
    text += line + '\n';
  }
  return text;
}

int compare_all(const CompareOptions& options) {
  Job job = make_job(options);
  const std::filesystem::path folder =
      options.out.empty() ? fmt::format("out/{:%Y-%m-%dT%H%M%S}Z", job.begin) : options.out;
  catch_stop_signals();
  base::expect_absent(folder / "report.md");
  base::expect_absent(folder / "figures");
  RecordSink sink(folder.string(), options.json);
  job.executor = make_executor(options.executor, thread_count(options.threads), true, options.budget);
  const studies::CheckCount checks = execute(job, options.budget, sink);
  write_report(job, options, folder, checks, sink);
  if (!options.json) {
    print(summary(job, sink, checks));
  }
  note("the report is " + (folder / "report.md").string());
  if (!checks.wrong.empty()) {
    complain(checks.sentence());
  }
  return checks.wrong.empty() ? kGood : kCheckFailed;
}

}  // namespace

void add_compare(CLI::App& program, int& status) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* verb =
      program.add_subcommand("compare", "The main job: predict, run here, check and report every schedule on a suite");
  verb->footer(
      "  splitwave compare\n"
      "  splitwave compare -w llama-3-8b:4q1s4k --schedule fa2,fixed-split:fa2,lean\n"
      "  splitwave compare -w my-suite.json --gpu b200 --out out/mine\n"
      "  splitwave compare --executor cuda --schedule auto,fa2,fixed-split:fa2,lean");
  add_workload_options(*verb, options->workload);
  add_machine_options(*verb, options->machine);
  add_schedule_option(*verb, options->schedules);
  add_executor_option(*verb, options->executor);
  add_threads_option(*verb, options->threads);
  add_samples_option(*verb, options->budget.samples);
  add_out_option(*verb, options->out,
                 "folder for records.jsonl, records.csv, report.md and figures/; out/<UTC time> if not given");
  add_json_option(*verb, options->json, "one record per line (docs/records.md) instead of the summary");
  verb->callback([options, &status] { status = compare_all(*options); });
}

}  // namespace splitwave::cli
