// SPDX-License-Identifier: Apache-2.0
// What follows the last byte of an item: arithmetic and its end.
#include <algorithm>
#include <cmath>
#include <span>

#include "simulator/engine_state.h"
#include "simulator/warp_parts.h"

namespace splitwave::simulator {

/// Arithmetic after the last byte's arrival: of the last tile where memory was the limit; where arithmetic was, what a
/// part of a tile takes beyond its tokens.
double Engine::drain_seconds(const Slot& slot, const schedules::Item& item) const {
  const double per_token = work_->seconds_per_byte[static_cast<std::size_t>(slot.cost)].alone * work_->bytes_per_token;
  const double tile = kernel_->tile_tokens;
  // Of warps with lists of their own each takes a whole step for what it has of a tile.
  const double tiles =
      kernel_->warps_alone ? std::ceil(item.tokens() / tile) : arithmetic_tiles(*kernel_, item.tokens());
  if (slot.arithmetic_bound) return (tiles * tile - item.tokens()) * per_token;
  const double last = tiles - std::ceil(item.tokens() / tile) + 1;
  return kernel_->drain_tiles * last * tile * per_token;
}

/// Share of the places beside a CTA that are taken, with so many CTAs at work; of the SMs' where each has one.
double Engine::crowd(double ctas) const {
  const double others = options_.ctas_per_sm - 1;
  const double of_sm = ctas / machine_->sms;
  return others > 0 ? std::clamp((of_sm - 1) / others, 0.0, 1.0) : std::min(of_sm, 1.0);
}

/// CTAs with tokens on the SM of this one, itself included.
double Engine::reading_on_sm(const Slot& slot) const {
  const auto first = slots_.begin() + groups_[static_cast<std::size_t>(slot.group)].first_slot;
  return static_cast<double>(
      std::count_if(first, first + options_.ctas_per_sm, [](const Slot& one) { return one.reads; }));
}

/// What a further item takes besides its tiles, with as many CTAs at work as now.
double Engine::item_seconds() const {
  return kernel_->item_seconds + crowd(busy_.all) * (kernel_->item_crowded_seconds - kernel_->item_seconds);
}

/// Of warps that have a part of the list each: what its further items take together is left of the longest part.
void Engine::look_at_parts(Slot& slot) const {
  const std::span<const schedules::Item> list = plan_->list(slot.list);
  const double further = item_seconds();
  const WarpParts parts = warp_parts(list, warp_costs(*kernel_, *work_, list.front(), further));
  slot.combine_seconds = parts.combine_seconds;
  slot.pieces_of_item = static_cast<double>(parts.further_pieces) / static_cast<double>(list.size());
  double all = 0;
  for (const schedules::Item& item : list.subspan(1)) all += further + tiles_seconds(*kernel_, *work_, item);
  slot.further_share = all > 0 ? parts.further_seconds / all : 0;
}

/// What the rows of a further item keep K and V from: its queries come, and the result of the item before goes, while
/// these stream. Those of a list's first item come before, and its last result goes after (prologue and epilogue).
double Engine::row_bytes(const Slot& slot, const schedules::Item& item) const {
  const double bytes = work_->row_bytes * work_->heights[work_->cost_of(item)];
  if (kernel_->warps_alone) return slot.pieces_of_item * bytes;
  return slot.item == plan_->cta_begin[static_cast<std::size_t>(slot.list)] ? 0 : bytes;
}

/// All arithmetic of the item and what precedes it, in a kernel whose warps load and compute in turn. None of a list's
/// first item, which could not begin earlier.
double Engine::arithmetic_seconds(const Slot& slot, const schedules::Item& item) const {
  const std::int32_t before = slot.item - plan_->cta_begin[static_cast<std::size_t>(slot.list)];
  if (before == 0) return 0;
  const double seconds = item_seconds() + tiles_seconds(*kernel_, *work_, item);
  if (kernel_->warps_alone) return slot.further_share * seconds;
  return before == 1 ? std::max(0.0, seconds + kernel_->second_item_seconds) : seconds;
}

/// When the last arithmetic of the item whose last byte is there ends.
double Engine::end_of_arithmetic(const Slot& slot, const schedules::Item& item) {
  if (kernel_->most_tokens > 0) {
    // Much of what an SM does for a CTA comes before its last byte, in the time that the byte takes.
    double& issued = group_of(slot).issued_until;
    issued = std::max(issued, slot.arithmetic_until + work_->issue_start_seconds) + work_->issue_seconds;
    return std::max(now_ + work_->last_issue_seconds, issued);
  }
  // Items are computed in order: a short one that was prefetched waits for the arithmetic of the one before.
  const double arithmetic = kernel_->refills_after_use ? arithmetic_seconds(slot, item) : 0;
  return std::max(now_ + drain_seconds(slot, item), slot.arithmetic_until + arithmetic);
}

/// Of the kernel's own, at the end of an item. Warps with lists of their own end items while the others go on: only the
/// list's last one shows.
double Engine::end_seconds(const Slot& slot) const {
  const bool last = slot.item + 1 == slot.item_end;
  if (kernel_->warps_alone) return last ? last_end_seconds(*kernel_, slot.combine_seconds) : 0;
  return kernel_->epilogue_seconds -
         (last ? work_->sooner_seconds(plan_->items[static_cast<std::size_t>(slot.item)]) : 0);
}

/// From the item's last arithmetic to its visible result. An edge is one warp's of those with lists of their own, each
/// of which has its share of the edges; of the list's last one all of it shows.
double Engine::epilogue_seconds(const Slot& slot, const schedules::Item& item) const {
  const double seconds = end_seconds(slot) + work_->more_seconds(item);
  const std::int32_t chunks = work_->edge_chunks(item);
  if (chunks == 0) return seconds;
  const bool all_of_it = kernel_->warps_alone && slot.item + 1 == slot.item_end;
  const double times = all_of_it ? kernel_->merge_warps : 1;
  const double of_sm = reading_on_sm(slot) * chunks * kernel_->edge_chunk_seconds;
  return seconds + (times - 1) * work_->edge_seconds + std::max(0.0, of_sm - times * kernel_->edge_query_seconds);
}

}  // namespace splitwave::simulator
