// SPDX-License-Identifier: Apache-2.0
// How lists reach slots: the first wave, groups of SMs that are alike, and lists that wait.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "simulator/alike.h"
#include "simulator/engine_state.h"
#include "simulator/placement.h"
#include "simulator/ports.h"

namespace splitwave::simulator {
namespace {

/// Gives rows of `width` numbers one more.
void add_column(std::vector<std::int32_t>& rows, std::int32_t width, const std::vector<std::int32_t>& column) {
  static thread_local std::vector<std::int32_t> wider;
  wider.clear();
  auto row = rows.begin();
  for (const std::int32_t value : column) {
    wider.insert(wider.end(), row, row + width);
    wider.push_back(value);
    row += width;
  }
  rows.swap(wider);
}

}  // namespace

void Engine::prepare_classes() {
  const std::int32_t first_wave = std::min(plan_->lists(), resident_ctas());
  if (options_.first_gpc < 0) {
    place_first_wave(*machine_, options_.ctas_per_sm, first_wave, sm_of_cta_);
  } else {
    place_by_gpc(*machine_, first_wave, options_.first_gpc, sm_of_cta_);
  }
  find_port_kinds();
  limits_.gpc_bytes_per_second = machine_->gpc_bytes_per_second;
  limits_.side_bytes_per_second = machine_->side_bytes_per_second;
  const auto per_sm = static_cast<std::size_t>(options_.ctas_per_sm);
  limits_.law = work_->law;
  limits_.sm_bytes_per_second = work_->sm_bytes_per_second;
  limits_.sms = machine_->sms;
  limits_.per_sm = options_.ctas_per_sm;
  const std::size_t kinds = limits_.kinds.ports.size();
  limits_.arithmetic_cap.assign(per_sm * kinds * work_->seconds_per_byte.size(),
                                std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < limits_.arithmetic_cap.size(); ++i) {
    const TokenSeconds& cost = work_->seconds_per_byte[i / kinds / per_sm];
    const double sharers = limits_.sharers(i);
    const double per_byte = std::max(cost.alone, sharers > 1 ? cost.crowded * sharers : 0);
    if (per_byte > 0) limits_.arithmetic_cap[i] = 1 / per_byte;
  }
  fill_ = {};
}

std::int32_t Engine::resident_ctas() const {
  const std::int32_t slots = machine_->sms * options_.ctas_per_sm;
  return options_.workers > 0 ? std::min(options_.workers, slots) : slots;
}

/// CTAs without tokens load no port. Clusters of kernels without rings that lie behind several ports are served SM by
/// SM as long as no list waits.
void Engine::find_port_kinds() {
  reading_sms_.clear();
  if (!machine_->port_of_sm.empty()) {
    for (std::size_t cta = 0; cta < sm_of_cta_.size(); ++cta) {
      if (has_tokens(*plan_, static_cast<std::int32_t>(cta))) reading_sms_.push_back(sm_of_cta_[cta]);
    }
  }
  const bool lists_wait = plan_->lists() > resident_ctas();
  if (kernel_->cluster > 2 && kernel_->most_tokens > 0 && !lists_wait && !machine_->port_of_sm.empty()) {
    limits_.kinds = sm_kinds(machine_->sms, reading_sms_);
  } else {
    limits_.kinds = port_kinds(*machine_, reading_sms_, lists_wait, options_.first_gpc >= 0);
  }
}

/// Whether the waves of the plan's lists fall out of step by themselves: those of kernels with rings whose lists are
/// equal. Others are out of step by their lengths, or (Engine::has_room) by how memory serves them.
bool Engine::falls_out_of_step() const {
  if (!kernel_->refills_after_use || kernel_->most_tokens > 0 || plan_->lists() <= resident_ctas() ||
      plan_->items.empty()) {
    return false;
  }
  const std::int32_t tokens = plan_->items.front().tokens();
  return std::all_of(plan_->items.begin(), plan_->items.end(),
                     [&](const schedules::Item& item) { return item.tokens() == tokens; });
}

/// What stands for it: in the first wave the places of an SM, or every other SM where each has one place, end a start
/// apart, so that one place's starts come while the others stream. What some streams have more others have less.
double Engine::out_of_step_bytes(std::int32_t index, double start_seconds, double bytes_per_second) const {
  const Slot& slot = slots_[static_cast<std::size_t>(index)];
  const Group& group = groups_[static_cast<std::size_t>(slot.group)];
  const std::int32_t places = std::max(2, options_.ctas_per_sm);
  const std::int32_t place = options_.ctas_per_sm == 1 ? group.sm % 2 : index - group.first_slot;
  return (place - 0.5 * (places - 1)) * std::min(start_seconds * bytes_per_second, slot.bytes / places);
}

/// What the start of a list takes longer in the place of a CTA that has ended: as far as the places are taken, by lists
/// that start with this one and not by those of a wave that ends, and those in them are at their starts or ends too, as
/// in the probe, whose CTAs stream next to nothing. Rows that a CTA of such a kernel has none of neither come nor go.
double Engine::later_start_seconds(std::int32_t list, double lead, double bytes, const Fill& start) const {
  if (start.share <= 0) return 0;
  const std::int32_t left = plan_->lists() - list / first_wave_ * first_wave_;
  const double starting = lead / (lead + bytes / start.share);
  double rows = 1;
  if (work_->most_rows > 0) {
    const std::size_t cost = work_->cost_of(plan_->list(list).front());
    rows -= static_cast<double>(work_->empty_rows(work_->heights[cost])) / work_->most_rows;
  }
  return rows * kernel_->later_start_seconds * crowd(std::min<double>(busy_.reading, left)) * starting;
}

void Engine::make_groups(std::int32_t first_wave) {
  const std::int32_t per_sm = options_.ctas_per_sm;
  const bool by_port = !limits_.kinds.kind_of_sm.empty();
  if (grouped_) number_alike(*plan_, *work_, first_wave, kind_of_list_);
  const auto cells = static_cast<std::size_t>(machine_->sms) * static_cast<std::size_t>(per_sm);
  rows_.assign(cells, -1);
  lists_of_sm_.assign(cells, -1);
  group_of_sm_.assign(static_cast<std::size_t>(machine_->sms), 0);  // counts first, groups later
  for (std::int32_t cta = 0; cta < first_wave; ++cta) {
    const auto sm = static_cast<std::size_t>(sm_of_cta_[static_cast<std::size_t>(cta)]);
    const std::size_t cell = sm * static_cast<std::size_t>(per_sm) + static_cast<std::size_t>(group_of_sm_[sm]++);
    rows_[cell] = grouped_ ? kind_of_list_[static_cast<std::size_t>(cta)] : cta;
    lists_of_sm_[cell] = cta;
  }
  if (grouped_) {
    std::int32_t width = per_sm;
    if (by_port) add_column(rows_, width++, limits_.kinds.kind_of_sm);
    if (drifts_ && per_sm == 1) {
      odd_sms_.resize(static_cast<std::size_t>(machine_->sms));
      for (std::size_t sm = 0; sm < odd_sms_.size(); ++sm) odd_sms_[sm] = static_cast<std::int32_t>(sm % 2);
      add_column(rows_, width++, odd_sms_);
    }
    group_alike(rows_, width, group_of_sm_);
  } else {
    std::iota(group_of_sm_.begin(), group_of_sm_.end(), 0);
  }
}

/// What the start of a list of the first wave takes longer as far as its SM is full, of CTAs with tokens, and a first
/// item of less than a window has the others' rounds beside its own. Of warps that each have a part of the list all
/// begin at once, whatever items are theirs.
double Engine::full_sm_seconds(const Slot& slot, double bytes) const {
  if (options_.ctas_per_sm < 2 || kernel_->full_sm_seconds + kernel_->full_sm_start_seconds <= 0) return 0;
  const double full = (reading_on_sm(slot) - 1) / (options_.ctas_per_sm - 1);
  if (kernel_->warps_alone) {
    bytes = 0;
    for (const schedules::Item& item : plan_->list(slot.list)) bytes += item.tokens() * work_->bytes_per_token;
  }
  const double round = kernel_->tile_tokens * work_->bytes_per_token;
  const double rounds = std::ceil(bytes / round) * round / work_->law.bytes_in_flight;
  return full * (kernel_->full_sm_start_seconds + std::min(1.0, rounds) * kernel_->full_sm_seconds);
}

void Engine::start_first_wave() {
  const std::int32_t per_sm = options_.ctas_per_sm;
  const std::int32_t first_wave = std::min(plan_->lists(), resident_ctas());
  first_wave_ = first_wave;
  drifts_ = falls_out_of_step();
  const double launched = launch_seconds(*machine_, *kernel_);
  dispatcher_free_ = launched + first_wave * machine_->launch_seconds_per_cta;
  // CTAs that have no item, behind the last that has one, delay nobody.
  const std::int32_t working = schedules::working_lists(*plan_, first_wave);
  now_ = launched + working * machine_->launch_seconds_per_cta;
  result_->slot_seconds.launch = machine_->sms * per_sm * launched + first_wave * (now_ - launched);
  next_list_ = first_wave;
  busy_ = {static_cast<double>(first_wave), 0};
  if (first_wave == 0) return streams_.reset(limits_, 0);
  make_groups(first_wave);
  slots_.clear();
  groups_.clear();
  for (std::int32_t sm = 0; sm < machine_->sms; ++sm) {
    const std::size_t cell = static_cast<std::size_t>(sm) * static_cast<std::size_t>(per_sm);
    const auto number = static_cast<std::size_t>(group_of_sm_[static_cast<std::size_t>(sm)]);
    if (number < groups_.size()) {
      ++groups_[number].weight;
      continue;
    }
    const std::int32_t kind =
        limits_.kinds.kind_of_sm.empty() ? 0 : limits_.kinds.kind_of_sm[static_cast<std::size_t>(sm)];
    groups_.push_back({1, 0, static_cast<std::int32_t>(slots_.size()), 0, sm, kind});
    for (std::int32_t k = 0; k < per_sm; ++k) {
      slots_.emplace_back();
      slots_.back().group = static_cast<std::int32_t>(number);
      slots_.back().list = lists_of_sm_[cell + static_cast<std::size_t>(k)];
    }
  }
  for (Slot& slot : slots_) {
    slot.reads = slot.list >= 0 && has_tokens(*plan_, slot.list);
    if (slot.reads) busy_.reading += weight(slot);
  }
  streams_.reset(limits_, slots_.size());
  const double lone = first_prologue_seconds(*machine_, *kernel_) + work_->cold_seconds + work_->table_seconds;
  const double lead =
      work_->start_seconds(lone, busy_.reading, machine_->sms * per_sm) + options_.worker_prologue_seconds;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const std::int32_t list = slots_[slot].list;
    if (list < 0) continue;
    start_list(static_cast<std::int32_t>(slot), list, now_, lead, Entry::first);
  }
}

