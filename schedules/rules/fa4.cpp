// SPDX-License-Identifier: Apache-2.0
#include "schedules/rules/fa4.h"

#include <algorithm>

namespace splitwave::schedules {

std::int32_t fa4_cta_rows(std::int64_t rows) {
  return rows > kFa4BlockM ? 2 * kFa4BlockM : kFa4BlockM;
}

SplitChoice fa4_num_splits(std::int64_t total_mblocks, std::int32_t num_sms, std::int64_t num_n_blocks) {
  constexpr std::int64_t most_splits = 128;
  constexpr std::int64_t too_few_blocks = 4;
  if (num_n_blocks <= too_few_blocks) return {1, "there are at most four KV blocks"};
  if (total_mblocks == 0) return {1, "there is nothing to split"};
  const std::int64_t splits = std::min({num_sms / total_mblocks, most_splits, num_n_blocks});
  if (splits <= 1) return {1, "the tiles are more than half of the SMs"};
  return {static_cast<std::int32_t>(splits), "it is the least of SMs per tile, 128 and the KV blocks"};
}

}  // namespace splitwave::schedules
