// SPDX-License-Identifier: Apache-2.0
#include "schedules/rules/fa2.h"

#include <algorithm>

namespace splitwave::schedules {

SplitChoice fa2_num_splits(std::int64_t batch_nheads_mblocks, std::int32_t num_sms, std::int64_t num_n_blocks,
                           std::int32_t max_splits) {
  if (static_cast<float>(batch_nheads_mblocks) >= 0.8F * static_cast<float>(num_sms)) {
    return {1, "the tiles fill 80 % of the slots"};
  }
  const std::int64_t most = std::min<std::int64_t>({max_splits, num_sms, num_n_blocks});
  return {most_efficient_splits(batch_nheads_mblocks, num_sms, num_n_blocks, static_cast<std::int32_t>(most), true),
          "the fewest splits with 85 % of the best wave efficiency"};
}

std::int32_t fa2_split_block_n(std::int32_t head_size) {
  if (head_size <= 64) return 256;
  return head_size <= 128 ? 128 : 64;
}

TileShape fa2_unsplit_tile(std::int32_t head_size, bool paged_kv) {
  if (paged_kv) return {kFa2SplitBlockM, head_size <= 64 ? 128 : 64};
  if (head_size <= 64) return {128, 128};
  if (head_size <= 192) return {128, 64};
  return {64, 64};
}

bool fa2_swaps_groups(const workloads::Geometry& geometry, std::int32_t max_seqlen_q) {
  return max_seqlen_q == 1 && geometry.query_heads > geometry.kv_heads && !geometry.window &&
         geometry.head_dim % 8 == 0;
}

}  // namespace splitwave::schedules
