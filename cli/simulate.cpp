// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/stop.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/record_sink.h"
#include "cli/signals.h"
#include "reports/record_table.h"
#include "studies/choose.h"
#include "studies/error_bands.h"
#include "studies/records.h"

namespace splitwave::cli {
namespace {

struct SimulateCommand {
  WorkloadOptions workload;
  MachineOptions machine{{"h200"}};
  std::vector<std::string> schedules;
  std::int32_t threads = 0;
  std::string out;
  bool json = false;
};

using workloads::AttentionKind;
using Names = std::set<std::string>;

/// The schedules of records of the workloads that are, or are not, among `latent_workloads`.
std::vector<std::string> schedules_of(const std::vector<reports::Record>& records, const studies::Target& target,
                                      const Names& latent_workloads, bool latent) {
  std::vector<std::string> schedules;
  for (const reports::Record& record : records) {
    if (record.machine != target.name || latent_workloads.contains(record.workload) != latent) continue;
    const std::string name = studies::judged_as(record.chosen.value_or(record.schedule));
    const bool known = std::find(schedules.begin(), schedules.end(), name) != schedules.end();
    if (!known) schedules.push_back(name);
  }
  return schedules;
}

/// A line per machine, another for latent attention: how far such predictions were from measurements.
std::string error_bands(const std::vector<reports::Record>& records, const std::vector<studies::Target>& machines,
                        const std::vector<workloads::Workload>& workloads) {
  Names latent_workloads;
  for (const workloads::Workload& workload : workloads) {
    if (workload.geometry.kind == AttentionKind::mla) latent_workloads.insert(workload.name);
  }
  std::string lines;
  for (const studies::Target& target : machines) {
    for (const bool latent : {false, true}) {
      const std::vector<std::string> schedules = schedules_of(records, target, latent_workloads, latent);
      if (schedules.empty()) continue;
      const AttentionKind kind = latent ? AttentionKind::mla : AttentionKind::gqa;
      lines += fmt::format("error of predictions {}for {}: {}\n", latent ? "of latent attention " : "", target.name,
                           studies::error_band(target, kind, schedules));
    }
  }
  return lines;
}

void simulate_all(const SimulateCommand& options) {
  const std::vector<workloads::Workload> loaded = load_workloads(options.workload);
  const std::vector<studies::Target> machines = load_machines(options.machine, thread_count(options.threads));
  const std::vector<std::string> names = studies::chosen_schedules(options.schedules, loaded, machines);
  const std::size_t points = loaded.size() * machines.size() * names.size();
  catch_stop_signals();
  RecordSink sink(options.out, options.json);
  {
    Progress progress(static_cast<double>(points));
    for (const workloads::Workload& workload : loaded) {
      for (const studies::Target& target : machines) {
        for (const std::string& name : names) {
          base::stop_if_asked();
          progress.show(name + " on " + workload.name);
          sink.add(studies::predicted_record(workload, name, target, points == 1));
          progress.add(1);
        }
      }
    }
  }
  sink.finish();
  if (!options.json) {
    print(reports::record_table(sink.records()) + '\n' + error_bands(sink.records(), machines, loaded));
  }
}

}  // namespace

void add_simulate(CLI::App& program, int&) {
  const auto options = std::make_shared<SimulateCommand>();
  CLI::App* verb = program.add_subcommand("simulate", "Predict the time of schedules on a machine");
  verb->footer(
      "  splitwave simulate -w llama-3-8b:8q1s32k --gpu h200\n"
      "  splitwave simulate -w llama-3-8b:8q1s32k --gpu h200 --sms 200 --schedule fa3,lean,auto\n"
      "  splitwave simulate -w real --gpu h100-sxm,h200 --json > predicted.jsonl");
  add_workload_options(*verb, options->workload);
  add_machine_options(*verb, options->machine);
  add_schedule_option(*verb, options->schedules);
  add_threads_option(*verb, options->threads);
  add_out_option(*verb, options->out, "write records.jsonl and records.csv into this folder");
  add_json_option(*verb, options->json, "one record per line (docs/records.md)");
  verb->callback([options] { simulate_all(*options); });
}

}  // namespace splitwave::cli
