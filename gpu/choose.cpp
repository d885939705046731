// SPDX-License-Identifier: Apache-2.0
#include "gpu/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>

#include "schedules/schedules.h"
#include "workloads/error.h"

namespace splitwave::gpu {

using schedules::Plan;
using workloads::Workload;

namespace {

constexpr double kLatencySeconds = 1.15e-6;  // of memory under load
constexpr std::int32_t kTileKv = 64;

template <class T>
using Ascending = std::priority_queue<T, std::vector<T>, std::greater<>>;

/// Lists in the order of the plan onto workers; streaming workers share the memory's rate equally.
class Machine {
 public:
  Machine(double worker_rate, double total_rate) : worker_rate_(worker_rate), total_rate_(total_rate) {}

  /// A worker begins a list of `bytes` whose data come `latency` seconds from now.
  void start(double latency, double bytes) { waiting_.push({now_ + latency, bytes}); }

  /// Runs until a list ends; false if none is left.
  bool run_to_end_of_list() {
    while (!waiting_.empty() || !streaming_.empty()) {
      const double rate =
          streaming_.empty() ? 0 : std::min(worker_rate_, total_rate_ / static_cast<double>(streaming_.size()));
      const double ready = waiting_.empty() ? 1e30 : waiting_.top().first;
      const double done = streaming_.empty() ? 1e30 : now_ + (streaming_.top() - progress_) / rate;
      const double next = std::min(ready, done);
      progress_ += rate * (next - now_);
      now_ = next;
      if (done <= ready) {
        streaming_.pop();
        return true;
      }
      streaming_.push(progress_ + waiting_.top().second);
      waiting_.pop();
    }
    return false;
  }

  double now() const { return now_; }

 private:
  double worker_rate_;
  double total_rate_;
  double now_ = 0;
  double progress_ = 0;                           ///< bytes that a worker streaming since the start would have
  Ascending<std::pair<double, double>> waiting_;  ///< (ready, bytes)
  Ascending<double> streaming_;                   ///< progress at which each ends
};

bool uniform(const Workload& w) {
  return std::all_of(w.requests.begin(), w.requests.end(),
                     [&](const workloads::Request& r) { return r == w.requests.front(); });
}

std::int32_t most_parts(const Plan& plan) {
  std::int32_t most = 1;
  for (const schedules::Merge& merge : plan.merges) most = std::max(most, merge.slot_end - merge.slot_begin);
  return most;
}

}  // namespace

double cta_bytes_per_second(const workloads::Geometry& geometry, const Variant& variant) {
  // One chunk of a warp: a chain of latencies, then time by its bytes; all warps together are bound by the SM.
  const double chunk_bytes = static_cast<double>(variant.tokens) * geometry.head_dim * 4;
  const double rows = variant.row_tiles == 1 ? 1 : variant.row_tiles == 2 ? 1.25 : 2.2;
  const double chunk_seconds = (0.21e-6 + chunk_bytes * 2.6e-11) * rows;
  const double by_compute = variant.warps * chunk_bytes / chunk_seconds;
  const double by_latency = static_cast<double>(variant.bytes_in_flight(geometry.head_dim)) / kLatencySeconds;
  return std::min(by_compute, by_latency);
}

double predict(const Workload& workload, const Plan& plan, const Variant& variant, const Residency& where,
               const CostConstants& constants) {
  if (where.workers == 0) return 1e30;
  const std::int64_t workers = std::min<std::int64_t>(where.workers, plan.lists());
  const double ctas = static_cast<double>(workers) * variant.cluster;
  const double per_sm = std::max(1.0, ctas / constants.sms);
  const double cta_rate =
      std::min(cta_bytes_per_second(workload.geometry, variant), constants.sm_bytes_per_second / per_sm);
  const bool table = !uniform(workload) || plan.lists() != static_cast<std::int32_t>(plan.items.size());
  const auto token_bytes = static_cast<double>(workloads::kv_bytes_per_token(workload.geometry));
  Machine machine(cta_rate * variant.cluster, constants.bytes_per_second);
  const auto start = [&](std::int32_t list, bool first) {
    double bytes = 0;
    double latency = (first ? constants.first_data_seconds : constants.later_data_seconds) +
                     (table ? constants.table_seconds : 0) - constants.item_seconds;
    for (const schedules::Item& item : plan.list(list)) {
      bytes += item.tokens() * token_bytes;
      latency += constants.item_seconds;
    }
    machine.start(std::max(latency, 0.0), bytes);
  };
  std::int32_t next = 0;
  for (; next < workers; ++next) start(next, true);
  while (machine.run_to_end_of_list()) {
    if (next < plan.lists()) start(next++, false);
  }
  double seconds = constants.launch_seconds + machine.now() + constants.end_seconds_per_warp * variant.warps;
  if (variant.cluster > 1) seconds += constants.cluster_seconds;
  const std::int32_t parts = most_parts(plan);
  if (parts > 1) seconds += constants.merge_seconds + constants.merge_seconds_per_part * parts / variant.cluster;
  return seconds;
}

std::vector<Choice> candidates(const Workload& workload) {
  std::vector<Choice> all;
  const std::int64_t outputs = static_cast<std::int64_t>(workload.requests.size()) * workload.geometry.kv_heads;
  const std::int32_t rows = workload.geometry.group() * std::max(1, workloads::max_query_len(workload));
  const std::int32_t row_tiles = row_tiles_for(workload.geometry, rows);
  const std::int32_t longest = workloads::padded_context_len(workload);
  for (const Variant& variant : variants(workload)) {
    if (variant.row_tiles != row_tiles) continue;
    schedules::Grid grid = grid_of(workload, variant);
    if (grid.sms == 0) continue;
    grid.tile_q = 8 * row_tiles;
    grid.tile_kv = kTileKv;
    std::vector<std::string> names = {"lean"};
    if (uniform(workload)) {
      for (const std::int32_t splits : {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128}) {
        if (splits > 1 && (outputs * splits > 4 * grid.resident() || longest < splits * variant.cluster * kTileKv))
          break;
        names.push_back(fmt::format("fixed-split:{}", splits));
      }
    } else {
      const std::int64_t tokens = workloads::kv_bytes(workload) / workloads::kv_bytes_per_token(workload.geometry);
      for (std::int32_t size = 256; size <= (1 << 18); size *= 2) {
        if (tokens / size <= 16 * grid.resident()) names.push_back(fmt::format("fixed-size:{}", size));
      }
    }
    for (const std::string& name : names) {
      Choice choice{name, variant, schedules::make_plan(name, workload, grid), 0};
      if (choice.plan.merge != schedules::MergeKind::none) choice.plan.merge = schedules::MergeKind::last_arriver;
      all.push_back(std::move(choice));
    }
  }
  return all;
}

Choice choose(const Workload& workload, const CostConstants& constants) {
  Choice best;
  best.predicted_seconds = 1e30;
  for (Choice& candidate : candidates(workload)) {
    candidate.predicted_seconds =
        predict(workload, candidate.plan, candidate.variant, residency(workload, candidate.variant), constants);
    if (candidate.predicted_seconds < best.predicted_seconds) best = std::move(candidate);
  }
  if (best.plan.tile_kv == 0) throw workloads::InputError("choose: no kernel fits on the device");
  return best;
}

}  // namespace splitwave::gpu
