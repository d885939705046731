// SPDX-License-Identifier: Apache-2.0
#include "schedules/metrics.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace splitwave::schedules {
namespace {

/// Steps until the last list ends when each goes, in order, to the slot that is free first and a tile takes one step.
std::int64_t list_schedule(const std::vector<std::int64_t>& tiles_of_list, std::int64_t slots) {
  if (static_cast<std::int64_t>(tiles_of_list.size()) <= slots) {
    return tiles_of_list.empty() ? 0 : *std::max_element(tiles_of_list.begin(), tiles_of_list.end());
  }
  std::vector<std::int64_t> free_at(static_cast<std::size_t>(slots), 0);  // a min-heap
  std::int64_t end = 0;
  for (const std::int64_t steps : tiles_of_list) {
    std::pop_heap(free_at.begin(), free_at.end(), std::greater<>());
    free_at.back() += steps;
    end = std::max(end, free_at.back());
    std::push_heap(free_at.begin(), free_at.end(), std::greater<>());
  }
  return end;
}

}  // namespace

Metrics metrics(const Plan& plan, const Grid& grid) {
  Metrics m;
  m.ctas = plan.ctas();
  m.items = static_cast<std::int64_t>(plan.items.size());
  m.merges = static_cast<std::int64_t>(plan.merges.size());
  std::vector<std::int64_t> tiles_of_list;
  tiles_of_list.reserve(static_cast<std::size_t>(plan.lists()));
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    std::int64_t sum = 0;
    for (const Item& item : plan.list(list)) {
      if (item.tokens() == 0) ++m.empty_items;
      sum += tiles(plan, item);
    }
    m.tiles += sum;
    m.longest_list_tiles = std::max(m.longest_list_tiles, sum);
    tiles_of_list.push_back(sum);
  }
  const std::int64_t resident = grid.resident();
  m.waves = static_cast<double>(m.ctas) / static_cast<double>(resident);
  const std::int64_t slots =
      plan.dispatch == Dispatch::queue ? std::min<std::int64_t>(plan.workers, resident) : resident;
  const std::int64_t steps = list_schedule(tiles_of_list, slots);
  if (steps > 0) {
    m.quantization_efficiency =
        static_cast<double>(m.tiles) / (static_cast<double>(resident) * static_cast<double>(steps));
  }
  return m;
}

}  // namespace splitwave::schedules