/// Gives the items of all SMs of a group the ends that were seen on its first one. All lists are of the first wave.
void Engine::copy_item_ends() {
  const auto per_sm = static_cast<std::size_t>(options_.ctas_per_sm);
  const auto first_item = [&](std::size_t cell) {
    return result_->item_end.begin() + plan_->cta_begin[static_cast<std::size_t>(lists_of_sm_[cell])];
  };
  for (std::size_t sm = 0; sm < group_of_sm_.size(); ++sm) {
    const auto seen = static_cast<std::size_t>(groups_[static_cast<std::size_t>(group_of_sm_[sm])].sm);
    if (seen == sm) continue;
    for (std::size_t k = 0; k < per_sm; ++k) {
      if (lists_of_sm_[sm * per_sm + k] < 0) continue;
      const auto items = plan_->list(lists_of_sm_[sm * per_sm + k]).size();
      std::copy_n(first_item(seen * per_sm + k), items, first_item(sm * per_sm + k));
    }
  }
}

/// Takes `weight` SMs out of the slot's group; returns the same slot of the new group.
std::int32_t Engine::split(std::int32_t slot, std::int32_t weight) {
  const std::int32_t old = at(slot).group;
  const auto fresh = static_cast<std::int32_t>(groups_.size());
  Group copy = groups_[static_cast<std::size_t>(old)];
  const std::int32_t old_first = copy.first_slot;
  groups_[static_cast<std::size_t>(old)].weight -= weight;
  copy.weight = weight;
  copy.first_slot = static_cast<std::int32_t>(slots_.size());
  groups_.push_back(copy);
  if (copy.dirty) dirty_.push_back(fresh);
  for (std::int32_t k = 0; k < options_.ctas_per_sm; ++k) {
    const auto index = static_cast<std::int32_t>(slots_.size());
    Slot twin = at(old_first + k);
    twin.group = fresh;
    slots_.push_back(twin);
    if (twin.state == SlotState::timed) timed_.push(twin.until, index);
    if (twin.state == SlotState::joining) joining_.push_back(index);
    streams_.clone(old_first + k, index);
    if (twin.state != SlotState::idle || old_first + k == slot) continue;
    // This slot became free together with the one being filled: its new SMs come before those that stay behind.
    const auto original =
        std::find_if(freed_.begin(), freed_.end(), [&](const FreeSlot& free) { return free.slot == old_first + k; });
    if (original != freed_.end()) freed_.insert(original, {index, original->neighbours, original->left});
  }
  return copy.first_slot + (slot - old_first);
}

