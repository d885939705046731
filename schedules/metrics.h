// SPDX-License-Identifier: Apache-2.0
// What can be said of a plan without a clock.
#pragma once

#include <cstdint>

#include "schedules/grid.h"
#include "schedules/plan.h"

namespace splitwave::schedules {

struct Metrics {
  std::int32_t ctas = 0;
  std::int64_t items = 0;
  std::int64_t empty_items = 0;
  std::int64_t merges = 0;
  std::int64_t tiles = 0;  ///< KV tiles over all items
  std::int64_t longest_list_tiles = 0;
  /// CTAs over resident CTAs, unrounded: 1.21 means one full wave and a fifth of another.
  double waves = 0;
  /// Work over what the machine could have done in the time of the plan if each tile took one step: tiles /
  /// (resident CTAs * steps of list-scheduling the lists, in order, onto the resident CTAs). 1 for an empty plan.
  double quantization_efficiency = 1;
};

/// Counts of a valid plan on a grid.
Metrics metrics(const Plan& plan, const Grid& grid);

}  // namespace splitwave::schedules
