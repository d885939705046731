// SPDX-License-Identifier: Apache-2.0
#include "schedules/rules/split_choice.h"

#include <algorithm>
#include <cmath>

#include "schedules/cut.h"

namespace splitwave::schedules {
namespace {

/// Share of the waves' slots that hold a CTA, in the sources' own single precision: a borderline case must fall on the
/// same side.
float wave_efficiency(std::int64_t tiles, std::int32_t num_splits, std::int32_t slots) {
  const float n_waves = static_cast<float>(tiles * num_splits) / static_cast<float>(slots);
  return n_waves / std::ceil(n_waves);
}

bool changes_blocks_per_split(std::int64_t num_n_blocks, std::int32_t num_splits) {
  return num_splits == 1 || ceil_div(num_n_blocks, num_splits) != ceil_div(num_n_blocks, num_splits - 1);
}

}  // namespace

std::int32_t most_efficient_splits(std::int64_t tiles, std::int32_t slots, std::int64_t num_n_blocks,
                                   std::int32_t max_splits, bool eligible_only) {
  float best = 0;
  for (std::int32_t n = 1; n <= max_splits; ++n) {
    if (eligible_only && !changes_blocks_per_split(num_n_blocks, n)) continue;
    best = std::max(best, wave_efficiency(tiles, n, slots));
  }
  for (std::int32_t n = 1; n <= max_splits; ++n) {
    if (eligible_only && !changes_blocks_per_split(num_n_blocks, n)) continue;
    if (wave_efficiency(tiles, n, slots) >= 0.85 * best) return n;
  }
  return 1;
}

}  // namespace splitwave::schedules
