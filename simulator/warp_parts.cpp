// SPDX-License-Identifier: Apache-2.0
#include "simulator/warp_parts.h"

#include <cstddef>

namespace splitwave::simulator {

WarpParts warp_parts(std::span<const schedules::Item> list, const WarpCosts& costs) {
  const auto steps_of = [&](const schedules::Item& item) {
    return (item.tokens() + costs.step_tokens - 1) / costs.step_tokens;
  };
  std::int64_t steps = 0;
  for (const schedules::Item& item : list) steps += steps_of(item);
  double longest = 0;
  double combined = 0;
  std::int64_t further = 0;
  std::size_t item = 0;
  std::int64_t left = list.empty() ? 0 : steps_of(list.front());
  for (std::int32_t warp = 0; warp < costs.warps; ++warp) {
    const std::int64_t share = steps / costs.warps + (warp < steps % costs.warps ? 1 : 0);
    std::int64_t pieces = 0;
    for (std::int64_t room = share; room > 0; ++pieces) {
      while (left == 0) left = steps_of(list[++item]);
      const std::int64_t taken = std::min(room, left);
      room -= taken;
      left -= taken;
    }
    const std::int64_t more = std::max<std::int64_t>(0, pieces - 1);
    further += more;
    const double end =
        static_cast<double>(share) * costs.step_seconds + static_cast<double>(more) * costs.piece_seconds;
    longest = std::max(longest, end);
    // Of the warps that an item falls to the first ends last: it has as many steps as the others, and most pieces.
    if (left > 0) combined = std::max(combined, end + costs.combine_seconds);
  }
  const std::int64_t first = list.empty() ? 0 : (steps_of(list.front()) + costs.warps - 1) / costs.warps;
  return {std::max(0.0, longest - static_cast<double>(first) * costs.step_seconds), std::max(0.0, combined - longest),
          further};
}

}  // namespace splitwave::simulator
