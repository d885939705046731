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

/// Tokens of KV heads that the items of a plan read, K and V together, by where they come from.
struct KvTokens {
  std::int64_t dram = 0;
  std::int64_t together = 0;  ///< from L2, asked for while another list's request is still on its way from DRAM
  std::int64_t l2 = 0;        ///< from L2, which had them
};

/// Where tokens come from if items share K and V, by the list that read a token before: lists of the first wave, of
/// `resident`, start together; later ones fall out of step, and find what at most `kept` lists before them have read,
/// or they themselves; else DRAM delivers it again. Lists count in the order of the plan.
KvTokens count_shared_reads(const workloads::Workload& workload, const schedules::Plan& plan, std::int64_t resident,
                            std::int64_t kept);

/// Bytes of one row of a partial result: fp32, with its LSE.
std::int64_t partial_row_bytes(const workloads::Geometry& geometry);

/// All bytes of a plan that was run with the result `read`. A host that merges in the kernel (MergeKind::host_cta)
/// keeps its own partial to itself.
schedules::Traffic count_traffic(const workloads::Workload& workload, const schedules::Plan& plan, const Work& work,
                                 const EngineResult& read, bool merges_in_kernel);

}  // namespace splitwave::simulator
