// SPDX-License-Identifier: Apache-2.0
// The sequence-aware policy of arXiv 2604.00028 within FlashAttention-3's seqused_k path.
#include <fmt/core.h>

#include "base/error.h"
#include "schedules/fa3_call.h"
#include "schedules/schedule_functions.h"

namespace splitwave::schedules {
namespace {

/// What is known of the evolved heuristic (Figure 1): 12 or 16 splits for a single short prompt. Which length gets
/// which is not published; 16 if that many splits of all tiles find an SM each, else 12.
SplitChoice evolved_num_splits(const workloads::Workload& workload, const Fa3Call& call) {
  constexpr std::int32_t guard_tokens = 512;
  if (workload.requests.size() != 1 || workload.requests.front().context_len > guard_tokens) {
    return fa3_num_splits(call.split);
  }
  if (16 * call.split.total_mblocks <= call.split.num_sms) {
    return {16,
            "one short prompt and 16 splits of every tile fit on the SMs (12 or 16 is published, which one is not)"};
  }
  return {12, "one short prompt and 16 splits of every tile exceed the SMs (12 or 16 is published, which one is not)"};
}

}  // namespace

Plan seq_aware(const workloads::Workload& workload, const Grid& grid, std::string_view argument) {
  const Fa3Call call = fa3_call(workload, grid, true);
  if (argument == "evolved") {
    const SplitChoice choice = evolved_num_splits(workload, call);
    Plan plan = fa3_queue(workload, grid, call, choice.num_splits);
    plan.reason =
        fa3_reason("Evolved heuristic as far as it is known (arXiv 2604.00028, Figure 1)", call, choice, plan);
    return plan;
  }
  if (!argument.empty()) {
    throw base::InputError(
        fmt::format("schedule seq-aware: argument '{}' is not allowed; allowed is evolved, or nothing", argument));
  }
  const SplitChoice choice = seq_aware_num_splits(call.split);
  Plan plan = fa3_queue(workload, grid, call, choice.num_splits);
  plan.reason = fa3_reason(
      "Sequence-aware policy (arXiv 2604.00028, Figure 2; flash-attention PR 2445, whose tiles are batch x KV heads)",
      call, choice, plan);
  return plan;
}

}  // namespace splitwave::schedules
