// SPDX-License-Identifier: Apache-2.0
// FlashAttention-2's tile and split rules. Source: Dao-AILab/flash-attention at 0251105a, csrc/flash_attn.
#pragma once

#include <cstdint>

#include "schedules/rules/split_choice.h"
#include "schedules/rules/tile_shape.h"
#include "workloads/workload.h"

namespace splitwave::schedules {

/// FA2's num_splits_heuristic (flash_api.cpp:281-315). num_sms is what the caller passes: twice the SM count since
/// v2.5.7, the SM count up to v2.5.6.
SplitChoice fa2_num_splits(std::int64_t batch_nheads_mblocks, std::int32_t num_sms, std::int64_t num_n_blocks,
                           std::int32_t max_splits);

/// KV tokens per tile of the split kernel, and of the split rule (flash_api.cpp:323, flash_fwd_launch_template.h:184).
std::int32_t fa2_split_block_n(std::int32_t head_size);

/// Query rows of a tile of the split kernel (flash_fwd_launch_template.h:181).
inline constexpr std::int32_t kFa2SplitBlockM = 64;

/// Tile of an unsplit launch (flash_fwd_launch_template.h): the standard forward kernel on sm80/sm90, or, for a paged
/// cache, the split kernel run with one split (:174-176).
TileShape fa2_unsplit_tile(std::int32_t head_size, bool paged_kv);

/// Whether the query heads of a group become rows of one KV head (flash_api.cpp:1319-1325): one query token, more
/// query heads than KV heads, no window, head size a multiple of 8.
bool fa2_swaps_groups(const workloads::Geometry& geometry, std::int32_t max_seqlen_q);

}  // namespace splitwave::schedules
