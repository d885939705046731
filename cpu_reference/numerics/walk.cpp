// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/numerics/walk.h"

#include <algorithm>
#include <atomic>

#include "base/parallel.h"

namespace splitwave::cpu_reference::numerics {

using workloads::KvRange;

std::vector<std::vector<schedules::Item>> items_of_outputs(const schedules::Plan& plan) {
  std::vector<std::vector<schedules::Item>> items(plan.outputs.size());
  for (const schedules::Item& item : plan.items) items[static_cast<std::size_t>(item.output)].push_back(item);
  for (auto& of_one : items) {
    std::sort(of_one.begin(), of_one.end(), [](const auto& a, const auto& b) { return a.slot < b.slot; });
  }
  return items;
}

std::vector<KvRange> tiles_of(const schedules::Item& item, std::int32_t tile_kv, const Rounding& rounding) {
  if (item.tokens() == 0) return {};
  if (rounding.whole_rows) return {{item.kv_begin, item.kv_end}};
  std::vector<KvRange> tiles;
  for (std::int32_t begin = item.kv_begin; begin < item.kv_end;) {
    const std::int32_t end = std::min(begin / tile_kv * tile_kv + tile_kv, item.kv_end);
    tiles.push_back({begin, end});
    begin = end;
  }
  if (rounding.order == TileOrder::last_to_first) std::reverse(tiles.begin(), tiles.end());
  return tiles;
}

KvRange intersection(KvRange a, KvRange b) {
  const std::int32_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

KvRange visible_to_row(const workloads::Workload& workload, const schedules::OutputTile& output, std::int32_t row) {
  return visible_to_query(workload.geometry, workload.requests[static_cast<std::size_t>(output.request)],
                          (output.row_begin + row) / output.head_count);
}

void for_outputs(const schedules::Plan& plan, const std::function<void(std::int32_t)>& work) {
  const auto count = static_cast<std::int32_t>(plan.outputs.size());
  std::atomic<std::int32_t> next = 0;
  base::parallel(base::default_threads(), [&](int, int) {
    for (std::int32_t output = next++; output < count && !base::stop_asked(); output = next++) work(output);
  });
  base::stop_if_asked();
}

}  // namespace splitwave::cpu_reference::numerics
