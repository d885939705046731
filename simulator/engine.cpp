// SPDX-License-Identifier: Apache-2.0
#include "simulator/engine.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/stop.h"
#include "simulator/engine_state.h"

namespace splitwave::simulator {
namespace {

/// Relative time within which events are one event.
constexpr double kSameTime = 1e-12;

}  // namespace

/// What each of so many CTAs meets if all begin at once.
Engine::Limits Engine::limits_of(double ctas, const TokenSeconds& arithmetic) const {
  const MemoryLaw& law = work_->law;
  const double on_sm = std::min<double>(options_.ctas_per_sm, std::ceil(ctas / machine_->sms));
  double share = std::min(work_->sm_bytes_per_second / on_sm, law.l2_bytes_per_second / ctas);
  if (law.dram_share > 0) share = std::min(share, law.plateau / (law.dram_share * ctas));
  const double per_byte = std::max(arithmetic.alone, arithmetic.crowded * on_sm);
  return {share, per_byte > 0 ? 1 / per_byte : std::numeric_limits<double>::infinity()};
}

const Engine::Fill& Engine::fill(std::size_t cost) {
  if (fill_.busy == busy_ && fill_.cost == cost) return fill_;
  fill_ = {busy_, cost, 0, 0, false};
  const MemoryLaw& law = work_->law;
  if (law.bytes_in_flight <= 0 || law.latency_seconds <= 0) return fill_;
  const TokenSeconds& arithmetic = work_->seconds_per_byte[cost];
  const Limits all = limits_of(std::max(1.0, busy_.all), arithmetic);
  const double lone = law.lone_rate();
  const double rate = std::min({lone, all.share, all.arithmetic});
  // What keeps up with its requests hides the latency in them; what waits for its share or for arithmetic does not.
  fill_.seconds = kernel_->exposed_latencies * law.latency_seconds * (1 - rate / lone);
  // CTAs without tokens crowd the start, whose loads are the same for all, but take no share of what is read then.
  const Limits reading = busy_.reading == busy_.all ? all : limits_of(std::max(1.0, busy_.reading), arithmetic);
  fill_.share = reading.share;
  fill_.arithmetic_bound = reading.arithmetic < std::min(lone, reading.share);
  return fill_;
}

/// The same for warps that load and compute in turn. A latency passes before the first byte, and each warp waits for
/// the whole of its first tile. The other stages' first tiles come without a latency of their own, which the stream's
/// rate counts where latencies are the limit.
double Engine::ring_fill_seconds(double bytes, const Fill& start) const {
  const MemoryLaw& law = work_->law;
  const double latency = kernel_->exposed_latencies * law.latency_seconds;
  const double lone = law.lone_rate();
  const double tile = kernel_->tile_tokens * work_->bytes_per_token;
  if (!start.arithmetic_bound && start.share <= lone) return latency;
  const double transfer = std::min(bytes, tile) / start.share;
  const double further = std::ceil(std::min(bytes, law.bytes_in_flight) / tile) - 1;
  const double seconds = latency + transfer + further * kernel_->first_round_seconds;
  if (start.arithmetic_bound) return std::max(0.0, seconds);
  // Not before it was asked for, as a window of one tile whose arithmetic takes longer than a latency would have it.
  const double counted = std::min(bytes, law.bytes_in_flight) / lone;
  // A part of a tile that is asked for in an earlier one's place comes no sooner than all of one would.
  const double part = bytes > law.bytes_in_flight ? (std::ceil(bytes / tile) * tile - bytes) / lone : 0;
  return std::max(0.0, seconds + further * std::max(law.refill_seconds, transfer) - counted) + part;
}

/// Latency before a stream of `bytes` that nothing hides.
double Engine::fill_seconds(double bytes, const Fill& start) const {
  if (start.share <= 0) return 0;
  const MemoryLaw& law = work_->law;
  // A kernel that holds its items has asked for all of it: nothing is worked on before a latency has passed.
  if (kernel_->most_tokens > 0) return kernel_->exposed_latencies * law.latency_seconds;
  if (kernel_->refills_after_use) return ring_fill_seconds(bytes, start);
  const double tile = kernel_->tile_tokens * work_->bytes_per_token;
  double seconds = start.seconds;
  // Less than a window's bytes take one latency all the same. Where arithmetic is the limit, a partial tile takes a
  // whole one's time, in which as much latency is hidden.
  const double hiding = start.arithmetic_bound ? std::ceil(bytes / tile) * tile : bytes;
  if (hiding < law.bytes_in_flight) {
    seconds = std::max(seconds, law.latency_seconds * (1 - hiding / law.bytes_in_flight));
  }
  if (!start.arithmetic_bound) return seconds;
  // Arithmetic starts when the first tile, or part of one, is there: all CTAs ask for theirs at once, and none comes
  // sooner than a latency after it was asked for.
  return std::max(law.latency_seconds, seconds + std::min(bytes, kernel_->first_tiles * tile) / start.share);
}

/// Wait of a further item of `bytes` in the queue of a full memory, which holds the windows of all CTAs. Warps wait for
/// each item's last tile, and nothing new is asked for in its place: a CTA with many short items falls behind those
/// with few long ones, which take what it leaves; where all have the same length nobody gains. A cluster waits for the
/// last of its CTAs, in a memory that serves at random, 1 + ln c times as long: equal items, too, for the ln c, in a
/// queue that is shorter by the share of the time that all CTAs wait. Threads that have to load something else before
/// they ask for more, behind all that they asked for before, stop for as long as that takes.
double Engine::queue_seconds(double bytes, const Fill& start) const {
  if (!kernel_->refills_after_use || kernel_->warps_alone || start.arithmetic_bound || start.share <= 0) return 0;
  const double queue = work_->queued_bytes / start.share;
  const double lone = work_->queued_bytes / work_->law.lone_rate();
  if (queue <= lone) return 0;
  const double shorter = std::max(0.0, 1 - bytes / work_->mean_item_bytes);
  const double last = std::log(kernel_->cluster);
  // With a stream of t seconds the wait w is last * (queue * t / (t + w) - lone).
  const double stream = bytes / start.share;
  const double less = stream - last * lone;
  const double together = (std::sqrt(less * less + 4 * last * queue * stream) - stream - last * lone) / 2;
  return (queue - lone) * (shorter * (1 + last) + kernel_->item_stops) + std::max(0.0, together);
}

/// What a further item's stream loses as threads that end an item and begin the next ask for nothing meanwhile. What
/// they had asked for comes, for a turn of the window: a place of it that comes free in a shorter stop is asked for at
/// the stop's end, half of it later in the mean, the others as ever. Of an item of less than a window nothing else is
/// missing. Queries that come through the ring keep one tile from coming. Where arithmetic is the limit it has their
/// time already; warps with lists of their own go on while one of them stops.
double Engine::stop_seconds(double bytes, const Fill& start) const {
  if (!kernel_->refills_after_use || kernel_->warps_alone || start.arithmetic_bound || start.share <= 0) return 0;
  const double window = work_->law.bytes_in_flight;
  const double refilled = std::min(1.0, bytes / window);
  const double stop = kernel_->epilogue_seconds + item_seconds();
  const double rate = std::min(start.share, work_->law.lone_rate());
  const double turn = window / rate;
  const double lost = stop < turn ? stop * stop / (2 * turn) : stop - turn / 2;
  return refilled * (lost + work_->query_stage_bytes / rate);
}

/// Leads `slot` from `time` through `lead` seconds to the stream of its next item that has any tokens, or to its end.
void Engine::begin_item(Slot& slot, std::int32_t index, double time, double lead, Entry entry) {
  const double w = weight(slot);
  while (slot.item < slot.item_end) {
    const schedules::Item& item = plan_->items[static_cast<std::size_t>(slot.item)];
    const double bytes = item.tokens() * work_->bytes_per_token;
    if (options_.spans) {
      const Group& group = group_of(slot);
      slot.span = result_->spans.size();
      result_->spans.push_back({slot.list, group.sm, index - group.first_slot, slot.item, time, 0});
    }
    if (bytes > 0) {
      const std::size_t cost = work_->cost_of(item);
      const Fill& start = fill(cost);
      result_->kv_bytes += w * bytes;
      result_->q_rows += w * work_->heights[cost];
      slot.bytes = bytes + row_bytes(slot, item);
      slot.cost = static_cast<std::int32_t>(cost);
      slot.arithmetic_bound = start.arithmetic_bound;
      // Q and the first of K are loaded anew; an item without tokens has no use for them.
      if (entry == Entry::further || (entry == Entry::prefetched && !kernel_->refills_after_use)) {
        lead += kernel_->item_seconds;
      }
      lead += entry == Entry::prefetched ? queue_seconds(bytes, start) + stop_seconds(bytes, start)
                                         : fill_seconds(bytes, start);
      if (entry == Entry::first && slot.list >= first_wave_) lead += later_start_seconds(slot.list, lead, bytes, start);
      if (entry == Entry::first && slot.list < first_wave_) lead += full_sm_seconds(slot, bytes);
      if (drifts_ && slot.list < first_wave_) slot.bytes += out_of_step_bytes(index, lead, start.share);
      bytes_to_read_ += w * (slot.bytes - bytes);
      result_->slot_seconds.ramp += w * lead;
      return enter_timed(index, time + lead);
    }
    lead += end_seconds(slot);
    time += lead;
    result_->slot_seconds.ramp += w * lead;
    if (time < slot.arithmetic_until) {
      result_->slot_seconds.compute += w * (slot.arithmetic_until - time);
      time = slot.arithmetic_until;
    }
    if (options_.item_ends) result_->item_end[static_cast<std::size_t>(slot.item)] = time;
    if (options_.spans) result_->spans.back().end_seconds = time;
    ++slot.item;
    lead = 0;
    if (entry == Entry::first) entry = Entry::further;
  }
  enter_timed(index, time);
}

void Engine::start_list(std::int32_t index, std::int32_t list, double time, double lead, Entry entry) {
  Slot& slot = at(index);
  slot.list = list;
  slot.arithmetic_until = time;
  slot.item = plan_->cta_begin[static_cast<std::size_t>(list)];
  slot.item_end = plan_->cta_begin[static_cast<std::size_t>(list) + 1];
  Group& group = group_of(slot);
  result_->busy_slot_seconds -= group.weight * time;
  if (group.working++ == 0) result_->busy_sm_seconds -= group.weight * time;
  if (slot.item == slot.item_end) {
    lead = std::min(lead, kernel_->empty_list_seconds);
    result_->slot_seconds.ramp += weight(slot) * lead;
    return enter_timed(index, time + lead);
  }
  if (kernel_->warps_alone) look_at_parts(slot);
  begin_item(slot, index, time, lead, entry);
}

/// When the loads of the next item begin, if they do not wait for the end of this one. In a kernel whose warps load and
/// compute in turn they run ahead by a window, which they fill at the rate that all CTAs at work allow.
double Engine::resume_time(const Slot& slot, double end) {
  if (!kernel_->refills_after_use) return now_ + kernel_->epilogue_seconds;
  const Fill& start = fill(static_cast<std::size_t>(slot.cost));
  return start.share > 0 ? std::max(now_, end - work_->law.bytes_in_flight / start.share) : end;
}

/// The last byte of an item is there: its last arithmetic and its epilogue follow, then the next item or the end.
void Engine::end_stream(std::int32_t index) {
  Slot& slot = at(index);
  Group& group = group_of(slot);
  streams_.remove(index, group.weight);
  --group.streaming;
  mark(slot.group);
  slot.state = SlotState::timed;
  if (kernel_->most_tokens > 0) join_waiting(group);
  const schedules::Item& item = plan_->items[static_cast<std::size_t>(slot.item)];
  const bool more = slot.item + 1 < slot.item_end;
  const double epilogue = epilogue_seconds(slot, item);
  const double end = end_of_arithmetic(slot, item) + epilogue;
  slot.arithmetic_until = end;
  if (options_.item_ends) result_->item_end[static_cast<std::size_t>(slot.item)] = end;
  if (options_.spans) result_->spans[slot.span].end_seconds = end;
  ++slot.item;
  // Prefetched items keep the memory busy while the last tile of the one before is worked on.
  const double resume = more && kernel_->prefetches_items ? resume_time(slot, end) : end;
  result_->slot_seconds.ramp += group.weight * epilogue;
  result_->slot_seconds.compute += group.weight * std::max(0.0, resume - now_ - epilogue);
  if (more) return begin_item(slot, index, resume, 0, kernel_->prefetches_items ? Entry::prefetched : Entry::further);
  if (next_list_ < plan_->lists()) return enter_timed(index, resume);
  finish_list(index, resume);  // nobody waits for the slot, so that its end is no event
}

void Engine::end_timed(std::int32_t index) {
  Slot& slot = at(index);
  if (slot.item < slot.item_end) {
    if (has_room(group_of(slot))) return join(index);
    slot.state = SlotState::waiting;
    return;
  }
  finish_list(index, now_);
  freed_.push_back({index, 0, 0});
}

void Engine::join(std::int32_t index) {
  Slot& slot = at(index);
  slot.state = SlotState::joining;
  joining_.push_back(index);
  ++group_of(slot).streaming;
  mark(slot.group);
}

/// Kernels that ask for all of their items at once are served SM by SM in the order of their requests, which takes the
/// CTAs of an SM out of step: one streams for the SM, or as many as it takes to keep the memory busy; of those that a
/// launch begins with, which all ask at the same time, two (of six CTAs to an SM pairs ended together on an H100, of
/// two both). Rings ask for little at a time, in turn.
bool Engine::has_room(const Group& group) const {
  if (kernel_->most_tokens == 0 || group.streaming == 0) return true;
  const MemoryLaw& law = work_->law;
  double streaming = 0;
  bool first_wave = true;
  for (std::int32_t index = group.first_slot; index < group.first_slot + options_.ctas_per_sm; ++index) {
    const Slot& slot = slots_[static_cast<std::size_t>(index)];
    if (slot.state != SlotState::streaming && slot.state != SlotState::joining) continue;
    streaming += slot.bytes;
    first_wave = first_wave && slot.list < first_wave_;
  }
  if (first_wave && group.streaming < 2) return true;
  return streaming * machine_->sms < law.asymptote * law.latency_seconds;
}

/// A stream of the SMs has ended: those that have waited longest begin.
void Engine::join_waiting(const Group& group) {
  for (;;) {
    std::int32_t next = -1;
    for (std::int32_t index = group.first_slot; index < group.first_slot + options_.ctas_per_sm; ++index) {
      if (at(index).state == SlotState::waiting && (next < 0 || at(index).until < at(next).until)) next = index;
    }
    if (next < 0 || !has_room(group)) return;
    join(next);
  }
}

void Engine::finish_list(std::int32_t index, double time) {
  Slot& slot = at(index);
  slot.state = SlotState::idle;
  slot.list = -1;
  ended_.all += weight(slot);
  if (slot.reads) ended_.reading += weight(slot);
  Group& group = group_of(slot);
  result_->busy_slot_seconds += group.weight * time;
  group.work_end = std::max(group.work_end, time);
  if (--group.working == 0) result_->busy_sm_seconds += group.weight * group.work_end;
  result_->end_seconds = std::max(result_->end_seconds, time);
}

void Engine::mark(std::int32_t group) {
  Group& one = groups_[static_cast<std::size_t>(group)];
  if (one.dirty) return;
  one.dirty = true;
  dirty_.push_back(group);
}

/// Puts the streaming slots of changed groups into the class of their new number of sharers, then those that join.
void Engine::regroup_streams() {
  const std::int32_t per_sm = options_.ctas_per_sm;
  for (const std::int32_t number : dirty_) {
    Group& group = groups_[static_cast<std::size_t>(number)];
    group.dirty = false;
    if (group.streaming == 0) continue;
    const Slot* const slots = &at(group.first_slot);
    for (std::int32_t k = 0; k < per_sm; ++k) {
      if (slots[k].state != SlotState::streaming) continue;
      streams_.change_class(group.first_slot + k, stream_class(slots[k], group), group.weight);
    }
  }
  dirty_.clear();
  for (const std::int32_t index : joining_) {
    Slot& slot = at(index);
    slot.state = SlotState::streaming;
    const Group& group = group_of(slot);
    streams_.add(index, stream_class(slot, group), slot.bytes, group.weight);
  }
  joining_.clear();
}

void Engine::process_events() {
  const double until = now_ * (1 + kSameTime);
  while (timed_.least_key() <= until) {
    end_timed(timed_.pop());
  }
  // Most ends of phases neither begin nor end a stream: they need no look at the streams.
  if (!dirty_.empty() || streams_.ends_by(now_)) {
    streams_.advance(now_, result_->slot_seconds.stream, result_->slot_seconds.compute);
    for (std::int32_t slot = streams_.finished(); slot >= 0; slot = streams_.finished()) end_stream(slot);
  }
  // What ends and what begins at one time must not depend on which of them is looked at first.
  busy_.all -= ended_.all;
  busy_.reading -= ended_.reading;
  ended_ = {};
}

/// Everything it calls is inlined: a step takes tens of nanoseconds, of which calls would be a tenth.
[[gnu::flatten]] bool Engine::run(const schedules::Plan& plan, const Machine& machine, const KernelProfile& kernel,
                                  const Work& work, const EngineOptions& options, EngineResult& result) {
  plan_ = &plan;
  machine_ = &machine;
  kernel_ = &kernel;
  work_ = &work;
  options_ = options;
  result_ = &result;
  result.slot_seconds = {};
  result.busy_slot_seconds = 0;
  result.busy_sm_seconds = 0;
  result.kv_bytes = 0;
  result.q_rows = 0;
  result.spans.clear();
  result.item_end.assign(options.item_ends ? plan.items.size() : 0, 0);
  count_bytes_to_read();
  // Lists that start together end together, item by item; of those that wait, each goes its own way.
  grouped_ = !options.spans && (!options.item_ends || plan.lists() <= resident_ctas());
  timed_.clear();
  dirty_.clear();
  joining_.clear();
  freed_.clear();
  ended_ = {};
  prepare_classes();
  start_first_wave();
  result.end_seconds = dispatcher_free_;
  constexpr std::uint32_t kStepsBetweenLooks = 4096;
  for (std::uint32_t step = 1;; ++step) {
    if (step % kStepsBetweenLooks == 0) base::stop_if_asked();
    if (is_too_late(step)) return false;
    now_ = std::min(timed_.least_key(), streams_.next_end());
    if (now_ == std::numeric_limits<double>::infinity()) break;
    process_events();
    if (!freed_.empty()) dispatch_freed();
    if (dirty_.empty()) continue;
    regroup_streams();
    streams_.solve();
  }
  if (grouped_ && options.item_ends) copy_item_ends();
  return true;
}

bool run_lists(const schedules::Plan& plan, const Machine& machine, const KernelProfile& kernel, const Work& work,
               const EngineOptions& options, EngineResult& result) {
  static thread_local Engine engine;
  return engine.run(plan, machine, kernel, work, options, result);
}

}  // namespace splitwave::simulator
