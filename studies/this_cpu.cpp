// SPDX-License-Identifier: Apache-2.0
#include "studies/this_cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/parallel.h"

namespace splitwave::studies {
namespace {

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

/// What the threads reach with the plan's way to share: with fixed lists, or no more lists than threads, the slowest
/// sets the time.
const cpu_reference::ProbedThreads* threads_for(const Target& target, const schedules::Plan& plan) {
  if (!target.probed) return nullptr;
  const bool queue = plan.dispatch != schedules::Dispatch::fixed && plan.lists() > target.machine.sms;
  return queue ? &target.probed->queue : &target.probed->equal_shares;
}

/// Tile time of an output of so many rows, by what is known best. Seconds per byte of K and V.
double tile_seconds(const Target& target, const cpu_reference::ProbedThreads* probed,
                    const workloads::Geometry& geometry, std::int32_t rows) {
  if (probed != nullptr) {
    const auto found = probed->tile_seconds_per_kv_byte.find(rows);
    if (found != probed->tile_seconds_per_kv_byte.end()) return found->second;
  }
  return cpu_reference::tile_seconds_per_kv_byte(*target.cpu, geometry, rows);
}

}  // namespace

Target this_cpu(std::int32_t threads, bool measure_cpu) {
  base::require_threads(threads);
  Target target;
  cpu_reference::KnownCpu known = cpu_reference::cached_cpu_constants(threads, measure_cpu);
  target.cpu = std::move(known.constants);
  target.note = std::move(known.note);
  target.machine = simulator::cpu_machine(
      figures(*target.cpu, target.cpu->read_bytes_per_second, target.cpu->token_seconds_per_kv_byte));
  target.name = fmt::format("{} ({} thread{})", target.cpu->model, threads, threads == 1 ? "" : "s");
  return target;
}

simulator::Machine cpu_for(const Target& target, const workloads::Workload& workload, const schedules::Plan& plan) {
  const cpu_reference::ProbedThreads* const probed = threads_for(target, plan);
  double seconds = 0;
  double tokens = 0;
  for (const schedules::OutputTile& output : plan.outputs) {
    const double weight = std::max(1, kv_range(workload, output).size());
    seconds += weight * tile_seconds(target, probed, workload.geometry, output.rows());
    tokens += weight;
  }
  const std::vector<double>& rates = probed != nullptr && !probed->read_bytes_per_second.empty()
                                         ? probed->read_bytes_per_second
                                         : cpu_reference::kv_read_bytes_per_second(*target.cpu, workload);
  simulator::CpuFigures of_plan =
      figures(*target.cpu, rates, tokens > 0 ? seconds / tokens : target.cpu->token_seconds_per_kv_byte);
  if (target.probed) of_plan.fork_seconds = target.probed->fork_seconds;
  return simulator::cpu_machine(of_plan);
}

}  // namespace splitwave::studies
