// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace splitwave::schedules {

/// Answer of a split rule and which of its branches gave it, in words (a string literal).
struct SplitChoice {
  std::int32_t num_splits = 1;
  std::string_view because;
};

/// The loop that FlashAttention-2 and -3 share: among the eligible counts up to max_splits, the smallest whose last
/// wave is at least 0.85 as full as the best one's. eligible_only: leave out counts that give the same number of blocks
/// per split as one fewer (FA2). Work is `tiles` per split; a wave is `slots` CTAs. 1 if max_splits < 1.
std::int32_t most_efficient_splits(std::int64_t tiles, std::int32_t slots, std::int64_t num_n_blocks,
                                   std::int32_t max_splits, bool eligible_only);

}  // namespace splitwave::schedules
