// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/output_files.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/executor.h"
#include "cli/exit_codes.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/watch.h"
#include "reports/record_table.h"
#include "studies/algorithms.h"
#include "studies/choose.h"
#include "studies/measure.h"
#include "studies/measure_sample.h"
#include "studies/repeat.h"
#include "studies/rounding.h"
#include "studies/traced_plan.h"

namespace splitwave::cli {
namespace {

constexpr std::int64_t kMostRepeats = 1'000'000;

struct RunOptions {
  WorkloadOptions workload;
  std::vector<std::string> schedules;
  std::vector<std::string> algorithms;
  std::vector<std::string> roundings;
  std::string gpu;
  ExecutorChoice executor;
  studies::TimingBudget budget;
  std::int64_t sample = 0;  ///< KV heads of requests; 0: all, timed
  std::string out;
  std::string trace;
  bool json = false;
};

/// Measures workload by workload, with progress by the work of each. traces: as studies::MeasureOutput has it.
template <typename Work, typename Measure>
studies::CheckCount run_each(const std::vector<workloads::Workload>& loaded, RecordSink& sink,
                             std::vector<studies::TracedPlan>* traces, Work work_of, Measure measure) {
  double work = 0;
  for (const workloads::Workload& workload : loaded) work += work_of(workload);
  studies::CheckCount checks;
  Progress progress(work);
  const studies::Watcher watcher = watch(progress, sink);
  for (const workloads::Workload& workload : loaded) {
    measure(workload, studies::MeasureOutput{watcher, checks, traces});
  }
  return checks;
}

studies::CheckCount run_schedules(const RunOptions& options, RecordSink& sink,
                                  const std::vector<workloads::Workload>& loaded) {
  const std::vector<std::string> names = studies::chosen_schedules(options.schedules, loaded);
  catch_stop_signals();
  const studies::Executor executor = make_executor(options.executor, options.budget);
  std::vector<studies::TracedPlan> traces;
  const studies::CheckCount checks = run_each(
      loaded, sink, options.trace.empty() ? nullptr : &traces,
      [&](const workloads::Workload& workload) { return executor.work(workload, names.size()); },
      [&](const workloads::Workload& workload, const studies::MeasureOutput& output) {
        executor.measure(workload, names, executor.target, options.budget, false, output);
      });
  if (!options.trace.empty()) base::write_new_file(options.trace, studies::trace_file(traces));
  return checks;
}

studies::CheckCount run_sample(const RunOptions& options, RecordSink& sink,
                               const std::vector<workloads::Workload>& loaded) {
  const std::vector<std::string> names = studies::chosen_schedules(options.schedules, loaded);
  catch_stop_signals();
  const studies::Executor executor = make_executor(options.executor, options.budget);
  return run_each(
      loaded, sink, nullptr,
      [&](const workloads::Workload& workload) { return studies::sample_work(workload, names.size(), options.sample); },
      [&](const workloads::Workload& workload, const studies::MeasureOutput& output) {
        studies::measure_sample(workload, names, executor.target, options.sample, output);
      });
}

studies::CheckCount run_algorithms(const RunOptions& options, RecordSink& sink,
                                   const std::vector<workloads::Workload>& loaded) {
  const auto algorithms = studies::chosen_algorithms(options.algorithms);
  catch_stop_signals();
  const std::int32_t samples = options.budget.samples;
  return run_each(
      loaded, sink, nullptr,
      [&](const workloads::Workload& workload) {
        return studies::algorithm_work(workload, algorithms.size(), samples);
      },
      [&](const workloads::Workload& workload, const studies::MeasureOutput& output) {
        studies::measure_algorithms(workload, algorithms, samples, output);
      });
}

/// Nothing is judged: the error is the result.
void run_roundings(const RunOptions& options, RecordSink& sink, const std::vector<workloads::Workload>& loaded) {
  const auto roundings = studies::chosen_roundings(options.roundings);
  const std::vector<studies::Target> targets = {
      options.gpu.empty() ? studies::this_cpu(thread_count(options.executor.threads)) : studies::target(options.gpu)};
  const std::vector<std::string> names = studies::chosen_schedules(options.schedules, loaded, targets);
  catch_stop_signals();
  run_each(
      loaded, sink, nullptr,
      [&](const workloads::Workload& workload) {
        return studies::rounding_work(workload, names.size(), roundings.size());
      },
      [&](const workloads::Workload& workload, const studies::MeasureOutput& output) {
        studies::measure_roundings(workload, names, roundings, targets.front(), output.watcher);
      });
}

int show_roundings(const RunOptions& options) {
  const std::vector<workloads::Workload> loaded = load_workloads(options.workload);
  RecordSink sink(options.out, options.json);
  run_roundings(options, sink, loaded);
  sink.finish();
  if (!options.json) print(reports::rounding_table(sink.records()));
  return kGood;
}

void require_cpu(const std::string& option, const std::string& what, const std::string& executor) {
  if (executor == "cpu") return;
  throw base::InputError(option + " with --executor " + executor + ": " + what + " on the CPU only; allowed: cpu");
}

/// Throws InputError where --trace could not be written; its folder may be the one that --out makes.
void expect_place_for_trace(const RunOptions& options) {
  if (options.trace.empty()) return;
  const auto folder = [](const std::filesystem::path& path) {
    return (std::filesystem::absolute(path) / "").lexically_normal();
  };
  const bool made_by_out =
      !options.out.empty() && folder(std::filesystem::path(options.trace).parent_path()) == folder(options.out);
  if (!made_by_out) base::expect_new_file(options.trace);
}

int run_all(const RunOptions& options) {
  const bool algorithms = !options.algorithms.empty();
  if (algorithms) require_cpu("--algorithm", "the papers' algorithms run", options.executor.name);
  if (!options.roundings.empty()) require_cpu("--rounding", "roundings are emulated", options.executor.name);
  if (options.executor.sms != 0 && options.executor.name != "cuda") {
    throw base::InputError("--sms: --executor " + options.executor.name +
                           " has threads, not SMs; allowed: --executor cuda, or --threads");
  }
  if (options.sample != 0 && options.executor.name != "cpu") {
    throw base::InputError("--sample with --executor " + options.executor.name +
                           ": parts of plans run on the CPU only; allowed: cpu");
  }
  require_energy(options.executor.name, options.budget.energy_seconds);
  require_device(options.executor);
  require_executor(options.executor.name);
  if (!options.trace.empty()) require_timelines(options.executor.name);
  expect_place_for_trace(options);
  if (!options.roundings.empty()) return show_roundings(options);
  const std::vector<workloads::Workload> loaded = load_workloads(options.workload);
  RecordSink sink(options.out, options.json);
  const studies::CheckCount checks = algorithms            ? run_algorithms(options, sink, loaded)
                                     : options.sample != 0 ? run_sample(options, sink, loaded)
                                                           : run_schedules(options, sink, loaded);
  sink.finish();
  if (!options.json) {
    const std::string table =
        algorithms ? reports::algorithm_table(sink.records()) : reports::record_table(sink.records());
    print(table + '\n' + checks.sentence() + '\n' + studies::merge_orders(sink.records()));
  }
  if (!checks.passed()) {
    complain(checks.sentence());
  }
  return checks.passed() ? kGood : kCheckFailed;
}

/// After --algorithm, --samples and --trace, which exclude it.
void add_rounding_options(CLI::App& verb, RunOptions& options) {
  std::vector<std::string> names;
  for (const auto& scheme : cpu_reference::numerics::schemes()) names.emplace_back(scheme.name);
  CLI::Option* rounding =
      verb.add_option(
              "--rounding", options.roundings,
              "instead of timing plans, run them with the roundings of these kernels, and show the error beside "
              "the one that theory expects (docs/numerics.md): " +
                  base::join(names) + "; all: every one")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("A,B,...")
          ->excludes("--algorithm")
          ->excludes("--samples")
          ->excludes("--sample")
          ->excludes("--repeat")
          ->excludes("--trace");
  verb.add_option("--gpu", options.gpu,
                  "with --rounding: plans as schedules make them for this machine (splitwave gpus)")
      ->type_name("NAME|FILE")
      ->needs(rounding);
}

}  // namespace

void add_run(CLI::App& program, int& status) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* verb = program.add_subcommand("run", "Run schedules here, time them and check them against the oracle");
  verb->footer(
      "  splitwave run -w llama-3-8b:4q1s4k\n"
      "  splitwave run -w llama-3-8b:4q1s4k --schedule lean,fixed-split:4 --threads 2\n"
      "  splitwave run -w batch.json --json > measured.jsonl\n"
      "  splitwave run -w llama-3-8b:8q1s32k --executor cuda --schedule auto,lean --sms 64\n"
      "  splitwave run -w llama-3-8b:8q1s32k --executor cuda --schedule auto,lean --energy\n"
      "  splitwave run -w llama-3-8b:4q1s4k --schedule fa2,lean --trace measured.json\n"
      "  splitwave run -w llama-3-8b:4q1s4k --schedule lean --repeat 100\n"
      "  splitwave run -w h=1024/1024,d=128:1q1s4096k --schedule lean --sample 2\n"
      "  splitwave run -w llama-3-8b:1q1s4k --algorithm flash-attention-1,flash-decoding:128x16\n"
      "  splitwave run -w llama-3-8b:1q1s4k --rounding fa3,flashinfer --schedule fa3 --gpu h200");
  add_workload_options(*verb, options->workload);
  add_schedule_option(*verb, options->schedules);
  add_executor_option(*verb, options->executor.name);
  add_threads_option(*verb, options->executor.threads);
  add_device_sms_option(*verb, options->executor.sms);
  add_calibration_option(*verb, options->executor.constants);
  add_samples_option(*verb, options->budget.samples);
  verb->add_option("--repeat", options->budget.repeats,
                   "run each plan so many times more, on poisoned memory, and compare output and LSE bit by bit with "
                   "the first of these runs (docs/determinism.md)")
      ->type_name("N")
      ->check(integer_between(2, kMostRepeats));
  add_energy_option(*verb, options->budget.energy_seconds);
  add_out_option(*verb, options->out, "write records.jsonl and records.csv into this folder");
  add_new_file_option(*verb, "--trace", options->trace,
                      "write when each item really began and ended, beside what is predicted, for ui.perfetto.dev or "
                      "chrome://tracing",
                      base::expect_absent)
      ->type_name("FILE.json");
  add_json_option(*verb, options->json, "one record per line (docs/records.md)");
  add_sample_option(*verb, options->sample,
                    "compute and check so many KV heads of requests, not timed: for tensors that no memory holds")
      ->excludes("--trace")
      ->excludes("--repeat")
      ->excludes("--energy");
  verb->add_option("--algorithm", options->algorithms,
                   "instead of schedules, the papers' algorithms head by head in double, and the bytes that each moves "
                   "(splitwave algorithms lists them; all: every one)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("A,B,...")
      ->excludes("--schedule")
      ->excludes("--threads")
      ->excludes("--repeat")
      ->excludes("--trace")
      ->excludes("--sample");
  add_rounding_options(*verb, *options);
  verb->callback([options, &status] { status = run_all(*options); });
}

}  // namespace splitwave::cli