/// Bytes that a busy slot has yet to take in, time counted at the machine's bandwidth.
double Engine::work_left(std::int32_t index) const {
  const Slot& slot = slots_[static_cast<std::size_t>(index)];
  double left = 0;
  std::int32_t first = slot.item;
  if (slot.state == SlotState::streaming) {
    left += streams_.bytes_left(index, now_);
    ++first;
  }
  if (slot.state == SlotState::timed) left += (slot.until - now_) * machine_->dram_bytes_per_second;
  for (std::int32_t item = first; item < slot.item_end; ++item) {
    left += plan_->items[static_cast<std::size_t>(item)].tokens() * work_->bytes_per_token;
  }
  return left;
}

void Engine::order_freed() {
  for (FreeSlot& free : freed_) {
    Group& group = group_of(at(free.slot));
    // Slots of one SM that became free together fill up one after the other.
    free.neighbours = group.freed++;
    free.left = 0;
    for (std::int32_t index = group.first_slot; index < group.first_slot + options_.ctas_per_sm; ++index) {
      const Slot& other = at(index);
      if (other.state == SlotState::idle) continue;
      ++free.neighbours;
      free.left += work_left(index);
    }
  }
  for (const FreeSlot& free : freed_) group_of(at(free.slot)).freed = 0;
  // Slots of equal standing go by kind of port, whether SMs are grouped or not, and by SM, so that first and second
  // slots of SMs that are alike pair up in the same way.
  std::sort(freed_.begin(), freed_.end(), [this](const FreeSlot& a, const FreeSlot& b) {
    if (a.neighbours != b.neighbours) return a.neighbours < b.neighbours;
    if (a.left != b.left) return a.left < b.left;
    const std::int32_t group_a = at(a.slot).group;
    const std::int32_t group_b = at(b.slot).group;
    const std::int32_t kind_a = group_of(at(a.slot)).port;
    const std::int32_t kind_b = group_of(at(b.slot)).port;
    if (kind_a != kind_b) return kind_a < kind_b;
    return group_a != group_b ? group_a < group_b : a.slot < b.slot;
  });
}

