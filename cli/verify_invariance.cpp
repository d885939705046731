// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_invariance.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "cli/exit_codes.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/watch.h"
#include "studies/batch_invariance.h"
#include "studies/choose.h"
#include "studies/invariance_report.h"

namespace splitwave::cli {
namespace {

/// The machines that plans are made for, and what runs them.
struct Asked {
  std::vector<studies::Target> machines;
  studies::BatchRunner runner;
};

Asked make_asked(const InvarianceOptions& options) {
  if (options.executor.name == "cuda") {
    if (options.machine_given) {
      throw base::InputError(
          "--gpu and what if with --executor cuda: plans are made for the device that runs them; allowed: --executor "
          "cpu, which runs the plans of any machine");
    }
    require_executor(options.executor.name);
    return {{studies::device_target()}, studies::cuda_batch_runner()};
  }
  const std::int32_t threads = thread_count(options.executor.threads);
  return {load_machines(options.machine, threads), studies::cpu_batch_runner(threads)};
}

int status_of(const std::vector<studies::BatchInvariance>& answers, bool named) {
  bool wrong = false;
  bool unanswered = false;
  for (const studies::BatchInvariance& answer : answers) {
    wrong = wrong || answer.broken > 0 || (named && !answer.besides && answer.failure.empty() && !answer.invariant());
    unanswered = unanswered || (named && !answer.failure.empty());
  }
  return wrong ? kCheckFailed : unanswered ? kBadInput : kGood;
}

}  // namespace

void add_invariance_options(CLI::App& verb, InvarianceOptions& options) {
  CLI::Option* const asked = verb.add_flag(
      "--batch-invariance", options.asked,
      "instead of judging an output: do the schedules give each request of the workload the same bits alone and in "
      "other batches? (docs/determinism.md)");
  for (const char* other : {"--output", "--lse", "--tensors", "--array", "--junit", "--sample"}) asked->excludes(other);
  const std::vector<const CLI::Option*> before = std::as_const(verb).get_options();
  add_machine_options(verb, options.machine);
  const std::size_t machine_options = std::as_const(verb).get_options().size();
  add_schedule_option(verb, options.schedules);
  add_executor_option(verb, options.executor.name);
  add_threads_option(verb, options.executor.threads);
  const std::vector<CLI::Option*> all = verb.get_options();
  for (std::size_t i = before.size(); i < all.size(); ++i) {
    all[i]->needs(asked);
    if (i < machine_options) {
      all[i]->each([&options](const std::string& /*value*/) { options.machine_given = true; });
    }
  }
}

int run_batch_invariance(const InvarianceOptions& options, const WorkloadOptions& workload, bool json) {
  if (workload.workload.empty()) {
    throw base::InputError("--batch-invariance needs requests; allowed: with -w WORKLOAD");
  }
  const std::vector<workloads::Workload> loaded = load_workloads(workload);
  const Asked asked = make_asked(options);
  const bool named = !options.schedules.empty();
  const std::vector<std::string> names = named ? studies::chosen_schedules(options.schedules, loaded, asked.machines)
                                               : studies::invariance_schedules(loaded);
  catch_stop_signals();
  double work = 0;
  for (const workloads::Workload& one : loaded) work += studies::invariance_work(one);
  std::vector<studies::BatchInvariance> answers;
  {
    Progress progress(work * static_cast<double>(asked.machines.size()));
    const studies::Watcher watcher = watch(progress);
    for (const workloads::Workload& one : loaded) {
      for (const studies::Target& machine : asked.machines) {
        for (studies::BatchInvariance& answer : studies::batch_invariance(one, names, machine, asked.runner, watcher)) {
          if (json) print(studies::invariance_json(answer) + '\n');
          answers.push_back(std::move(answer));
        }
      }
    }
  }
  if (!json) print(studies::invariance_text(answers));
  return status_of(answers, named);
}

}  // namespace splitwave::cli
