// SPDX-License-Identifier: Apache-2.0
// FlashAttention-4's tile and split rules. Source: Dao-AILab/flash-attention at 0251105a, flash_attn/cute/interface.py.
#pragma once

#include <cstdint>

#include "schedules/rules/split_choice.h"

namespace splitwave::schedules {

/// Query rows and KV tokens of a tile on compute capability 10 (interface.py:323).
inline constexpr std::int32_t kFa4BlockM = 128;
inline constexpr std::int32_t kFa4BlockN = 128;

/// Rows that a CTA takes: two tiles at once where one does not hold all rows (q_stage, interface.py:343-348).
std::int32_t fa4_cta_rows(std::int64_t rows);

/// num_splits_heuristic (interface.py:276-290) with at most 128 splits; its 0 for more tiles than SMs is 1 here, as for
/// the kernel (interface.py:817).
SplitChoice fa4_num_splits(std::int64_t total_mblocks, std::int32_t num_sms, std::int64_t num_n_blocks);

}  // namespace splitwave::schedules
