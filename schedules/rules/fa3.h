// SPDX-License-Identifier: Apache-2.0
// FlashAttention-3's tile, packing and split rules. Source: Dao-AILab/flash-attention at 0251105a, hopper/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedules/rules/split_choice.h"
#include "schedules/rules/tile_shape.h"

namespace splitwave::schedules {

/// What FA3's tile table looks at (tile_size.h:10-40, sm90, 16-bit elements).
struct Fa3TileArguments {
  std::int32_t headdim = 128;
  std::int32_t headdim_v = 128;
  bool is_causal = false;
  bool is_local = false;
  bool paged_kv_non_tma = false;
};

/// kBlockM and kBlockN (tile_size_fwd_sm90, tile_size.h:10-40).
TileShape fa3_tile(const Fa3TileArguments& arguments);

/// Whether the query heads of a group share a tile in an unsplit launch (should_pack_gqa, heuristics.h:9-17).
bool fa3_should_pack_gqa(bool varlen_q, std::int64_t seqlen_q, std::int64_t qhead_per_khead, std::int32_t block_m);

/// Arguments of num_splits_heuristic (heuristics.h:25).
struct Fa3SplitArguments {
  std::int64_t total_mblocks = 1;
  std::int32_t num_sms = 132;
  std::int64_t num_n_blocks = 1;
  std::int64_t num_m_blocks = 1;
  std::int64_t size_one_kv_head = 0;  ///< bytes of K and V of one head
  bool is_causal_or_local = false;
  std::int32_t max_splits = 128;
};

/// FA3's static number of splits (num_splits_heuristic, heuristics.h:25-59).
SplitChoice fa3_num_splits(const Fa3SplitArguments& arguments);

/// The same rule with the guard of arXiv 2604.00028, Figure 2 (Dao-AILab/flash-attention PR 2445): of a context of
/// four blocks or fewer, four blocks with fewer than four tiles are cut in 3.
SplitChoice seq_aware_num_splits(const Fa3SplitArguments& arguments);

/// What the preparation kernel knows of one batch row (flash_prepare_scheduler.cu).
struct Fa3Row {
  std::int64_t num_m_blocks = 1;
  std::int64_t num_n_blocks = 0;
};

/// Splits of each row (flash_prepare_scheduler.cu:141-158): blocks per SM are the whole batch's with a margin of 10 %,
/// and a row gets as many splits as that many blocks fit into it, at most num_splits_static. All 1 beyond 992 rows.
std::vector<std::int32_t> fa3_dynamic_splits(std::span<const Fa3Row> rows, std::int32_t num_head, std::int32_t num_sm,
                                             std::int32_t num_splits_static);

/// Most batch rows that one CTA of the preparation kernel sorts and splits (flash_prepare_scheduler.cu:60,124).
inline constexpr std::int32_t kFa3RowsPerPrepareCta = 992;

/// Heads whose K and V fit in 8 MiB of L2, as 16, 8, 4, 2 or 1 (flash_prepare_scheduler.cu:126-135,225); times the
/// group if it is not packed, at most num_head.
std::int32_t fa3_heads_in_l2(std::int64_t num_n_blocks, std::int64_t max_kvblocks_in_l2,
                             std::int32_t unpacked_qhead_per_khead, std::int32_t num_head);

}  // namespace splitwave::schedules
