// SPDX-License-Identifier: Apache-2.0
// A plan as a kernel for head pairs sees it. Private to gpu/.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/addressing.h"
#include "gpu/kernel_config.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

struct HeadPairs {
  workloads::Workload workload;
  KvAddressing addressing;
  schedules::Plan plan;
  std::vector<std::int32_t> first_item;  ///< of the caller's plan, for each item
};

/// Throws InputError if the plan has no such form (schedules::with_head_pairs()), or heads do not lie side by side.
/// addressing: none, where only the plan is asked for.
HeadPairs head_pairs(const workloads::Workload& workload, const KvAddressing& addressing, const schedules::Plan& plan,
                     const KernelConfig& config);

}  // namespace splitwave::gpu
