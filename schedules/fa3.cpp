// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "schedules/fa3_call.h"
#include "schedules/schedule_functions.h"

namespace splitwave::schedules {

Plan fa3(const workloads::Workload& workload, const Grid& grid, std::string_view /*argument*/) {
  const Fa3Call call = fa3_call(workload, grid, true);
  const SplitChoice choice = fa3_num_splits(call.split);
  Plan plan = fa3_queue(workload, grid, call, choice.num_splits);
  plan.reason = fa3_reason("FlashAttention-3 with seqused_k (hopper/heuristics.h:25-59)", call, choice, plan);
  return plan;
}

std::string_view fa3_kernel(const workloads::Workload& workload, std::string_view /*argument*/,
                            std::int32_t /*num_splits*/) {
  // One build per head dim and way to load K and V: by TMA, or by cp.async where pages are small.
  const std::int32_t head_dim = workload.geometry.head_dim;
  const bool paged = workload.kv.layout == workloads::KvLayout::paged;
  if (head_dim <= 64) return paged ? "fa3-d64-paged" : "fa3-d64";
  if (head_dim <= 128) return paged ? "fa3-d128-paged" : "fa3-d128";
  return "fa3-d256";
}

}  // namespace splitwave::schedules
