// SPDX-License-Identifier: Apache-2.0
#include "studies/this_cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "cpu_reference/overlap.h"

namespace splitwave::studies {
namespace {

simulator::CpuFigures figures(const cpu_reference::CpuConstants& constants,
                              const std::vector<double>& read_bytes_per_second) {
  simulator::CpuFigures result;
  result.model = constants.model;
  result.read_bytes_per_second = read_bytes_per_second;
  result.seconds_per_kv_byte = constants.token_seconds_per_kv_byte;
  result.overlap = constants.overlap;
  result.fork_seconds = constants.fork_seconds;
  result.list_seconds = constants.list_seconds;
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

/// Share of the K and V that the plan's threads read next to what they read just before: of the same request. Of lists
/// that a queue hands out a thread's next is taken to be as many further as there are threads.
double read_by_heads_share(const schedules::Plan& plan, std::int32_t threads) {
  double near = 0;
  double all = 0;
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    const auto before_list = list < threads ? std::span<const schedules::Item>() : plan.list(list - threads);
    const schedules::Item* before = before_list.empty() ? nullptr : &before_list.back();
    for (const schedules::Item& item : plan.list(list)) {
      const std::int32_t request = plan.outputs[item.output].request;
      if (before != nullptr) {
        all += item.tokens();
        if (plan.outputs[before->output].request == request) near += item.tokens();
      }
      before = &item;
    }
  }
  return all > 0 ? near / all : 1;
}

/// Bandwidth by threads of what is read in both orders, `share` of it by heads.
std::vector<double> mean_bandwidths(const cpu_reference::ProbedThreads& probed, double share) {
  std::vector<double> rates;
  for (std::size_t i = 0; i < probed.read_by_heads.size(); ++i) {
    rates.push_back(1 / (share / probed.read_by_heads[i] + (1 - share) / probed.read_by_requests[i]));
  }
  return rates;
}

/// What outputs of so many rows cost.
struct RowsFigures {
  double seconds_per_kv_byte = 0;
  double overlap = 0;
  double list_seconds = 0;
  double item_seconds = 0;
};

/// By what is known best.
RowsFigures figures_of_rows(const Target& target, const cpu_reference::ProbedThreads* probed,
                            const workloads::Geometry& geometry, std::int32_t rows) {
  const cpu_reference::CpuConstants& cpu = *target.cpu;
  const auto constants = [&] {
    return RowsFigures{cpu_reference::tile_seconds_per_kv_byte(cpu, geometry, rows), cpu.overlap, cpu.list_seconds,
                       cpu.item_seconds};
  };
  if (probed == nullptr || probed->read_by_heads.empty()) return constants();
  const auto found = probed->rows.find(rows);
  if (found == probed->rows.end()) return constants();
  const cpu_reference::ProbedRows& costs = found->second;
  const double memory = static_cast<double>(probed->read_by_heads.size()) / probed->read_by_heads.back();
  const double overlap =
      cpu_reference::overlap_exponent(memory, costs.tile_seconds_per_kv_byte, costs.stream_seconds_per_kv_byte);
  return {costs.tile_seconds_per_kv_byte, overlap, costs.list_seconds, costs.item_seconds};
}

/// Fills in what the plan's outputs cost: of bytes the mean over their KV tokens, of lists and items that over outputs.
void add_costs(const Target& target, const cpu_reference::ProbedThreads* probed, const workloads::Workload& workload,
               const schedules::Plan& plan, simulator::CpuFigures& figures) {
  if (plan.outputs.empty()) return;
  std::map<std::int32_t, RowsFigures> known;
  double tokens = 0;
  RowsFigures sum;
  for (const schedules::OutputTile& output : plan.outputs) {
    auto [found, is_new] = known.try_emplace(output.rows());
    if (is_new) found->second = figures_of_rows(target, probed, workload.geometry, output.rows());
    const RowsFigures& costs = found->second;
    const double weight = std::max(1, kv_range(workload, output).size());
    tokens += weight;
    sum.seconds_per_kv_byte += weight * costs.seconds_per_kv_byte;
    sum.overlap += weight * costs.overlap;
    sum.list_seconds += costs.list_seconds;
    sum.item_seconds += costs.item_seconds;
  }
  const auto outputs = static_cast<double>(plan.outputs.size());
  for (const auto& [rows, costs] : known) figures.seconds_per_kv_byte_of_rows[rows] = costs.seconds_per_kv_byte;
  figures.seconds_per_kv_byte = sum.seconds_per_kv_byte / tokens;
  figures.overlap = sum.overlap / tokens;
  figures.list_seconds = sum.list_seconds / outputs;
  figures.item_seconds = sum.item_seconds / outputs;
}

}  // namespace

Target this_cpu(std::int32_t threads, bool measure_cpu) {
  base::require_threads(threads);
  Target target;
  cpu_reference::KnownCpu known = cpu_reference::cached_cpu_constants(threads, measure_cpu);
  target.cpu = std::move(known.constants);
  target.note = std::move(known.note);
  target.machine = simulator::cpu_machine(figures(*target.cpu, target.cpu->read_bytes_per_second));
  target.name = fmt::format("{} ({} thread{})", target.cpu->model, threads, threads == 1 ? "" : "s");
  return target;
}

simulator::Machine cpu_for(const Target& target, const workloads::Workload& workload, const schedules::Plan& plan) {
  const cpu_reference::ProbedThreads* const probed = threads_for(target, plan);
  const bool read = probed != nullptr && !probed->read_by_heads.empty();
  simulator::CpuFigures of_plan =
      figures(*target.cpu, read ? mean_bandwidths(*probed, read_by_heads_share(plan, target.machine.sms))
                                : cpu_reference::kv_read_bytes_per_second(*target.cpu, workload));
  if (target.probed) of_plan.fork_seconds = target.probed->fork_seconds;
  add_costs(target, probed, workload, plan, of_plan);
  return simulator::cpu_machine(of_plan);
}

}  // namespace splitwave::studies
