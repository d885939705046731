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
/// The same as a share of what a counter or the clock can tell apart: where either has gone far, a hundredth is
/// nothing.
constexpr double kSameShare = 8 * std::numeric_limits<double>::epsilon();
/// Most SMs for which computed rates are kept: their states can be numbered in 32 bits.
constexpr std::int32_t kMostKnownSms = 1 << 15;
/// Numbers of CTAs of a class that have places of their own in a table of rates.
constexpr std::uint32_t kPlacesPerClass = 64;

double same_bytes(double counter, double bytes_per_second, double now) {
  return std::max(kSameBytes, kSameShare * std::max(counter, bytes_per_second * now));
}

bool same_limits(const StreamLimits& a, const StreamLimits& b) {
  const MemoryLaw& x = a.law;
  const MemoryLaw& y = b.law;
  return x.bytes_in_flight == y.bytes_in_flight && x.latency_seconds == y.latency_seconds &&
         x.refill_seconds == y.refill_seconds && x.passing_seconds == y.passing_seconds &&
         x.queue_seconds == y.queue_seconds && x.asymptote == y.asymptote && x.plateau == y.plateau &&
         x.dram_share == y.dram_share && x.l2_bytes_per_second == y.l2_bytes_per_second && x.by_sms.empty() &&
         y.by_sms.empty() && a.sm_bytes_per_second == b.sm_bytes_per_second && a.sms == b.sms && a.per_sm == b.per_sm &&
         a.kinds.ports == b.kinds.ports && a.kinds.sides == b.kinds.sides && a.kinds.gpcs == b.kinds.gpcs &&
         a.side_bytes_per_second == b.side_bytes_per_second && a.gpc_bytes_per_second == b.gpc_bytes_per_second &&
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
  if (keeps_) table_->places.resize(std::size_t{kPlacesPerClass} * kPlacesPerClass);
}

void Streams::reset(const StreamLimits& limits, std::size_t slots) {
  choose_table(limits);
  const std::size_t count = limits.arithmetic_cap.size();
  classes_.assign(count, {});
  sm_share_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    sm_share_[i] = limits.sm_bytes_per_second / limits.sharers(i);
    classes_[i].port = static_cast<std::int32_t>(i % limits.kinds.ports.size());
  }
  ctas_.assign(count, 0);
  rates_.assign(count, {});
  if (lanes_.size() < count + 1) lanes_.resize(count + 1);
  lane_of_class_.assign(count, lanes_.data());
  lanes_in_use_ = 1;
  lanes_[0].ctas = 0;
  lanes_[0].counter = 0;
  lanes_[0].rate = rates_.data();
  lanes_[0].ends.reset(slots);
  class_of_slot_.assign(slots, 0);
  now_ = 0;
  taken_bytes_ = 0;
  next_end_ = kNever;
  almost_end_ = kNever;
}

void Streams::add(std::int32_t slot, std::int32_t stream_class, double bytes, std::int32_t ctas) {
  Lane& lane = lane_of(stream_class);
  class_of_slot_[static_cast<std::size_t>(slot)] = stream_class;
  ctas_[static_cast<std::size_t>(stream_class)] += ctas;
  lane.ctas += ctas;
  lane.ends.insert(slot, lane.counter + bytes);
}

void Streams::change_class(std::int32_t slot, std::int32_t stream_class, std::int32_t ctas) {
  const std::int32_t source = class_of_slot_[static_cast<std::size_t>(slot)];
  if (source == stream_class) return;
  class_of_slot_[static_cast<std::size_t>(slot)] = stream_class;
  ctas_[static_cast<std::size_t>(source)] -= ctas;
  ctas_[static_cast<std::size_t>(stream_class)] += ctas;
  Lane& from = lane_of(source);
  Lane& to = lane_of(stream_class);
  if (&from == &to) return;
  from.ctas -= ctas;
  to.ctas += ctas;
  to.ends.insert(slot, to.counter + (from.ends.key(slot) - from.counter));
  from.ends.erase(slot);
}

void Streams::remove(std::int32_t slot, std::int32_t ctas) {
  const std::int32_t source = class_of_slot_[static_cast<std::size_t>(slot)];
  ctas_[static_cast<std::size_t>(source)] -= ctas;
  Lane& lane = lane_of(source);
  lane.ctas -= ctas;
  lane.ends.erase(slot);
}

void Streams::clone(std::int32_t slot, std::int32_t twin) {
  const std::int32_t stream_class = class_of_slot_[static_cast<std::size_t>(slot)];
  class_of_slot_.push_back(stream_class);
  for (std::size_t i = 0; i < lanes_in_use_; ++i) lanes_[i].ends.grow(class_of_slot_.size());
  SlotTree& ends = lane_of(stream_class).ends;
  const double key = ends.key(slot);
  if (key < SlotTree::kNone) ends.insert(twin, key);
}

