// SPDX-License-Identifier: Apache-2.0
#include "cli/targets.h"

#include <fmt/format.h>

#include "cpu_reference/measure.h"
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

Target this_cpu(std::int32_t threads) {
  const cpu_reference::CpuConstants constants = cpu_reference::cached_cpu_constants(threads);
  simulator::CpuFigures figures;
  figures.model = constants.model;
  figures.read_bytes_per_second = constants.read_bytes_per_second;
  figures.seconds_per_kv_byte = constants.token_seconds_per_kv_byte;
  figures.fork_seconds = constants.fork_seconds;
  figures.item_seconds = constants.item_seconds;
  figures.merge_seconds_per_row_split = constants.merge_seconds_per_row_split;
  Target target;
  target.machine = simulator::cpu_machine(figures);
  target.name = fmt::format("{} ({} thread{})", constants.model, threads, threads == 1 ? "" : "s");
  return target;
}

}  // namespace splitwave::cli
