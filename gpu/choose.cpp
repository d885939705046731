// SPDX-License-Identifier: Apache-2.0
#include "gpu/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "gpu/compiled_kernels.h"
#include "gpu/contention.h"
#include "gpu/encode.h"
#include "schedules/schedules.h"

namespace splitwave::gpu {

using schedules::Plan;
using workloads::Workload;

namespace {

constexpr std::int32_t kTileKv = 64;
/// CTAs in clusters of 4 or 8 that the hardware lays eight to a GPC. More crowd some GPCs, or wait for a whole
/// cluster's room, and were measured up to 20 % slower than single CTAs and pairs.
constexpr std::int32_t kMostInLargeClusters = 64;
constexpr double kDoesNotFit = 1e30;  ///< seconds: the kernel does not fit

bool uniform(const Workload& w) {
  return std::all_of(w.requests.begin(), w.requests.end(),
                     [&](const workloads::Request& r) { return r == w.requests.front(); });
}

double tokens_per_item(const Plan& plan) {
  double tokens = 0;
  for (const schedules::Item& item : plan.items) tokens += item.tokens();
  return plan.items.empty() ? 0 : tokens / static_cast<double>(plan.items.size());
}

double longest_item_tokens(const Plan& plan) {
  std::int32_t longest = 1;
  for (const schedules::Item& item : plan.items) longest = std::max(longest, item.tokens());
  return longest;
}

std::int32_t most_parts(const Plan& plan) {
  std::int32_t most = 1;
  for (const schedules::Merge& merge : plan.merges) most = std::max(most, merge.slot_end - merge.slot_begin);
  return most;
}

}  // namespace

double chunk_seconds(const workloads::Geometry& geometry, const KernelConfig& config, const CostConstants& constants) {
  const double bytes = static_cast<double>(config.tokens) * geometry.head_dim * 4;
  const double rows = config.row_tiles == 1   ? 1
                      : config.row_tiles == 2 ? constants.chunk_two_row_tiles
                                              : constants.chunk_four_row_tiles;
  return (constants.chunk_seconds + bytes * constants.chunk_seconds_per_byte) * rows;
}

namespace {

/// From the last data of an item to the end of its CTA.
double end_seconds(const workloads::Geometry& geometry, const KernelConfig& config, const CostConstants& constants) {
  const double chunk = chunk_seconds(geometry, config, constants);
  if (config.stages == 1) return chunk + constants.whole_item_seconds;
  const double fragments = static_cast<double>(config.row_tiles) * geometry.head_dim / 16 / config.warps;  // of a warp
  return chunk + constants.end_seconds_per_warp * config.warps + constants.end_seconds_per_fragment * fragments;
}

double cluster_seconds(const KernelConfig& config, const CostConstants& constants) {
  if (config.stages > 1) return constants.cluster_seconds;
  return constants.whole_item_cluster_seconds + constants.whole_item_seconds_per_rank * config.cluster;
}

}  // namespace

double memory_bytes_per_second(double bytes_in_flight, const CostConstants& constants) {
  // The load rho solves rho * asymptote * (latency + queue * rho / (1 - rho)) = bytes in flight.
  const double a = constants.bytes_asymptote * (constants.latency_seconds - constants.queue_seconds);
  const double b = constants.bytes_asymptote * constants.latency_seconds + bytes_in_flight;
  const double rho = (b - std::sqrt(b * b - 4 * a * bytes_in_flight)) / (2 * a);
  return std::min(constants.bytes_per_second, rho * constants.bytes_asymptote);
}

double predict_seconds(const Workload& workload, const Plan& plan, const KernelConfig& config, const Residency& where,
                       const CostConstants& constants) {
  if (where.workers == 0) return kDoesNotFit;
  const workloads::Geometry& g = workload.geometry;
  const std::int64_t workers = std::min<std::int64_t>(where.workers, plan.lists());
  const double chunk = chunk_seconds(g, config, constants);
  const double chunk_bytes = static_cast<double>(config.tokens) * g.head_dim * 4;
  const double tokens = tokens_per_item(plan) / config.cluster;
  const double step = static_cast<double>(config.warps) * config.tokens;
  const double active = tokens > 0 ? tokens / (step * std::ceil(tokens / step)) : 1;  // share of warps with a chunk
  const double ctas_per_sm = std::max(1.0, static_cast<double>(workers) * config.cluster / constants.sms);
  const bool whole_item = config.stages == 1;  // all requests before all arithmetic: only the SM's own rate bounds it
  const double warps_rate = whole_item ? constants.sm_bytes_per_second : active * config.warps * chunk_bytes / chunk;
  const double cta_rate = std::min(warps_rate, constants.sm_bytes_per_second / ctas_per_sm);
  const double end = end_seconds(g, config, constants);
  const bool ragged = !uniform(workload);
  const double learning = fits_single_item_kernel(workload, plan, config)
                              ? (ragged ? constants.table_seconds : 0)
                              : constants.list_kernel_seconds;  // which item, by what code
  const double wave = end + (ragged && config.cluster > 1 ? constants.cluster_wave_seconds * config.cluster : 0);
  const auto token_bytes = static_cast<double>(workloads::kv_bytes_per_token(g));
  ContentionLimits limits;
  limits.worker_rate = cta_rate * config.cluster;
  limits.worker_bytes_in_flight = std::min(static_cast<double>(config.bytes_in_flight(g.head_dim) * config.cluster),
                                           longest_item_tokens(plan) * token_bytes);
  limits.memory_bytes_per_second = [&](double bytes) { return memory_bytes_per_second(bytes, constants); };
  limits.fair_bytes = constants.fair_bytes;
  limits.port_bytes = constants.port_bytes;
  limits.port_excess = constants.port_excess;
  const auto ctas = static_cast<std::int32_t>(workers) * config.cluster;
  const bool even = config.cluster > 2 && ctas <= kMostInLargeClusters;
  Contention machine(limits, even ? std::vector<PortLoad>{{24, static_cast<double>(ctas)}} : h200_port_loads(ctas));
  const auto start = [&](std::int32_t list, bool first) {
    double bytes = 0;
    for (const schedules::Item& item : plan.list(list)) bytes += item.tokens() * token_bytes;
    const double further = std::max(0.0, static_cast<double>(plan.list(list).size()) - 1);
    machine.start((first ? constants.first_data_seconds : constants.later_data_seconds + wave) + learning +
                      further * (constants.item_seconds + end),
                  bytes);
  };
  std::int32_t next = 0;
  for (; next < workers; ++next) start(next, true);
  while (machine.run_to_end_of_list()) {
    if (next < plan.lists()) start(next++, false);
  }
  double seconds = constants.launch_seconds + machine.now() + end;
  if (config.cluster > 1) seconds += cluster_seconds(config, constants);
  const std::int32_t parts = most_parts(plan);
  if (parts > 1) seconds += constants.merge_seconds + constants.merge_seconds_per_part * parts / config.cluster;
  return seconds;
}

bool overlap_pays(const Workload& workload, const Plan& plan, const Residency& where) {
  constexpr std::int64_t kSmallBytes = 8'000'000;
  constexpr double kFull = 0.9;
  return workloads::kv_bytes(workload) < kSmallBytes || plan.lists() >= kFull * where.workers;
}

namespace {

/// Schedules worth considering with a kernel of this grid.
std::vector<std::string> schedules_worth_trying(const Workload& workload, const KernelConfig& config,
                                                const schedules::Grid& grid) {
  if (config.stages == 1) return {"fixed-split:1"};
  std::vector<std::string> names = {"lean+last_arriver"};
  if (uniform(workload)) {
    const std::int64_t outputs = static_cast<std::int64_t>(workload.requests.size()) * workload.geometry.kv_heads;
    const std::int32_t longest = workloads::padded_context_len(workload);
    for (const std::int32_t splits : {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128}) {
      const bool crowded = outputs * splits > std::int64_t{4} * grid.resident();
      if (splits > 1 && (crowded || longest < splits * config.cluster * kTileKv)) break;
      names.push_back(splits == 1 ? "fixed-split:1" : fmt::format("fixed-split:{}+last_arriver", splits));
    }
  } else {
    const std::int64_t tokens = workloads::kv_bytes(workload) / workloads::kv_bytes_per_token(workload.geometry);
    for (std::int32_t size = 256; size <= (1 << 18); size *= 2) {
      if (tokens / size <= std::int64_t{16} * grid.resident())
        names.push_back(fmt::format("fixed-size:{}+last_arriver", size));
    }
  }
  return names;
}

/// Configs of the least row tiles that hold the workload's rows.
std::vector<KernelConfig> configs_worth_trying(const Workload& workload, const Device& device) {
  const std::int32_t queries = std::max(1, workloads::max_query_len(workload));
  const std::int32_t row_tiles = row_tiles_for(workload.geometry, workload.geometry.group() * queries);
  std::vector<KernelConfig> all = kernel_configs(workload, device);
  for (const KernelConfig& config : whole_item_configs(workload, device)) all.push_back(config);
  std::erase_if(all, [&](const KernelConfig& v) { return v.row_tiles != row_tiles; });
  return all;
}

}  // namespace

DeviceFacts current_device_facts() {
  return {current_device(), residency};
}

std::vector<PlannedLaunch> candidates(const Workload& workload, const DeviceFacts& device) {
  std::vector<PlannedLaunch> all;
  for (const KernelConfig& config : configs_worth_trying(workload, device.limits)) {
    schedules::Grid grid = grid_of(device.residency(workload, config), config);
    if (grid.sms == 0) continue;
    grid.tile_q = 8 * config.row_tiles;
    grid.tile_kv = kTileKv;
    for (const std::string& name : schedules_worth_trying(workload, config, grid)) {
      PlannedLaunch choice{config, schedules::make_plan(name, workload, grid), 0};
      const std::int32_t lists = choice.plan.lists();
      const bool later_waves = config.cluster > 2 && lists > grid.resident();  // of clusters: measured slow
      if (config.stages == 1 && (later_waves || !fits_single_item_kernel(workload, choice.plan, config))) continue;
      if (config.stages > 1 && config.cluster > 2 && lists * config.cluster > kMostInLargeClusters) continue;
      all.push_back(std::move(choice));
    }
  }
  return all;
}

namespace {

PlannedLaunch least(std::vector<PlannedLaunch> all, const Workload& workload, const CostConstants& constants,
                    const DeviceFacts& device) {
  PlannedLaunch best;
  best.predicted_seconds = kDoesNotFit;
  for (PlannedLaunch& candidate : all) {
    candidate.predicted_seconds = predict_seconds(workload, candidate.plan, candidate.config,
                                                  device.residency(workload, candidate.config), constants);
    if (candidate.predicted_seconds < best.predicted_seconds) best = std::move(candidate);
  }
  if (best.predicted_seconds == kDoesNotFit) {
    throw base::InputError(fmt::format("workload {}: no kernel fits on the device", workload.name));
  }
  return best;
}

}  // namespace

PlannedLaunch choose(const Workload& workload, const CostConstants& constants, const DeviceFacts& device) {
  PlannedLaunch best = least(candidates(workload, device), workload, constants, device);
  best.plan.reason = fmt::format("{} with kernel {} has the least predicted time, {:.2f} us. {}", best.plan.schedule,
                                 to_string(best.config), best.predicted_seconds * 1e6, best.plan.reason);
  return best;
}

PlannedLaunch choose_kernel(const std::string& schedule, const Workload& workload, const CostConstants& constants,
                            const DeviceFacts& device) {
  std::vector<PlannedLaunch> all;
  for (const KernelConfig& config : kernel_configs(workload, device.limits)) {
    if (config.cluster > 1) continue;
    const schedules::Grid grid = grid_of(device.residency(workload, config), config);
    if (grid.sms == 0) continue;
    PlannedLaunch choice{config, schedules::make_plan(schedule, workload, grid), 0};
    const std::int32_t row_tiles = row_tiles_for(workload.geometry, size_of(choice.plan).most_rows);
    if (config.row_tiles == row_tiles) all.push_back(std::move(choice));
  }
  return least(std::move(all), workload, constants, device);
}

}  // namespace splitwave::gpu
