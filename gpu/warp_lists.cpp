// SPDX-License-Identifier: Apache-2.0
#include "gpu/warp_lists.h"

#include <algorithm>
#include <span>

namespace splitwave::gpu {

using schedules::Item;
using schedules::Plan;

namespace {

std::int64_t steps_of(const Item& item, std::int32_t tokens) {
  return (item.tokens() + tokens - 1) / tokens;
}

/// A warp's share of the steps, of which the first warps have one more.
std::int64_t share_of(std::int64_t steps, std::int32_t warps, std::int32_t warp) {
  return steps / warps + (warp < steps % warps ? 1 : 0);
}

}  // namespace

ListShape list_shape(const KernelConfig& config) {
  return {config.team == Team::alone ? config.warps : 1, config.tokens};
}

std::int64_t table_size(const Plan& plan, const ListShape& shape) {
  std::int64_t places = 0;
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    places += std::max<std::int64_t>(1, static_cast<std::int64_t>(plan.list(list).size())) + shape.warps - 1;
  }
  return places;
}

/// begins: of its list, whose place is `first`; else it follows what was added last.
void TableOrder::add(const TableEntry& entry, std::int32_t first, bool begins) {
  entries_.push_back(entry);
  entries_.back().at = begins ? first : places_++;
  if (!begins) entries_[entries_.size() - 2].next = entries_.back().at;
}

void TableOrder::add_list(const Plan& plan, std::int32_t list) {
  const std::int64_t begin = plan.cta_begin[static_cast<std::size_t>(list)];
  const std::int64_t end = plan.cta_begin[static_cast<std::size_t>(list) + 1];
  for (std::int64_t i = begin; i < end; ++i) {
    const Item& item = plan.items[static_cast<std::size_t>(i)];
    add({i, 0, -1, item.kv_begin, item.kv_end, 0, 1}, list, i == begin);
  }
}

/// The same in consecutive parts of as many steps.
void TableOrder::cut_list(const Plan& plan, const ListShape& shape, std::int32_t list) {
  const std::int64_t begin = plan.cta_begin[static_cast<std::size_t>(list)];
  const std::span<const Item> items = plan.list(list);
  std::int64_t steps = 0;
  for (const Item& item : items) steps += steps_of(item, shape.tokens);
  std::int32_t warp = 0;
  std::int64_t room = share_of(steps, shape.warps, 0);
  bool begins = true;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    const std::size_t first = entries_.size();
    std::int64_t left = steps_of(item, shape.tokens);
    std::int32_t from = item.kv_begin;
    do {
      if (room == 0 && left > 0) {
        room = share_of(steps, shape.warps, ++warp);
        begins = true;
      }
      const std::int64_t taken = std::min(room, left);
      room -= taken;
      left -= taken;
      const std::int32_t to = left > 0 ? from + static_cast<std::int32_t>(taken) * shape.tokens : item.kv_end;
      const auto piece = static_cast<std::int32_t>(entries_.size() - first);
      add({begin + static_cast<std::int64_t>(i), 0, -1, from, to, piece, 1}, list * shape.warps + warp, begins);
      from = to;
      begins = false;
    } while (left > 0);
    const auto pieces = static_cast<std::int32_t>(entries_.size() - first);
    for (std::size_t at = first; at < entries_.size(); ++at) entries_[at].pieces = pieces;
  }
}

const std::vector<TableEntry>& TableOrder::order(const Plan& plan, const ListShape& shape, std::int32_t spare_lists) {
  entries_.clear();
  places_ = std::max(plan.lists(), spare_lists) * shape.warps;
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    if (shape.warps == 1) {
      add_list(plan, list);
    } else {
      cut_list(plan, shape, list);
    }
  }
  return entries_;
}

}  // namespace splitwave::gpu
