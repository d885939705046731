// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/plan.h"
#include "simulator/work.h"

namespace splitwave::simulator {

/// Whether two lists of the plan hold the same sequence of (tokens, cost, chunks at an edge).
inline bool alike(const schedules::Plan& plan, const Work& work, std::int32_t a, std::int32_t b) {
  const std::int32_t* begin = plan.cta_begin.data();
  const std::int32_t count = begin[a + 1] - begin[a];
  if (begin[b + 1] - begin[b] != count) return false;
  const schedules::Item* one = plan.items.data() + begin[a];
  const schedules::Item* two = plan.items.data() + begin[b];
  for (std::int32_t i = 0; i < count; ++i) {
    if (one[i].tokens() != two[i].tokens() || work.cost_of(one[i]) != work.cost_of(two[i]) ||
        work.edge_chunks(one[i]) != work.edge_chunks(two[i])) {
      return false;
    }
  }
  return true;
}

/// Numbers the first `count` lists, in `kind_of_list`, so that two of them have the same number exactly if they are
/// alike.
void number_alike(const schedules::Plan& plan, const Work& work, std::int32_t count,
                  std::vector<std::int32_t>& kind_of_list);

/// Groups rows of `width` kinds (-1: nothing) that are equal: gives `group_of_row` for each row the number of its
/// group, groups numbered by first appearance.
void group_alike(const std::vector<std::int32_t>& rows, std::int32_t width, std::vector<std::int32_t>& group_of_row);

}  // namespace splitwave::simulator
