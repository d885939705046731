// SPDX-License-Identifier: Apache-2.0
#include "schedules/rules/lean.h"

#include <algorithm>

#include "schedules/cut.h"

namespace splitwave::schedules {

std::int32_t lean_tile_tokens(std::int32_t head_dim) {
  if (head_dim <= 64) return 256;
  return head_dim <= 128 ? 128 : 64;
}

std::int64_t lean_grid(std::int64_t total_tiles, std::int64_t outputs, std::int64_t resident_ctas) {
  if (outputs == 0) return 0;
  return std::clamp<std::int64_t>(total_tiles / 2, 1, resident_ctas);
}

OrtLeanGrid ort_lean_grid(std::int64_t num_n_blocks, std::int64_t num_m_blocks, std::int64_t batch_size,
                          std::int64_t num_heads_k, std::int64_t num_sms) {
  constexpr std::int64_t most_ctas_per_output = 32;
  const std::int64_t outputs = num_m_blocks * batch_size * num_heads_k;
  const std::int64_t total_tiles = num_n_blocks * outputs;
  OrtLeanGrid result;
  if (total_tiles == 0) {
    result.grid = std::min<std::int64_t>(outputs, 1);
    return result;
  }
  if (total_tiles <= 4 * num_sms) {
    result.grid = std::min(ceil_div(total_tiles, 2), ceil_div(most_ctas_per_output * total_tiles, num_n_blocks));
  } else {
    result.grid = std::min(2 * num_sms, most_ctas_per_output * outputs);
  }
  result.grid = std::clamp<std::int64_t>(result.grid, 1, total_tiles);
  result.max_tiles = ceil_div(total_tiles, result.grid);
  result.high_load = total_tiles - (result.max_tiles - 1) * result.grid;
  const std::int64_t fewest_tiles = total_tiles % result.grid == 0 ? result.max_tiles : result.max_tiles - 1;
  result.num_splits = fewest_tiles > 0 ? 1 + ceil_div(num_n_blocks - 1, fewest_tiles) : 1;
  return result;
}

}  // namespace splitwave::schedules