/// Cuts the lists from next_list_ to `end` into runs that are alike. Returns how many of the lists have tokens.
double Engine::find_runs(std::int32_t end) {
  runs_.clear();
  double reading = 0;
  for (std::int32_t list = next_list_; list < end;) {
    Run run{list + 1, has_tokens(*plan_, list)};
    while (run.end < end && alike(*plan_, *work_, list, run.end)) ++run.end;
    if (run.reads) reading += run.end - list;
    runs_.push_back(run);
    list = run.end;
  }
  return reading;
}

void Engine::enter_timed(std::int32_t index, double until) {
  Slot& slot = at(index);
  slot.until = until;
  slot.state = SlotState::timed;
  timed_.push(until, index);
}

/// Gives the lists that wait to the slots that became free just now, in the order of the plan.
void Engine::dispatch_freed() {
  const std::int32_t waiting = plan_->lists() - next_list_;
  if (waiting == 0) return freed_.clear();
  double free_slots = 0;
  for (const FreeSlot& free : freed_) free_slots += weight(at(free.slot));
  if (freed_.size() > 1) order_freed();
  const double starting = std::min<double>(waiting, free_slots);
  const bool persistent = options_.workers > 0;
  double start = now_;
  double lead = kernel_->prologue_seconds + work_->table_seconds;  // L2 has seen too much else meanwhile
  Entry entry = Entry::first;
  if (persistent) {
    lead = options_.next_list_seconds;
    const bool runs_over = kernel_->prefetches_items && !kernel_->refills_after_use;  // from list to list
    entry = runs_over ? Entry::prefetched : Entry::further;
  } else {
    start = std::max(now_, dispatcher_free_) + starting * machine_->launch_seconds_per_cta;
    dispatcher_free_ = start;
  }
  const std::int32_t end = next_list_ + static_cast<std::int32_t>(starting);
  busy_.all += starting;
  busy_.reading += find_runs(end);
  result_->slot_seconds.launch += starting * (start - now_);
  auto run = runs_.begin();
  for (std::size_t i = 0; i < freed_.size() && next_list_ < end;) {
    const std::int32_t list = next_list_;
    std::int32_t slot = freed_[i].slot;
    const std::int32_t count = std::min(group_of(at(slot)).weight, run->end - list);
    if (count < group_of(at(slot)).weight) {
      slot = split(slot, count);
    } else {
      ++i;
    }
    at(slot).reads = run->reads;
    next_list_ += count;
    if (next_list_ == run->end) ++run;
    start_list(slot, list, start, lead, entry);
  }
  freed_.clear();
}

}  // namespace splitwave::simulator
