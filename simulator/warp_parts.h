// SPDX-License-Identifier: Apache-2.0
// Lists of which each warp has a consecutive part, cut where its share of the steps ends (KernelProfile::warps_alone;
// gpu/warp_lists.h cuts them).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "schedules/plan.h"
#include "simulator/kernel.h"
#include "simulator/work.h"

namespace splitwave::simulator {

/// What a warp takes for its part of a list.
struct WarpCosts {
  std::int32_t warps = 1;
  std::int32_t step_tokens = 1;  ///< that a warp takes at a time: parts begin and end with a step
  double step_seconds = 0;
  double piece_seconds = 0;    ///< of each item, or piece of one, but its first
  double combine_seconds = 0;  ///< of an item that falls to several warps: two pieces take as long as four, to a tenth
};

/// item_seconds: of a further item (KernelProfile::item_seconds), all warps one. first: of the list.
inline WarpCosts warp_costs(const KernelProfile& kernel, const Work& work, const schedules::Item& first,
                            double item_seconds) {
  const std::int32_t warps = kernel.merge_warps;
  const double per_token = work.seconds_per_byte[work.cost_of(first)].alone * work.bytes_per_token;
  return {warps, std::max(1, kernel.tile_tokens / warps), kernel.tile_tokens * per_token, warps * item_seconds,
          kernel.combine_seconds};
}

struct WarpParts {
  /// Of the warp that has most to do, besides as many steps as all warps together take for the list's first item.
  double further_seconds = 0;
  /// After that warp's end: until the pieces of all items that fall to several warps are combined, each item's by the
  /// last of its warps to end.
  double combine_seconds = 0;
  std::int64_t further_pieces = 0;  ///< items, and pieces of some, of all warps besides each one's first
};
WarpParts warp_parts(std::span<const schedules::Item> list, const WarpCosts& costs);

/// Of the kernel's own, at the end of a list whose pieces take so long to combine.
inline double last_end_seconds(const KernelProfile& kernel, double combine_seconds) {
  return std::max(0.0, kernel.epilogue_seconds - kernel.combine_seconds + combine_seconds);
}

}  // namespace splitwave::simulator
