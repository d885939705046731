// SPDX-License-Identifier: Apache-2.0
#include "schedules/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/predict.h"
#include "cli/signals.h"
#include "reports/table.h"
#include "schedules/metrics.h"
#include "schedules/plan_json.h"

namespace splitwave::cli {
namespace {

struct PlanOptions {
  WorkloadOptions workload;
  MachineOptions machine{{"h200"}};
  std::vector<std::string> schedules;
  std::int32_t threads = 0;
  bool json = false;
  bool full = false;
};

/// "3", or "1 to 7" when requests differ.
std::string split_range(const std::vector<std::int32_t>& splits) {
  if (splits.empty()) {
    return "-";
  }
  const auto [least, most] = std::minmax_element(splits.begin(), splits.end());
  return *least == *most ? fmt::format("{}", *least) : fmt::format("{} to {}", *least, *most);
}

void make_plans(const PlanOptions& options) {
  using reports::Align;
  const std::vector<workloads::Workload> loaded = load_workloads(options.workload);
  const std::vector<Target> machines = targets(options.machine, thread_count(options.threads));
  const std::vector<std::string> names = chosen_schedules(options.schedules, loaded);
  reports::Table table{{{"workload"},
                        {"machine"},
                        {"schedule"},
                        {"num_splits", Align::right},
                        {"splits used", Align::right},
                        {"CTAs", Align::right},
                        {"items", Align::right},
                        {"merges", Align::right},
                        {"waves", Align::right},
                        {"efficiency", Align::right},
                        {"tile", Align::right}},
                       {}};
  std::string reasons;
  for (const workloads::Workload& workload : loaded) {
    for (const Target& target : machines) {
      for (const std::string& name : names) {
        stop_if_asked();
        const Prediction made = predict(name, workload, target);
        if (options.json) {
          print(plan_to_json(workload, made.plan, made.grid, options.full) + '\n');
          continue;
        }
        const schedules::Metrics counts = metrics(made.plan, made.grid);
        table.rows.push_back({workload.name, target.name, made.plan.schedule, fmt::format("{}", made.plan.num_splits),
                              split_range(splits_per_request(workload, made.plan)), fmt::format("{}", counts.ctas),
                              fmt::format("{}", counts.items), fmt::format("{}", counts.merges),
                              fmt::format("{:.2f}", counts.waves),
                              reports::format_percent(counts.quantization_efficiency),
                              fmt::format("{}x{}", made.plan.tile_q, made.plan.tile_kv)});
        reasons += fmt::format("{}: {}\n", made.plan.schedule, made.plan.reason);
      }
    }
  }
  if (!options.json) {
    print(reports::to_text(table) + '\n' + reasons);
  }
}

}  // namespace

void add_plan(CLI::App& program, int&) {
  const auto options = std::make_shared<PlanOptions>();
  CLI::App* verb = program.add_subcommand("plan", "Show how schedules cut a workload, and which rule decided");
  verb->footer(
      "  splitwave plan -w llama-3-8b:8q1s32k --gpu h200\n"
      "  splitwave plan -w llama-3-8b:1q1s512 --gpu h100-sxm --schedule fa3,seq-aware\n"
      "  splitwave plan -w llama-3-8b:8q1s32k --gpu h200 --sms 200 --schedule lean --json");
  add_workload_options(*verb, options->workload);
  add_machine_options(*verb, options->machine);
  add_schedule_option(*verb, options->schedules);
  add_threads_option(*verb, options->threads);
  add_json_option(*verb, options->json, "one JSON object per plan (docs/schedules.md)");
  verb->add_flag("--full", options->full, "with --json: the whole plan, every item and merge")->needs("--json");
  verb->callback([options] { make_plans(*options); });
}

}  // namespace splitwave::cli
