// SPDX-License-Identifier: Apache-2.0
#include "schedules/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "reports/record.h"
#include "reports/table.h"
#include "schedules/metrics.h"
#include "studies/choose.h"
#include "studies/predict.h"
#include "studies/records.h"

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

std::vector<std::string> table_row(const studies::Prediction& made, const workloads::Workload& workload,
                                   const studies::Target& target) {
  const schedules::Metrics counts = metrics(made.plan, made.grid);
  return {workload.name,
          target.name,
          made.by_auto ? reports::auto_words(made.plan.schedule) : made.plan.schedule,
          fmt::format("{}", made.plan.num_splits),
          split_range(splits_per_request(workload, made.plan)),
          fmt::format("{}", counts.ctas),
          fmt::format("{}", counts.items),
          fmt::format("{}", counts.merges),
          fmt::format("{:.2f}", counts.waves),
          reports::format_percent(counts.quantization_efficiency),
          fmt::format("{}x{}", made.plan.tile_q, made.plan.tile_kv)};
}

/// Plans of all schedules as a table, with the reasons below it. A schedule that cannot serve its workload among others
/// that can is a line there.
class Listing {
 public:
  void add(const studies::Prediction& made, const workloads::Workload& workload, const studies::Target& target) {
    table_.rows.push_back(table_row(made, workload, target));
    reasons_ += fmt::format("{}: {}\n", made.plan.schedule, made.plan.reason);
  }
  void add_failure(const std::string& schedule, const workloads::Workload& workload, const studies::Target& target,
                   const std::string& reason) {
    reasons_ += fmt::format("{} cannot run {} on {}: {}\n", schedule, workload.name, target.name, reason);
  }
  void finish() const { print(reports::to_text(table_) + '\n' + reasons_); }

 private:
  reports::Table table_{{{"workload"},
                         {"machine"},
                         {"schedule"},
                         {"num_splits", reports::Align::right},
                         {"splits used", reports::Align::right},
                         {"CTAs", reports::Align::right},
                         {"items", reports::Align::right},
                         {"merges", reports::Align::right},
                         {"waves", reports::Align::right},
                         {"efficiency", reports::Align::right},
                         {"tile", reports::Align::right}},
                        {}};
  std::string reasons_;
};

void list(Listing& listing, const workloads::Workload& workload, const std::string& schedule,
          const studies::Target& target, bool strict) {
  std::optional<studies::Prediction> made;
  try {
    made = studies::predict(workload, schedule, target);
  } catch (const base::InputError& error) {
    if (strict) throw;
    return listing.add_failure(schedule, workload, target, error.what());
  }
  listing.add(*made, workload, target);
}

void make_plans(const PlanOptions& options) {
  const std::vector<workloads::Workload> loaded = load_workloads(options.workload);
  const std::vector<studies::Target> machines = load_machines(options.machine, thread_count(options.threads));
  const std::vector<std::string> names = studies::chosen_schedules(options.schedules, loaded, machines);
  const bool alone = loaded.size() * machines.size() * names.size() == 1;
  Listing listing;
  for (const workloads::Workload& workload : loaded) {
    for (const studies::Target& target : machines) {
      for (const std::string& name : names) {
        if (options.json) {
          print(studies::plan_line(workload, name, target, options.full, alone) + '\n');
        } else {
          list(listing, workload, name, target, alone);
        }
      }
    }
  }
  if (!options.json) listing.finish();
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
  add_json_option(*verb, options->json, "one JSON object per plan (docs/cli.md)");
  verb->add_flag("--full", options->full, "with --json: the whole plan, every item and merge")->needs("--json");
  verb->callback([options] { make_plans(*options); });
}

}  // namespace splitwave::cli
