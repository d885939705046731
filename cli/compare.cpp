// SPDX-License-Identifier: Apache-2.0
// The main job: predict, run, check and report.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/output_files.h"
#include "cli/commands.h"
#include "cli/executor.h"
#include "cli/exit_codes.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/watch.h"
#include "studies/choose.h"
#include "studies/compare.h"
#include "studies/measure.h"
#include "studies/report.h"

namespace splitwave::cli {
namespace {

struct CompareOptions {
  WorkloadOptions workload{"real", {}};
  MachineOptions machine{{"h100-sxm", "h200"}};
  std::vector<std::string> schedules;
  ExecutorChoice executor;
  studies::TimingBudget budget{9, 0.1, 0.25};
  std::string out;
  bool json = false;
};

/// The machines that are predicted only. "cpu" is the machine of --executor cpu, which is always among the machines,
/// and is no other executor's.
MachineOptions predicted_machines(const CompareOptions& options) {
  MachineOptions machines = options.machine;
  machines.measure_cpu = false;  // for the executor's
  if (options.machine.measure_cpu && options.executor.name != studies::kThisCpu) {
    throw base::InputError(
        fmt::format("--measure-cpu: --executor {} does not run on this computer's CPU; allowed: --executor cpu",
                    options.executor.name));
  }
  if (std::erase(machines.gpus, studies::kThisCpu) == 0) {
    return machines;
  }
  if (options.executor.name != studies::kThisCpu) {
    throw base::InputError(fmt::format(
        "--gpu cpu: --executor {} does not run on it; allowed: --executor cpu, or the machines of 'splitwave gpus'",
        options.executor.name));
  }
  if (const std::string changed = studies::override_words(options.machine.overrides); !changed.empty()) {
    throw base::InputError(fmt::format("--gpu cpu:{} does not apply to it; allowed: --threads", changed));
  }
  return machines;
}

/// All but the executor: measuring a CPU takes time that bad input must not.
studies::Comparison load(const CompareOptions& options) {
  const MachineOptions machines = predicted_machines(options);
  require_energy(options.executor.name, options.budget.energy_seconds);
  require_device(options.executor);
  require_executor(options.executor.name);
  studies::Comparison comparison;
  comparison.begin = fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
  comparison.suite = options.workload.workload;
  comparison.workloads = load_workloads(options.workload);
  comparison.schedules = studies::chosen_schedules(options.schedules, comparison.workloads);
  comparison.gpus = load_machines(machines, 0);
  comparison.budget = options.budget;
  return comparison;
}

int compare_all(const CompareOptions& options) {
  studies::Comparison comparison = load(options);
  const std::filesystem::path folder =
      options.out.empty() ? fmt::format("out/{:%Y-%m-%dT%H%M%S}Z", comparison.begin) : options.out;
  catch_stop_signals();
  base::expect_absent(folder / "report.md");
  studies::expect_place_for_page(folder);
  RecordSink sink(folder.string(), options.json);
  ExecutorChoice executor = options.executor;
  executor.measure_cpu = options.machine.measure_cpu;
  executor.sms = options.machine.overrides.sms;
  comparison.executor = make_executor(executor, options.budget);
  studies::CheckCount checks;
  {
    Progress progress(studies::work_of(comparison));
    checks = studies::compare(comparison, watch(progress, sink));
  }
  const std::string no_pictures = studies::write_report(comparison, sink.records(), checks, folder);
  if (!no_pictures.empty()) note(no_pictures);
  sink.finish();
  if (!options.json) print(studies::summary(comparison, sink.records(), checks));
  note("the report is " + (folder / "report.html").string());
  if (!checks.wrong.empty()) complain(checks.sentence());
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
  add_executor_option(*verb, options->executor.name);
  add_threads_option(*verb, options->executor.threads);
  add_calibration_option(*verb, options->executor.constants);
  add_samples_option(*verb, options->budget.samples);
  add_energy_option(*verb, options->budget.energy_seconds);
  add_out_option(*verb, options->out,
                 "folder for records.jsonl, records.csv, report.md and figures/; out/<UTC time> if not given");
  add_json_option(*verb, options->json, "one record per line (docs/records.md) instead of the summary");
  verb->callback([options, verb, &status] {
    // Who asks for so many samples waits for them.
    if (verb->count("--samples") > 0) options->budget.most_seconds = std::numeric_limits<double>::infinity();
    status = compare_all(*options);
  });
}

}  // namespace splitwave::cli
