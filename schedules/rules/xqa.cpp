// SPDX-License-Identifier: Apache-2.0
#include "schedules/rules/xqa.h"

#include <algorithm>
#include <cmath>

namespace splitwave::schedules {

std::int32_t xqa_num_sub_sequences(std::int64_t batch_size, std::int64_t num_kv_heads, std::int64_t max_seq_len,
                                   std::int32_t cta_tile, std::int32_t num_sms) {
  const std::int64_t of_sms = std::max<std::int64_t>(1, num_sms / std::max<std::int64_t>(batch_size * num_kv_heads, 1));
  const std::int64_t tiles = (max_seq_len + cta_tile - 1) / cta_tile;
  return static_cast<std::int32_t>(std::max<std::int64_t>(std::min(of_sms, tiles), 1));
}

std::int32_t trtllm_multi_block_count(std::int64_t batch_size, std::int64_t num_kv_heads,
                                      std::int64_t max_past_kv_length, std::int32_t num_sms) {
  constexpr std::int64_t min_history_tokens_per_block = 128;
  constexpr double target_wave_factor = 8;
  constexpr std::int64_t max_num_sub_seq = 6000;
  const std::int64_t of_history = max_past_kv_length / min_history_tokens_per_block;
  const float of_merge = std::round(std::sqrt(static_cast<float>(of_history) * 8.0F));
  std::int64_t count = std::max<std::int64_t>(std::min(of_history, static_cast<std::int64_t>(of_merge)), 1);
  const double waves = static_cast<double>(batch_size * num_kv_heads * count) / num_sms;
  if (waves > target_wave_factor) {
    const double excess = waves / target_wave_factor;
    count = static_cast<std::int64_t>(std::floor(static_cast<double>(count) / excess));
  }
  const std::int64_t of_workspace = max_num_sub_seq / std::max<std::int64_t>(batch_size, 1);
  return static_cast<std::int32_t>(std::max<std::int64_t>(std::min(count, of_workspace), 1));
}

}  // namespace splitwave::schedules
