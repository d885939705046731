// SPDX-License-Identifier: Apache-2.0
// A plan as a kernel for head pairs sees it. Private to gpu/.
#pragma once

#include "gpu/addressing.h"
#include "gpu/kernel_config.h"
#include "schedules/head_pairs.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// schedules::head_pairs(), with the addressing for them in place of `addressing` (none, where only the plan is asked
/// for). Throws InputError if there are none, or heads do not lie side by side.
schedules::HeadPairs head_pairs(const workloads::Workload& workload, const schedules::Plan& plan,
                                const KernelConfig& config, KvAddressing& addressing);

}  // namespace splitwave::gpu
