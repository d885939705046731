// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace splitwave::schedules {

/// All that a schedule may know of a machine.
struct Grid {
  std::int32_t sms = 132;        ///< streaming multiprocessors (CPU: threads)
  std::int32_t ctas_per_sm = 1;  ///< CTAs of the kernel resident on one SM at a time
  std::int32_t tile_q = 0;       ///< rows per output tile; 0: the schedule's own rule
  std::int32_t tile_kv = 0;      ///< KV tokens per tile; 0: the schedule's own rule
  /// Shared memory of an SM, bytes; 0: unknown, and rules that ask for it take the H100's (rules/flashinfer.h).
  std::int64_t shared_bytes_per_sm = 0;
  /// CTAs of each tile, side by side: a kernel for fewer rows than tile_q takes its tiles in blocks of rows.
  std::int32_t row_blocks = 1;
  /// Lists resident at a time.
  std::int32_t resident() const { return sms * ctas_per_sm / row_blocks; }
  bool operator==(const Grid&) const = default;
};

}  // namespace splitwave::schedules
