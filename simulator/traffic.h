// SPDX-License-Identifier: Apache-2.0
// How many bytes a plan moves, and whether K and V come from DRAM or from L2.
#pragma once

#include <cstdint>

#include "schedules/plan.h"
#include "schedules/timeline.h"
#include "simulator/engine.h"
#include "simulator/work.h"
#include "workloads/workload.h"

namespace splitwave::simulator {

/// Tokens of KV heads that the items of a plan read, K and V together.
struct KvTokens {
  std::int64_t dram = 0;
  std::int64_t l2 = 0;
};

/// What DRAM delivers where items share K and V: a token comes from L2 if a list fewer than `window` lists before has
/// read it (the list itself included), else from DRAM. Lists count in the order of the plan.
KvTokens count_shared_reads(const workloads::Workload& workload, const schedules::Plan& plan, std::int64_t window);

/// Bytes of one row of a partial result: fp32, with its LSE.
std::int64_t partial_row_bytes(const workloads::Geometry& geometry);

/// All bytes of a plan that was run with the result `read`. A host that merges in the kernel (MergeKind::host_cta)
/// keeps its own partial to itself.
schedules::Traffic count_traffic(const workloads::Workload& workload, const schedules::Plan& plan, const Work& work,
                                 const EngineResult& read, bool merges_in_kernel);

}  // namespace splitwave::simulator
