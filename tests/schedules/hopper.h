// SPDX-License-Identifier: Apache-2.0
// The grid and the split rule of an H100 or H200 that many examples are given for.
#pragma once

#include <cstdint>

#include "schedules/rules/fa3.h"
#include "schedules/schedules.h"

namespace splitwave::schedules {

inline constexpr Grid kHopper{132, 1, 0, 0};

/// FlashAttention-3's answer for so many output tiles of so many KV blocks, all else as it is by default.
inline SplitChoice fa3_choice(std::int64_t tiles, std::int64_t blocks) {
  Fa3SplitArguments a;
  a.total_mblocks = tiles;
  a.num_n_blocks = blocks;
  return fa3_num_splits(a);
}

}  // namespace splitwave::schedules
