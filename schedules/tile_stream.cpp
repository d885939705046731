// SPDX-License-Identifier: Apache-2.0
#include "schedules/tile_stream.h"

#include <algorithm>

namespace splitwave::schedules {

TileStream::TileStream(Plan& plan, std::int64_t total, std::int64_t ctas)
    : plan_(plan),
      ctas_(ctas),
      share_(ctas > 0 ? total / ctas : 0),
      longer_ctas_(ctas > 0 ? total % ctas : 0),
      left_(share()) {}

std::int64_t TileStream::take(std::int64_t count) {
  if (left_ == 0) {
    end_list(plan_);
    ++cta_;
    left_ = share();
  }
  const std::int64_t taken = std::min(count, left_);
  left_ -= taken;
  return taken;
}

void TileStream::add(std::int32_t output, const workloads::KvRange& range, std::int64_t first_tile,
                     std::int64_t count) {
  if (count == 0) add_item(plan_, output, range);
  bool needs_item = range.size() == 0;
  for (const std::int64_t end = first_tile + count; first_tile < end;) {
    const std::int64_t taken = take(end - first_tile);
    const workloads::KvRange piece = clip(range, first_tile * plan_.tile_kv, (first_tile + taken) * plan_.tile_kv);
    if (piece.size() > 0 || needs_item) add_item(plan_, output, piece);
    needs_item = false;
    first_tile += taken;
  }
}

void TileStream::skip(std::int64_t count) {
  while (count > 0) count -= take(count);
}

void TileStream::finish() {
  for (; cta_ < ctas_; ++cta_) end_list(plan_);
}

}  // namespace splitwave::schedules
