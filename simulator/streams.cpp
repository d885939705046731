// SPDX-License-Identifier: Apache-2.0
#include "simulator/streams.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace splitwave::simulator {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// Bytes within which two ends are one event: a hundredth of a byte is below any rounding that matters.
constexpr double kSameBytes = 1e-2;
/// Most SMs for which computed rates are kept: a table of their square.
constexpr std::int32_t kMostKnownSms = 512;

bool same_limits(const StreamLimits& a, const StreamLimits& b) {
  const MemoryLaw& x = a.law;
  const MemoryLaw& y = b.law;
  return x.bytes_in_flight == y.bytes_in_flight && x.latency_seconds == y.latency_seconds &&
         x.queue_seconds == y.queue_seconds && x.asymptote == y.asymptote && x.plateau == y.plateau &&
         x.dram_share == y.dram_share && x.l2_bytes_per_second == y.l2_bytes_per_second && x.by_sms.empty() &&
         y.by_sms.empty() && a.sm_bytes_per_second == b.sm_bytes_per_second && a.sms == b.sms && a.per_sm == b.per_sm &&
         a.arithmetic_cap == b.arithmetic_cap;
}

}  // namespace

/// The table of these limits, or the one that was not used for longest, whose states it then makes stale.
void Streams::choose_table(const StreamLimits& limits) {
  table_ = &tables_.front();
  for (Table& table : tables_) {
    if (same_limits(limits, table.limits)) {
      table_ = &table;
      break;
    }
    if (table.used < table_->used) table_ = &table;
  }
  table_->used = ++resets_;
  if (!same_limits(limits, table_->limits)) {
    table_->limits = limits;
    ++table_->generation;
  }
  keeps_ = limits.arithmetic_cap.size() <= 2 &&
           limits.per_sm == static_cast<std::int32_t>(limits.arithmetic_cap.size()) && limits.law.by_sms.empty() &&
           limits.sms <= kMostKnownSms;
  if (!keeps_) return;
  const auto side = static_cast<std::size_t>(limits.sms + 1);
  const std::size_t states = side * side;
  if (table_->states.size() < states) table_->states.resize(states);
}

void Streams::reset(const StreamLimits& limits, std::size_t slots) {
  choose_table(limits);
  const std::size_t count = limits.arithmetic_cap.size();
  classes_.assign(count, {});
  for (std::size_t i = 0; i < count; ++i) {
    const double sharers = static_cast<double>(i % static_cast<std::size_t>(limits.per_sm)) + 1;
    classes_[i].cap = std::min(limits.sm_bytes_per_second / sharers, limits.arithmetic_cap[i]);
  }
  rates_.assign(count, 0);
  memory_share_.assign(count, 1);
  lane_of_class_.assign(count, 0);
  if (lanes_.size() < count + 1) lanes_.resize(count + 1);
  lanes_in_use_ = 1;
  lanes_[0].ctas = 0;
  lanes_[0].counter = 0;
  lanes_[0].rate = 0;
  lanes_[0].ends.reset(slots);
  class_of_slot_.assign(slots, -1);
}

void Streams::add(std::int32_t slot, std::int32_t stream_class, double bytes, double ctas) {
  const auto target = static_cast<std::size_t>(stream_class);
  const auto index = static_cast<std::size_t>(slot);
  if (index >= class_of_slot_.size()) {
    class_of_slot_.resize(index + 1);
    for (Lane& lane : lanes()) lane.ends.grow(index + 1);
  }
  class_of_slot_[index] = stream_class;
  classes_[target].ctas += ctas;
  Lane& lane = lane_of(target);
  lane.ctas += ctas;
  lane.ends.set(slot, lane.counter + bytes);
}

void Streams::change_class(std::int32_t slot, std::int32_t stream_class, double ctas) {
  const auto source = static_cast<std::size_t>(class_of_slot_[static_cast<std::size_t>(slot)]);
  const auto target = static_cast<std::size_t>(stream_class);
  if (source == target) return;
  classes_[source].ctas -= ctas;
  classes_[target].ctas += ctas;
  class_of_slot_[static_cast<std::size_t>(slot)] = stream_class;
  Lane& from = lane_of(source);
  Lane& to = lane_of(target);
  if (&from == &to) return;
  from.ctas -= ctas;
  to.ctas += ctas;
  to.ends.set(slot, to.counter + (from.ends.key(slot) - from.counter));
  from.ends.clear(slot);
}

void Streams::remove(std::int32_t slot, double ctas) {
  const auto source = static_cast<std::size_t>(class_of_slot_[static_cast<std::size_t>(slot)]);
  classes_[source].ctas -= ctas;
  Lane& lane = lane_of(source);
  lane.ctas -= ctas;
  lane.ends.clear(slot);
}

