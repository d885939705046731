// SPDX-License-Identifier: Apache-2.0
// Plans as kernels see them that read pairs of KV heads: where a token's rows of two KV heads lie side by side, a CTA
// reads them as one row of twice the elements (docs/kernels.md, "Kernels for head pairs").
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::schedules {

/// KV heads of a pair.
inline constexpr std::int32_t kHeadsOfPair = 2;

/// Whether the KV heads of each token come in pairs side by side: token after token (bshd or paged), an even number,
/// K and V of equal dims, and single queries, of which a tile holds the heads of both KV heads one after the other.
bool has_head_pairs(const workloads::Workload& workload);

/// The workload with each pair as one KV head of twice the dims, whose query heads are those of both. Its softmax scale
/// stays. To be called if has_head_pairs().
workloads::Workload with_head_pairs(const workloads::Workload& workload);

/// A workload with its plan.
struct HeadPairs {
  workloads::Workload workload;
  Plan plan;
  std::vector<std::int32_t> first_item;  ///< of the plan before, for each item: the one of the pair's first KV head
};

/// with_head_pairs() and the plan for it: an output, an item and a list for those of both KV heads. None unless each
/// list is one item of all query heads of a KV head, outputs are in the order of the heads, both heads of a pair are
/// cut alike and in one order, and no queue hands out lists.
std::optional<HeadPairs> head_pairs(const workloads::Workload& workload, const Plan& plan);

}  // namespace splitwave::schedules
