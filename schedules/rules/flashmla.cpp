// SPDX-License-Identifier: Apache-2.0
#include "schedules/rules/flashmla.h"

#include <algorithm>

#include "schedules/cut.h"

namespace splitwave::schedules {

std::int64_t flashmla_num_sm_parts(std::int64_t num_sms, std::int64_t h_k, std::int64_t num_m_blocks) {
  return std::max<std::int64_t>(num_sms / h_k / std::max<std::int64_t>(num_m_blocks, 1), 1);
}

std::int64_t flashmla_payload(std::span<const std::int64_t> num_blocks, std::int64_t num_sm_parts) {
  std::int64_t total = 0;
  for (const std::int64_t blocks : num_blocks) total += blocks + kFlashMlaFixedOverhead;
  return ceil_div(total, num_sm_parts) + kFlashMlaFixedOverhead;
}

std::vector<FlashMlaPiece> flashmla_metadata(std::span<const std::int64_t> num_blocks, std::int64_t num_sm_parts) {
  const std::int64_t payload = flashmla_payload(num_blocks, num_sm_parts);
  std::vector<FlashMlaPiece> pieces;
  pieces.reserve(num_blocks.size() + static_cast<std::size_t>(num_sm_parts));
  std::size_t request = 0;
  std::int64_t block = 0;
  for (std::int64_t part = 0; part < num_sm_parts && request < num_blocks.size(); ++part) {
    std::int64_t left = payload;
    while (request < num_blocks.size()) {
      const std::int64_t remaining = num_blocks[request] - block;
      if (left >= remaining + kFlashMlaFixedOverhead) {
        pieces.push_back({part, static_cast<std::int32_t>(request), block, num_blocks[request]});
        left -= remaining + kFlashMlaFixedOverhead;
        ++request;
        block = 0;
        continue;
      }
      const std::int64_t taken = left - kFlashMlaFixedOverhead;
      if (taken > 0) {
        pieces.push_back({part, static_cast<std::int32_t>(request), block, block + taken});
        block += taken;
      }
      break;
    }
  }
  return pieces;
}

}  // namespace splitwave::schedules
