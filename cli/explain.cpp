// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "base/output_files.h"
#include "base/stop.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "reports/gantt.h"
#include "reports/trace.h"
#include "studies/choose.h"
#include "studies/explain.h"
#include "studies/target.h"

namespace splitwave::cli {
namespace {

struct ExplainCommand {
  WorkloadOptions workload;
  MachineOptions machine{{"h200"}};
  std::vector<std::string> schedules;
  std::int32_t threads = 0;
  std::string trace;
  std::string gantt;
  bool json = false;
};

struct Explained {
  const workloads::Workload* workload = nullptr;
  studies::Explanation explanation;
};

void write_pictures(const ExplainCommand& options, const std::vector<Explained>& all) {
  std::vector<reports::TracedRun> runs;
  for (const Explained& one : all) runs.push_back(studies::traced_run(one.explanation, *one.workload));
  if (!options.trace.empty()) base::write_new_file(options.trace, reports::chrome_trace(runs));
  if (!options.gantt.empty()) base::write_new_file(options.gantt, reports::gantt_svg(runs));
}

/// With progress by schedules tried.
studies::Explanation explain_one(const std::string& schedule, const workloads::Workload& workload,
                                 const studies::Target& target) {
  const std::vector<std::string> others = studies::alternative_schedules(workload);
  Progress progress(static_cast<double>(others.size()));
  return studies::explain(schedule, workload, target, [&](const std::string& name) {
    base::stop_if_asked();
    progress.show(fmt::format("{} on {}", name, target.name));
    progress.add(1);
  });
}

void explain_all(const ExplainCommand& options) {
  const std::vector<workloads::Workload> loaded = load_workloads(options.workload);
  const std::vector<studies::Target> machines = load_machines(options.machine, thread_count(options.threads));
  const std::vector<std::string> names = studies::chosen_schedules(options.schedules, loaded, machines);
  const bool pictures = !options.trace.empty() || !options.gantt.empty();
  catch_stop_signals();
  std::vector<Explained> all;
  bool first = true;
  for (const workloads::Workload& workload : loaded) {
    for (const studies::Target& target : machines) {
      for (const std::string& name : names) {
        studies::Explanation explanation = explain_one(name, workload, target);
        if (options.json) {
          print(to_json(explanation) + '\n');
        } else {
          print(fmt::format("{}{}", first ? "" : "\n", to_text(explanation)));
        }
        first = false;
        if (pictures) all.push_back({&workload, std::move(explanation)});
      }
    }
  }
  write_pictures(options, all);
}

}  // namespace

void add_explain(CLI::App& program, int&) {
  const auto options = std::make_shared<ExplainCommand>();
  options->schedules = {"auto"};
  CLI::App* verb = program.add_subcommand("explain", "Say why a schedule takes its time, and what would be faster");
  verb->footer(
      "  splitwave explain -w llama-3-8b:8q1s32k --gpu h200 --schedule fa2\n"
      "  splitwave explain -w llama-3-8b:1q1s512 --gpu h100-sxm --schedule fa3,seq-aware --json\n"
      "  splitwave explain -w h=2/2,d=64:1q1s640 --sms 5 --ctas-per-sm 1 --schedule fa2,fixed-split:2,lean "
      "--gantt figure.svg");
  add_workload_options(*verb, options->workload);
  add_machine_options(*verb, options->machine);
  add_schedule_option(*verb, options->schedules);
  add_threads_option(*verb, options->threads);
  add_new_file_option(*verb, "--trace", options->trace, "write a trace for ui.perfetto.dev or chrome://tracing")
      ->type_name("FILE.json");
  add_new_file_option(*verb, "--gantt", options->gantt, "draw who works when: a row per SM slot, a panel per schedule")
      ->type_name("FILE.svg");
  add_json_option(*verb, options->json, "one JSON object per schedule (docs/explain.md)");
  verb->callback([options] { explain_all(*options); });
}

}  // namespace splitwave::cli
