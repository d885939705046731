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
  double end = 0;
  std::size_t item = 0;
  std::int64_t left = list.empty() ? 0 : steps_of(list.front());
  std::int32_t item_pieces = 0;  // of the item at hand, and when the last of the warps that have one ends
  double item_end = 0;
  const auto combine = [&] {
    if (item_pieces > 1) end = std::max(end, item_end + costs.combine_seconds);
  };
  for (std::int32_t warp = 0; warp < costs.warps; ++warp) {
    const std::int64_t share = steps / costs.warps + (warp < steps % costs.warps ? 1 : 0);
    double warp_end = static_cast<double>(share) * costs.step_seconds;
    for (std::int64_t room = share; room > 0;) {
      while (left == 0) {
        combine();
        left = steps_of(list[++item]);
        item_pieces = 0;
        item_end = 0;
      }
      const std::int64_t taken = std::min(room, left);
      if (room < share) warp_end += costs.piece_seconds;
      room -= taken;
      left -= taken;
      ++item_pieces;
    }
    item_end = std::max(item_end, warp_end);
    longest = std::max(longest, warp_end);
  }
  combine();
  const std::int64_t first = list.empty() ? 0 : (steps_of(list.front()) + costs.warps - 1) / costs.warps;
  return {std::max(0.0, longest - static_cast<double>(first) * costs.step_seconds), std::max(0.0, end - longest)};
}

}  // namespace splitwave::simulator
