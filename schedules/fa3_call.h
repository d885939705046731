// SPDX-License-Identifier: Apache-2.0
// A workload as FlashAttention-3's kv-cache call sees it. Source: Dao-AILab/flash-attention at 0251105a, hopper/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schedules/grid.h"
#include "schedules/plan.h"
#include "schedules/rules/fa3.h"
#include "workloads/workload.h"

namespace splitwave::schedules {

struct Fa3Call {
  TileShape tile;
  bool is_causal = false;  ///< after FA3 turned it off for single-token queries (flash_api.cpp:799-804)
  bool is_local = false;
  bool paged_kv_non_tma = false;
  bool varlen_q = false;  ///< query lengths differ, so that cu_seqlens_q is given
  std::int32_t seqlen_q = 0;
  std::int32_t seqlen_k = 0;  ///< padded: cache length, or pages times page size
  Fa3SplitArguments split;    ///< what the static rule sees (get_num_splits, flash_api.cpp:442-469)
};

/// dynamic_splits: the lengths come as seqused_k, for which the static rule takes the batch as 1.
Fa3Call fa3_call(const workloads::Workload& workload, const Grid& grid, bool dynamic_splits);

/// Whether groups are packed once num_splits is known (get_pack_gqa, flash_api.cpp:426-440).
bool fa3_packs(const workloads::Geometry& geometry, const Fa3Call& call, std::int32_t num_splits);

/// The varlen launch (VarlenDynamicPersistentTileScheduler, tile_scheduler.hpp:493-817): splits per request from the
/// dynamic rule, requests by blocks per split, a queue of tiles for one CTA per SM.
Plan fa3_queue(const workloads::Workload& workload, const Grid& grid, const Fa3Call& call, std::int32_t num_splits);

/// Both rules with the numbers that went in, in words, for Plan::reason. `rule` names the static rule and its source.
std::string fa3_reason(std::string_view rule, const Fa3Call& call, const SplitChoice& choice, const Plan& plan);

}  // namespace splitwave::schedules
