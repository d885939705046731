// SPDX-License-Identifier: Apache-2.0
#include "gpu/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "gpu/contention.h"
#include "gpu/encode.h"
#include "gpu/kernel_choice.h"
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

double chunk_seconds(const workloads::Geometry& geometry, const Variant& variant, const CostConstants& constants) {
  const double bytes = static_cast<double>(variant.tokens) * geometry.head_dim * 4;
  const double rows = variant.row_tiles == 1   ? 1
                      : variant.row_tiles == 2 ? constants.chunk_two_row_tiles
                                               : constants.chunk_four_row_tiles;
  return (constants.chunk_seconds + bytes * constants.chunk_seconds_per_byte) * rows;
}

namespace {

/// From the last data of an item to the end of its CTA.
double end_seconds(const workloads::Geometry& geometry, const Variant& variant, const CostConstants& constants) {
  const double chunk = chunk_seconds(geometry, variant, constants);
  if (variant.stages == 1) return chunk + constants.once_seconds;
  const double fragments =
      static_cast<double>(variant.row_tiles) * geometry.head_dim / 16 / variant.warps;  // of a warp
  return chunk + constants.end_seconds_per_warp * variant.warps + constants.end_seconds_per_fragment * fragments;
}

double cluster_seconds(const Variant& variant, const CostConstants& constants) {
  if (variant.stages > 1) return constants.cluster_seconds;
  return constants.once_cluster_seconds + constants.once_seconds_per_rank * variant.cluster;
}

}  // namespace

double memory_bytes_per_second(double bytes_in_flight, const CostConstants& constants) {
  // The load rho solves rho * asymptote * (latency + queue * rho / (1 - rho)) = bytes in flight.
  const double a = constants.bytes_asymptote * (constants.latency_seconds - constants.queue_seconds);
  const double b = constants.bytes_asymptote * constants.latency_seconds + bytes_in_flight;
  const double rho = (b - std::sqrt(b * b - 4 * a * bytes_in_flight)) / (2 * a);
  return std::min(constants.bytes_per_second, rho * constants.bytes_asymptote);
}

double predict(const Workload& workload, const Plan& plan, const Variant& variant, const Residency& where,
               const CostConstants& constants) {
  if (where.workers == 0) return kDoesNotFit;
  const workloads::Geometry& g = workload.geometry;
  const std::int64_t workers = std::min<std::int64_t>(where.workers, plan.lists());
  const double chunk = chunk_seconds(g, variant, constants);
  const double chunk_bytes = static_cast<double>(variant.tokens) * g.head_dim * 4;
  const double tokens = tokens_per_item(plan) / variant.cluster;
  const double step = static_cast<double>(variant.warps) * variant.tokens;
  const double busy = tokens > 0 ? tokens / (step * std::ceil(tokens / step)) : 1;  // share of warps with a chunk
  const double ctas_per_sm = std::max(1.0, static_cast<double>(workers) * variant.cluster / constants.sms);
  const bool once = variant.stages == 1;  // all requests before all arithmetic: only the SM's own rate bounds it
  const double warps_rate = once ? constants.sm_bytes_per_second : busy * variant.warps * chunk_bytes / chunk;
  const double cta_rate = std::min(warps_rate, constants.sm_bytes_per_second / ctas_per_sm);
  const double end = end_seconds(g, variant, constants);
  const bool ragged = !uniform(workload);
  const double learning = is_simple(workload, plan, variant) ? (ragged ? constants.table_seconds : 0)
                                                             : constants.general_seconds;  // which item, by what code
  const double wave = end + (ragged && variant.cluster > 1 ? constants.cluster_wave_seconds * variant.cluster : 0);
  const auto token_bytes = static_cast<double>(workloads::kv_bytes_per_token(g));
  StreamLimits limits;
  limits.worker_rate = cta_rate * variant.cluster;
  limits.worker_bytes_in_flight = std::min(static_cast<double>(variant.bytes_in_flight(g.head_dim) * variant.cluster),
                                           longest_item_tokens(plan) * token_bytes);
  limits.memory_bytes_per_second = [&](double bytes) { return memory_bytes_per_second(bytes, constants); };
  limits.fair_bytes = constants.fair_bytes;
  limits.port_bytes = constants.port_bytes;
  limits.port_excess = constants.port_excess;
  const auto ctas = static_cast<std::int32_t>(workers) * variant.cluster;
  const bool even = variant.cluster > 2 && ctas <= kMostInLargeClusters;
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
  if (variant.cluster > 1) seconds += cluster_seconds(variant, constants);
  const std::int32_t parts = most_parts(plan);
  if (parts > 1) seconds += constants.merge_seconds + constants.merge_seconds_per_part * parts / variant.cluster;
  return seconds;
}

