// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "schedules/plan.h"

namespace splitwave::schedules {

/// Every broken invariant of schedules/plan.h in words, with the offending index and values; empty for a valid plan.
std::vector<std::string> violations(const workloads::Workload& workload, const Plan& plan);

/// Throws std::logic_error with the first violation: a plan that breaks the contract is a bug, not bad input.
void validate(const workloads::Workload& workload, const Plan& plan);

/// One invariant of schedules/plan.h: appends what is broken to `problems`.
using Invariant = void (*)(const workloads::Workload& workload, const Plan& plan, std::vector<std::string>& problems);

/// Indices and sizes are in range, so that the other checks may follow them. Checked first; if it fails, alone.
void check_indices(const workloads::Workload& workload, const Plan& plan, std::vector<std::string>& problems);
/// 1. Outputs partition the batch's output rows.
void check_outputs(const workloads::Workload& workload, const Plan& plan, std::vector<std::string>& problems);
/// 2. cta_begin starts at 0, never decreases and ends at items.size().
void check_lists(const workloads::Workload& workload, const Plan& plan, std::vector<std::string>& problems);
/// 3. The items of an output partition its KV range; inner cuts are multiples of tile_kv.
void check_partition(const workloads::Workload& workload, const Plan& plan, std::vector<std::string>& problems);
/// 4. Empty items: the one item of an empty range, or padding of a grid or queue whose merge is a kernel.
void check_empty_items(const workloads::Workload& workload, const Plan& plan, std::vector<std::string>& problems);
/// 5. Slots are dense from 0, consecutive within an output and ascend with kv_begin; whole outputs have none.
void check_slots(const workloads::Workload& workload, const Plan& plan, std::vector<std::string>& problems);
/// 6. One merge per split output, over all its slots, in ascending order of slots.
void check_merges(const workloads::Workload& workload, const Plan& plan, std::vector<std::string>& problems);
/// 7. Workers belong to queues only; nothing waits for a CTA that waits, or that may not be resident.
void check_dispatch(const workloads::Workload& workload, const Plan& plan, std::vector<std::string>& problems);

}  // namespace splitwave::schedules
