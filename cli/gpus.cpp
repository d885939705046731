// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "reports/table.h"
#include "simulator/machine.h"

namespace splitwave::cli {
namespace {

struct GpusOptions {
  std::vector<std::string> names;
  bool json = false;
};

/// One line of JSON: the machine's constants, in SI units as the simulator holds them.
std::string to_json(const simulator::Machine& machine) {
  nlohmann::ordered_json json;
  json["name"] = machine.name;
  json["title"] = machine.title;
  json["sms"] = machine.sms;
  json["clock_hz"] = machine.clock_hz;
  json["dram_peak_bytes_per_second"] = machine.dram_peak_bytes_per_second;
  json["dram_bytes_per_second"] = machine.dram_bytes_per_second;
  json["dram_latency_seconds"] = machine.dram_latency_seconds;
  json["sm_bytes_per_second"] = machine.sm_bytes_per_second;
  json["l2_bytes"] = machine.l2_bytes;
  json["l2_bytes_per_second"] = machine.l2_bytes_per_second;
  json["mma_flops"] = machine.mma_flops;
  json["exp_per_second"] = machine.exp_per_second;
  json["threads_per_sm"] = machine.threads_per_sm;
  json["ctas_per_sm_limit"] = machine.ctas_per_sm_limit;
  json["registers_per_sm"] = machine.registers_per_sm;
  json["shared_bytes_per_sm"] = machine.shared_bytes_per_sm;
  json["shared_bytes_per_cta"] = machine.shared_bytes_per_cta;
  json["launch_seconds"] = machine.launch_seconds;
  json["flag_seconds"] = machine.flag_seconds;
  if (machine.energy) {
    json["idle_watts"] = machine.energy->idle_watts;
    json["sm_watts"] = machine.energy->sm_watts;
    json["dram_joules_per_byte"] = machine.energy->dram_joules_per_byte;
    json["l2_joules_per_byte"] = machine.energy->l2_joules_per_byte;
    json["shared_joules_per_byte"] = machine.energy->shared_joules_per_byte;
    json["joules_per_flop"] = machine.energy->joules_per_flop;
  }
  return json.dump() + '\n';
}

void list_gpus(const GpusOptions& options) {
  using reports::Align;
  reports::Table table{{{"name"},
                        {"machine"},
                        {"SMs", Align::right},
                        {"clock", Align::right},
                        {"DRAM read", Align::right},
                        {"DRAM peak", Align::right},
                        {"L2", Align::right},
                        {"fp16 matrix rate", Align::right}},
                       {}};
  for (const std::string& name : options.names.empty() ? simulator::machine_names() : options.names) {
    const simulator::Machine machine = simulator::load_machine(name);
    if (options.json) {
      print(to_json(machine));
      continue;
    }
    table.rows.push_back({machine.name, machine.title, fmt::format("{}", machine.sms),
                          fmt::format("{:.0f} MHz", machine.clock_hz / 1e6),
                          reports::format_bandwidth(machine.dram_bytes_per_second),
                          reports::format_bandwidth(machine.dram_peak_bytes_per_second),
                          fmt::format("{:.0f} MiB", static_cast<double>(machine.l2_bytes) / 1048576),
                          fmt::format("{:.0f} TFLOP/s", machine.mma_flops / 1e12)});
  }
  if (!options.json) {
    print(reports::to_text(table));
  }
}

}  // namespace

void add_gpus(CLI::App& program, int&) {
  const auto options = std::make_shared<GpusOptions>();
  CLI::App* verb = program.add_subcommand("gpus", "List the machines that can be simulated");
  verb->footer(
      "  splitwave gpus\n"
      "  splitwave gpus h200 --json");
  verb->add_option("machine", options->names, "only these, by name or as JSON files")->type_name("NAME|FILE");
  add_json_option(*verb, options->json, "one JSON object per machine, in SI units");
  verb->callback([options] { list_gpus(*options); });
}

}  // namespace splitwave::cli