bool overlap_pays(const Workload& workload, const Plan& plan, const Residency& where) {
  constexpr std::int64_t kSmallBytes = 8'000'000;
  constexpr double kFull = 0.9;
  return workloads::kv_bytes(workload) < kSmallBytes || plan.lists() >= kFull * where.workers;
}

namespace {

/// Schedules worth considering with a kernel of this grid.
std::vector<std::string> schedules_worth_trying(const Workload& workload, const Variant& variant,
                                                const schedules::Grid& grid) {
  if (variant.stages == 1) return {"fixed-split:1"};
  std::vector<std::string> names = {"lean+last_arriver"};
  if (uniform(workload)) {
    const std::int64_t outputs = static_cast<std::int64_t>(workload.requests.size()) * workload.geometry.kv_heads;
    const std::int32_t longest = workloads::padded_context_len(workload);
    for (const std::int32_t splits : {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128}) {
      const bool crowded = outputs * splits > std::int64_t{4} * grid.resident();
      if (splits > 1 && (crowded || longest < splits * variant.cluster * kTileKv)) break;
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

/// Variants of the least row tiles that hold the workload's rows.
std::vector<Variant> variants_worth_trying(const Workload& workload, const Device& device) {
  const std::int32_t queries = std::max(1, workloads::max_query_len(workload));
  const std::int32_t row_tiles = row_tiles_for(workload.geometry, workload.geometry.group() * queries);
  std::vector<Variant> all = variants(workload, device);
  for (const Variant& variant : once_variants(workload, device)) all.push_back(variant);
  std::erase_if(all, [&](const Variant& v) { return v.row_tiles != row_tiles; });
  return all;
}

}  // namespace

DeviceFacts current_device_facts() {
  return {current_device(), residency};
}

std::vector<Choice> candidates(const Workload& workload, const DeviceFacts& device) {
  std::vector<Choice> all;
  for (const Variant& variant : variants_worth_trying(workload, device.limits)) {
    schedules::Grid grid = grid_of(device.residency(workload, variant), variant);
    if (grid.sms == 0) continue;
    grid.tile_q = 8 * variant.row_tiles;
    grid.tile_kv = kTileKv;
    for (const std::string& name : schedules_worth_trying(workload, variant, grid)) {
      Choice choice{variant, schedules::make_plan(name, workload, grid), 0};
      const std::int32_t lists = choice.plan.lists();
      const bool later_waves = variant.cluster > 2 && lists > grid.resident();  // of clusters: measured slow
      if (variant.stages == 1 && (later_waves || !is_simple(workload, choice.plan, variant))) continue;
      if (variant.stages > 1 && variant.cluster > 2 && lists * variant.cluster > kMostInLargeClusters) continue;
      all.push_back(std::move(choice));
    }
  }
  return all;
}

namespace {

Choice least(std::vector<Choice> all, const Workload& workload, const CostConstants& constants,
             const DeviceFacts& device) {
  Choice best;
  best.predicted_seconds = kDoesNotFit;
  for (Choice& candidate : all) {
    candidate.predicted_seconds =
        predict(workload, candidate.plan, candidate.variant, device.residency(workload, candidate.variant), constants);
    if (candidate.predicted_seconds < best.predicted_seconds) best = std::move(candidate);
  }
  if (best.predicted_seconds == kDoesNotFit) {
    throw base::InputError(fmt::format("workload {}: no kernel fits on the device", workload.name));
  }
  return best;
}

}  // namespace

Choice choose(const Workload& workload, const CostConstants& constants, const DeviceFacts& device) {
  Choice best = least(candidates(workload, device), workload, constants, device);
  best.plan.reason = fmt::format("{} with kernel {} has the least predicted time, {:.2f} us. {}", best.plan.schedule,
                                 to_string(best.variant), best.predicted_seconds * 1e6, best.plan.reason);
  return best;
}

Choice choose_kernel(const std::string& schedule, const Workload& workload, const CostConstants& constants,
                     const DeviceFacts& device) {
  std::vector<Choice> all;
  for (const Variant& variant : variants(workload, device.limits)) {
    if (variant.cluster > 1) continue;
    const schedules::Grid grid = grid_of(device.residency(workload, variant), variant);
    if (grid.sms == 0) continue;
    Choice choice{variant, schedules::make_plan(schedule, workload, grid), 0};
    const std::int32_t row_tiles = row_tiles_for(workload.geometry, size_of(choice.plan).most_rows);
    if (variant.row_tiles == row_tiles) all.push_back(std::move(choice));
  }
  return least(std::move(all), workload, constants, device);
}

}  // namespace splitwave::gpu