void Streams::clone(std::int32_t slot, std::int32_t twin) {
  const std::int32_t stream_class = class_of_slot_[static_cast<std::size_t>(slot)];
  Lane& lane = lane_of(static_cast<std::size_t>(stream_class));
  const double bytes = bytes_left(slot);
  const double key = lane.ends.key(slot);
  add(twin, stream_class, bytes, 0);
  lane.ends.set(twin, key);
}

double Streams::bytes_left(std::int32_t slot) const {
  const Lane& lane = lanes_[lane_of_class_[static_cast<std::size_t>(class_of_slot_[static_cast<std::size_t>(slot)])]];
  return lane.ends.key(slot) - lane.counter;
}

/// Gives a class that a cap holds back a lane of its own, for the rest of the run.
void Streams::detach(std::size_t stream_class) {
  Lane& shared = lanes_[0];
  Lane& own = lanes_[lanes_in_use_];
  lane_of_class_[stream_class] = lanes_in_use_++;
  own.ctas = classes_[stream_class].ctas;
  own.counter = shared.counter;
  shared.ctas -= own.ctas;
  own.ends.reset(class_of_slot_.size());
  if (shared.ctas < 0.5) return std::swap(own.ends, shared.ends);
  for (std::int32_t slot = 0; slot < static_cast<std::int32_t>(class_of_slot_.size()); ++slot) {
    if (class_of_slot_[static_cast<std::size_t>(slot)] != static_cast<std::int32_t>(stream_class)) continue;
    if (shared.ends.key(slot) == SlotTree::kNone) continue;
    own.ends.set(slot, shared.ends.key(slot));
    shared.ends.clear(slot);
  }
}

/// The table's place for the present state, or null if none is kept.
Streams::Known* Streams::known_state() {
  if (!keeps_) return nullptr;
  const auto lone = static_cast<std::int32_t>(classes_[0].ctas);
  const std::int32_t pairs = classes_.size() > 1 ? static_cast<std::int32_t>(classes_[1].ctas) / 2 : 0;
  return &table_->states[static_cast<std::size_t>(lone * (table_->limits.sms + 1) + pairs)];
}

void Streams::compute(Rates rates) {
  const StreamLimits& limits = table_->limits;
  level_ = share_bandwidth(limits.law, classes_);
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const double sharers = static_cast<double>(i % static_cast<std::size_t>(limits.per_sm)) + 1;
    const double memory = std::min(level_, limits.sm_bytes_per_second / sharers);
    rates.of_class[i] = classes_[i].rate;
    rates.memory_share[i] = classes_[i].rate < memory ? classes_[i].rate / memory : 1;
  }
}

/// Rates of the present state: as the table has them, or computed now.
Streams::Rates Streams::find_rates() {
  Known* known = known_state();
  if (known == nullptr) {
    const Rates rates{rates_.data(), memory_share_.data()};
    compute(rates);
    return rates;
  }
  const Rates rates{known->rate, known->memory_share};
  if (known->generation == table_->generation) {
    level_ = known->level;
  } else {
    compute(rates);
    known->generation = table_->generation;
    known->level = level_;
  }
  return rates;
}

void Streams::solve() {
  const Rates rates = find_rates();
  lanes_[0].rate = level_;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (lane_of_class_[i] == 0) {
      if (rates.of_class[i] == level_ || classes_[i].ctas < 0.5) continue;
      detach(i);
    }
    lane_of(i).rate = rates.of_class[i];
    lane_of(i).memory_share = rates.memory_share[i];
  }
}

double Streams::seconds_to_next() const {
  double next = kNever;
  for (const Lane& lane : lanes()) {
    if (lane.ctas < 0.5) continue;
    next = std::min(next, std::max(0.0, lane.ends.least_key() - lane.counter) / lane.rate);
  }
  return next;
}

void Streams::advance(double seconds, double& memory, double& arithmetic) {
  for (Lane& lane : lanes()) {
    if (lane.ctas < 0.5) continue;
    lane.counter += lane.rate * seconds;
    const double cta_seconds = lane.ctas * seconds;
    memory += cta_seconds * lane.memory_share;
    arithmetic += cta_seconds * (1 - lane.memory_share);
  }
}

std::int32_t Streams::finished() const {
  for (const Lane& lane : lanes()) {
    if (lane.ends.least_key() <= lane.counter + kSameBytes) return lane.ends.least_slot();
  }
  return -1;
}

}  // namespace splitwave::simulator
