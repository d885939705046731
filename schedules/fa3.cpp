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

}  // namespace splitwave::schedules
