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

/// What decides where a token that was read before comes from.
struct Sharing {
  std::int64_t resident = 1;    ///< lists that run at a time
  double kept_tokens = 0;       ///< that L2 keeps
  double in_flight_tokens = 0;  ///< of a list, asked for and not there yet
  double drift = 0;  ///< share of a list by which each wave's starts are farther apart than those of the last
};

/// Where tokens come from if items share K and V, by the time between two reads of each: a list starts where the place
/// of an earlier one becomes free, and all read token after token at the same rate. L2 has the token still if all lists
/// together have read no more meanwhile than it keeps; else DRAM delivers it again. The first wave starts at once. With
/// a drift the places of later ones fall out of step, the last one of a wave by `drift` of a mean list more each wave,
/// until they are spread evenly over a list.
KvTokens count_shared_reads(const workloads::Workload& workload, const schedules::Plan& plan, const Sharing& sharing);

/// Bytes of one row of a partial result: fp32, with its LSE.
std::int64_t partial_row_bytes(const workloads::Geometry& geometry);

/// All bytes of a plan that was run with the result `read`. host_keeps_its_own: of each output's partials one stays
/// with the CTA that merges them in the kernel (hosts_merge()).
schedules::Traffic count_traffic(const workloads::Workload& workload, const schedules::Plan& plan, const Work& work,
                                 const EngineResult& read, bool host_keeps_its_own);

}  // namespace splitwave::simulator
