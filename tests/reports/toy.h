// SPDX-License-Identifier: Apache-2.0
// LeanAttention's Figure 1 (arXiv 2405.10480): 5 SMs, 2 heads of 5 tiles, with a clock of its own, so that pictures of
// it do not change with the simulator's constants.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "schedules/schedules.h"
#include "schedules/timeline.h"
#include "workloads/workload.h"

namespace splitwave::tests {

inline constexpr std::int32_t kToyTile = 128;

inline workloads::Workload toy_workload() {
  workloads::Workload workload;
  workload.name = "figure 1";
  workload.geometry.kind = workloads::AttentionKind::mha;
  workload.geometry.query_heads = 2;
  workload.geometry.kv_heads = 2;
  workload.geometry.head_dim = 64;
  workload.geometry.value_dim = 64;
  workload.requests = {{1, 5 * kToyTile}};
  return workload;
}

inline schedules::Plan toy_plan(const std::string& schedule) {
  return schedules::make_plan(schedule, toy_workload(),
                              {.sms = 5, .ctas_per_sm = 1, .tile_q = 64, .tile_kv = kToyTile});
}

/// A microsecond per tile, half a microsecond per merge after everything; lists start in order on the SM that is free
/// first.
inline schedules::Timeline toy_timeline(const schedules::Plan& plan) {
  constexpr double kTileSeconds = 1e-6;
  constexpr double kMergeSeconds = 0.5e-6;
  schedules::Timeline timeline;
  std::vector<double> free_at(5, 0);
  const auto place = [&](std::int32_t cta, std::int32_t item, double seconds) {
    const auto sm = std::min_element(free_at.begin(), free_at.end()) - free_at.begin();
    double& now = free_at[static_cast<std::size_t>(sm)];
    timeline.spans.push_back({cta, static_cast<std::int32_t>(sm), 0, item, now, now + seconds});
    now += seconds;
    return now;
  };
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    const auto sm = static_cast<std::int32_t>(std::min_element(free_at.begin(), free_at.end()) - free_at.begin());
    for (std::int32_t item = plan.cta_begin[static_cast<std::size_t>(list)];
         item < plan.cta_begin[static_cast<std::size_t>(list) + 1]; ++item) {
      const double seconds =
          kTileSeconds * static_cast<double>(schedules::tiles(plan, plan.items[static_cast<std::size_t>(item)]));
      double& now = free_at[static_cast<std::size_t>(sm)];
      timeline.spans.push_back({list, sm, 0, item, now, now + seconds});
      now += seconds;
    }
  }
  const double barrier = *std::max_element(free_at.begin(), free_at.end());
  if (!plan.merges.empty()) std::fill(free_at.begin(), free_at.end(), barrier);
  for (std::size_t merge = 0; merge < plan.merges.size(); ++merge) {
    place(plan.lists() + static_cast<std::int32_t>(merge), -1, kMergeSeconds);
  }
  timeline.seconds = *std::max_element(free_at.begin(), free_at.end());
  return timeline;
}

}  // namespace splitwave::tests
