// SPDX-License-Identifier: Apache-2.0
// When a run is given up: its plan is one of many, and another is faster.
#include <cstdint>
#include <limits>

#include "simulator/engine_state.h"

namespace splitwave::simulator {

void Engine::count_bytes_to_read() {
  bytes_to_read_ = 0;
  if (options_.limit_seconds == std::numeric_limits<double>::infinity()) return;
  std::int64_t tokens = 0;
  for (const schedules::Item& item : plan_->items) tokens += item.tokens();
  bytes_to_read_ = static_cast<double>(tokens) * work_->bytes_per_token;
}

/// Whether what is left to read takes longer than the limit allows, now and then.
bool Engine::is_too_late(std::uint32_t step) const {
  constexpr std::uint32_t kStepsBetweenLooks = 16;
  if (step % kStepsBetweenLooks != 0 || options_.limit_seconds == std::numeric_limits<double>::infinity()) return false;
  const double left = bytes_to_read_ - streams_.taken_bytes();
  return streams_.now() + left / options_.most_bytes_per_second > options_.limit_seconds;
}

}  // namespace splitwave::simulator