double Streams::bytes_left(std::int32_t slot, double now) const {
  const Lane& lane = *lane_of_class_[static_cast<std::size_t>(class_of_slot_[static_cast<std::size_t>(slot)])];
  return lane.ends.key(slot) - (lane.counter + lane.rate->bytes_per_second * (now - now_));
}

/// Gives a class that a cap holds back a lane of its own, for the rest of the run.
void Streams::detach(std::int32_t stream_class) {
  Lane& shared = lanes_[0];
  Lane& own = lanes_[lanes_in_use_++];
  lane_of_class_[static_cast<std::size_t>(stream_class)] = &own;
  own.ctas = ctas_[static_cast<std::size_t>(stream_class)];
  own.counter = shared.counter;
  shared.ctas -= own.ctas;
  own.ends.reset(class_of_slot_.size());
  if (shared.ctas == 0) return std::swap(own.ends, shared.ends);
  for (std::int32_t slot = 0; slot < static_cast<std::int32_t>(class_of_slot_.size()); ++slot) {
    const double key = shared.ends.key(slot);
    if (class_of_slot_[static_cast<std::size_t>(slot)] != stream_class || key == SlotTree::kNone) continue;
    own.ends.insert(slot, key);
    shared.ends.erase(slot);
  }
}

/// Fills in the rates of the present state. Returns their common level.
double Streams::compute(Rate* rates) {
  const StreamLimits& limits = table_->limits;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    classes_[i].ctas = ctas_[i];
    classes_[i].cap = std::min(sm_share_[i], limits.arithmetic_cap[i]);
  }
  cap_by_gpcs(limits.kinds, limits.gpc_bytes_per_second, classes_);
  const double level = share_bandwidth(limits.law, classes_);
  share_by_sides(limits.law, limits.kinds, limits.side_bytes_per_second, level, classes_);
  share_by_ports(limits.law, limits.kinds, level, classes_);
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const double memory = std::min(level, sm_share_[i]);
    const double rate = classes_[i].rate;
    rates[i] = {rate, 1 / rate, rate < memory ? rate / memory : 1};
  }
  return level;
}

/// Rates of the present state: as the table has them, or computed now.
Streams::Rates Streams::find_rates() {
  if (!keeps_) {
    const double level = compute(rates_.data());
    return {rates_.data(), level};
  }
  const auto lone = static_cast<std::uint32_t>(ctas_[0]);
  const std::uint32_t pairs = ctas_.size() > 1 ? static_cast<std::uint32_t>(ctas_[1]) / 2 : 0;
  const std::uint32_t state = lone + pairs * static_cast<std::uint32_t>(table_->limits.sms + 1);
  const std::uint32_t place = lone % kPlacesPerClass + pairs % kPlacesPerClass * kPlacesPerClass;
  Known& known = table_->places[place];
  if (known.generation != table_->generation || known.state != state) {
    known.level = compute(known.of_class);
    known.generation = table_->generation;
    known.state = state;
  }
  return {known.of_class, known.level};
}

void Streams::solve() {
  const Rates rates = find_rates();
  const auto classes = static_cast<std::int32_t>(ctas_.size());
  for (std::int32_t i = 0; i < classes; ++i) {
    if (ctas_[static_cast<std::size_t>(i)] == 0) continue;
    const Rate* const rate = rates.of_class + i;
    if (rate->bytes_per_second != rates.level && &lane_of(i) == lanes_.data()) detach(i);
    lane_of(i).rate = rate;
  }
  double next = kNever;
  double almost = kNever;
  for (const Lane *lane = lanes_.data(), *end = lane + lanes_in_use_; lane != end; ++lane) {
    if (lane->ctas == 0) continue;
    const double bytes = lane->ends.least_key() - lane->counter;
    next = std::min(next, bytes * lane->rate->seconds_per_byte);
    const double same = same_bytes(lane->counter, lane->rate->bytes_per_second, now_);
    almost = std::min(almost, (bytes - same) * lane->rate->seconds_per_byte);
  }
  next_end_ = now_ + std::max(0.0, next);
  almost_end_ = now_ + almost;
}

void Streams::advance(double now, double& memory, double& arithmetic) {
  const double seconds = now - now_;
  now_ = now;
  for (Lane *lane = lanes_.data(), *end = lane + lanes_in_use_; lane != end; ++lane) {
    if (lane->ctas == 0) continue;
    lane->counter += lane->rate->bytes_per_second * seconds;
    const double cta_seconds = lane->ctas * seconds;
    taken_bytes_ += cta_seconds * lane->rate->bytes_per_second;
    memory += cta_seconds * lane->rate->memory_share;
    arithmetic += cta_seconds * (1 - lane->rate->memory_share);
  }
}

std::int32_t Streams::finished() const {
  for (const Lane *lane = lanes_.data(), *end = lane + lanes_in_use_; lane != end; ++lane) {
    const double same = same_bytes(lane->counter, lane->rate->bytes_per_second, now_);
    if (lane->ends.least_key() <= lane->counter + same) return lane->ends.least_slot();
  }
  return -1;
}

}  // namespace splitwave::simulator
