// SPDX-License-Identifier: Apache-2.0
#include "cli/targets.h"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/error.h"

namespace splitwave::cli {
namespace {

/// The machine's name, and in brackets what the user changed.
std::string overridden_name(const std::string& name, const MachineOptions& options) {
  std::vector<std::string> changes;
  if (options.sms != 0) {
    changes.push_back(fmt::format("sms={}", options.sms));
  }
  if (options.bandwidth_gb_per_s != 0) {
    changes.push_back(fmt::format("bandwidth={}", options.bandwidth_gb_per_s));
  }
  if (options.ctas_per_sm != 0) {
    changes.push_back(fmt::format("ctas_per_sm={}", options.ctas_per_sm));
  }
  return changes.empty() ? name : fmt::format("{} ({})", name, fmt::join(changes, ", "));
}

bool overrides_anything(const MachineOptions& options) {
  return options.sms != 0 || options.bandwidth_gb_per_s != 0 || options.ctas_per_sm != 0;
}

simulator::CpuFigures figures(const cpu_reference::CpuConstants& constants,
                              const std::vector<double>& read_bytes_per_second, double seconds_per_kv_byte) {
  simulator::CpuFigures result;
  result.model = constants.model;
  result.read_bytes_per_second = read_bytes_per_second;
  result.seconds_per_kv_byte = seconds_per_kv_byte;
  result.fork_seconds = constants.fork_seconds;
  result.item_seconds = constants.item_seconds;
  result.merge_seconds_per_row_split = constants.merge_seconds_per_row_split;
  return result;
}

}  // namespace

std::vector<Target> targets(const MachineOptions& options, std::int32_t threads) {
  std::vector<Target> result;
  for (const std::string& gpu : options.gpus) {
    if (gpu == kThisCpu) {
      if (overrides_anything(options)) {
        throw workloads::InputError(
            "--gpu cpu: --sms, --bandwidth and --ctas-per-sm do not apply to it; allowed: --threads");
      }
      result.push_back(this_cpu(threads));
      continue;
    }
    Target target;
    target.machine = simulator::with_overrides(
        simulator::load_machine(gpu), simulator::MachineOverrides{options.sms, options.bandwidth_gb_per_s * 1e9});
    target.name = overridden_name(target.machine.name, options);
    target.ctas_per_sm = options.ctas_per_sm;
    result.push_back(std::move(target));
  }
  return result;
}

Target this_cpu(std::int32_t threads, bool measured_now) {
  Target target;
  target.cpu = measured_now ? cpu_reference::measure_cpu(threads) : cpu_reference::cached_cpu_constants(threads);
  target.machine = simulator::cpu_machine(
      figures(*target.cpu, target.cpu->read_bytes_per_second, target.cpu->token_seconds_per_kv_byte));
  target.name = fmt::format("{} ({} thread{})", target.cpu->model, threads, threads == 1 ? "" : "s");
  return target;
}

simulator::Machine machine_for(const Target& target, const workloads::Workload& workload, const schedules::Plan& plan) {
  if (!target.cpu) {
    return target.machine;
  }
  double seconds = 0;
  double tokens = 0;
  for (const schedules::OutputTile& output : plan.outputs) {
    const double weight = std::max(1, kv_range(workload, output).size());
    seconds += weight * cpu_reference::tile_seconds_per_kv_byte(*target.cpu, workload.geometry, output.rows());
    tokens += weight;
  }
  return simulator::cpu_machine(figures(*target.cpu, cpu_reference::kv_read_bytes_per_second(*target.cpu, workload),
                                        tokens > 0 ? seconds / tokens : target.cpu->token_seconds_per_kv_byte));
}

}  // namespace splitwave::cli
