// SPDX-License-Identifier: Apache-2.0
#include "simulator/streams.h"

#include <algorithm>
#include <cstddef>
#include <limits>

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

void Streams::reset(const StreamLimits& limits) {
  if (!same_limits(limits, limits_)) {
    limits_ = limits;
    ++generation_;
  }
  const std::size_t count = limits.arithmetic_cap.size();
  classes_.assign(count, {});
  for (std::size_t i = 0; i < count; ++i) {
    const double sharers = static_cast<double>(i % static_cast<std::size_t>(limits.per_sm)) + 1;
    classes_[i].cap = std::min(limits.sm_bytes_per_second / sharers, limits.arithmetic_cap[i]);
  }
  memory_share_.assign(count, 1);
  shared_.assign(count, 1);
  counters_.assign(count, 0);
  if (queues_.size() < count) queues_.resize(count);
  for (std::size_t i = 0; i < count; ++i) queues_[i].clear();
  shared_queue_.clear();
  shared_counter_ = 0;
  shared_ctas_ = 0;
  members_.clear();
  const bool keeps = count <= 2 && limits.per_sm == static_cast<std::int32_t>(count) && limits.law.by_sms.empty() &&
                     limits.sms <= kMostKnownSms;
  const std::size_t states =
      keeps ? static_cast<std::size_t>(limits.sms + 1) * static_cast<std::size_t>(limits.sms + 1) : 0;
  if (known_.size() != states) known_.assign(states, {});
}

void Streams::push(std::int32_t slot) {
  Member& member = at(slot);
  ++member.stamp;
  queue_of(static_cast<std::size_t>(member.stream_class)).push(member.key, slot, member.stamp);
}

void Streams::add(std::int32_t slot, std::int32_t stream_class, double bytes, double ctas) {
  const auto target = static_cast<std::size_t>(stream_class);
  if (static_cast<std::size_t>(slot) >= members_.size()) members_.resize(static_cast<std::size_t>(slot) + 1);
  Member& member = at(slot);
  member.stream_class = stream_class;
  member.key = counter_of(target) + bytes;
  classes_[target].ctas += ctas;
  if (shared_[target]) shared_ctas_ += ctas;
  push(slot);
}

void Streams::change_class(std::int32_t slot, std::int32_t stream_class, double ctas) {
  Member& member = at(slot);
  const auto source = static_cast<std::size_t>(member.stream_class);
  const auto target = static_cast<std::size_t>(stream_class);
  if (source == target) return;
  classes_[source].ctas -= ctas;
  classes_[target].ctas += ctas;
  member.stream_class = stream_class;
  if (shared_[source] && shared_[target]) return;
  const double left = member.key - counter_of(source);
  if (shared_[source]) shared_ctas_ -= ctas;
  if (shared_[target]) shared_ctas_ += ctas;
  member.key = counter_of(target) + left;
  push(slot);
}

void Streams::remove(std::int32_t slot, double ctas) {
  Member& member = at(slot);
  const auto source = static_cast<std::size_t>(member.stream_class);
  classes_[source].ctas -= ctas;
  if (shared_[source]) shared_ctas_ -= ctas;
  member.stream_class = -1;
  ++member.stamp;
}

void Streams::clone(std::int32_t slot, std::int32_t twin) {
  if (static_cast<std::size_t>(twin) >= members_.size()) members_.resize(static_cast<std::size_t>(twin) + 1);
  at(twin).key = at(slot).key;
  at(twin).stream_class = at(slot).stream_class;
  push(twin);
}

double Streams::bytes_left(std::int32_t slot) const {
  const Member& member = members_[static_cast<std::size_t>(slot)];
  const auto source = static_cast<std::size_t>(member.stream_class);
  return member.key - (shared_[source] ? shared_counter_ : counters_[source]);
}

/// Gives a class that a cap holds back a counter and a queue of its own, for the rest of the run.
void Streams::detach(std::size_t stream_class) {
  shared_[stream_class] = 0;
  shared_ctas_ -= classes_[stream_class].ctas;
  EventQueue& own = queues_[stream_class];
  shared_queue_.move_if(own, [&](EventQueue::Entry& entry) {
    Member& member = at(entry.slot);
    if (member.stamp != entry.stamp || member.stream_class != static_cast<std::int32_t>(stream_class)) return false;
    member.key -= shared_counter_;
    entry.key = member.key;
    return true;
  });
}

/// The table's place for the present state, or null if none is kept.
Streams::Known* Streams::known_state() {
  if (known_.empty()) return nullptr;
  const auto lone = static_cast<std::size_t>(classes_[0].ctas);
  const std::size_t pairs = classes_.size() > 1 ? static_cast<std::size_t>(classes_[1].ctas) / 2 : 0;
  return &known_[lone * static_cast<std::size_t>(limits_.sms + 1) + pairs];
}

void Streams::compute() {
  level_ = share_bandwidth(limits_.law, classes_);
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const double sharers = static_cast<double>(i % static_cast<std::size_t>(limits_.per_sm)) + 1;
    const double memory = std::min(level_, limits_.sm_bytes_per_second / sharers);
    memory_share_[i] = classes_[i].rate < memory ? classes_[i].rate / memory : 1;
  }
}

void Streams::solve() {
  Known* known = known_state();
  if (known != nullptr && known->generation == generation_) {
    level_ = known->level;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      classes_[i].rate = known->rate[i];
      memory_share_[i] = known->memory_share[i];
    }
  } else {
    compute();
    if (known != nullptr) {
      known->generation = generation_;
      known->level = level_;
      for (std::size_t i = 0; i < classes_.size(); ++i) {
        known->rate[i] = classes_[i].rate;
        known->memory_share[i] = memory_share_[i];
      }
    }
  }
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (shared_[i] && classes_[i].ctas > 0.5 && classes_[i].rate != level_) detach(i);
  }
}

void Streams::drop_stale(EventQueue& queue) {
  while (at(queue.top().slot).stamp != queue.top().stamp) queue.pop();
}

double Streams::seconds_to_next() {
  double next = kNever;
  if (shared_ctas_ > 0.5) {
    drop_stale(shared_queue_);
    next = std::max(0.0, shared_queue_.top().key - shared_counter_) / level_;
  }
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (shared_[i] || classes_[i].ctas < 0.5) continue;
    drop_stale(queues_[i]);
    next = std::min(next, std::max(0.0, queues_[i].top().key - counters_[i]) / classes_[i].rate);
  }
  return next;
}

void Streams::advance(double seconds, double& memory, double& arithmetic) {
  shared_counter_ += shared_ctas_ > 0.5 ? level_ * seconds : 0;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (classes_[i].ctas < 0.5) continue;
    if (!shared_[i]) counters_[i] += classes_[i].rate * seconds;
    const double cta_seconds = classes_[i].ctas * seconds;
    memory += cta_seconds * memory_share_[i];
    arithmetic += cta_seconds * (1 - memory_share_[i]);
  }
}

std::int32_t Streams::finished() {
  const auto look = [this](EventQueue& queue, double counter) {
    while (!queue.empty() && queue.top().key <= counter + kSameBytes) {
      const EventQueue::Entry entry = queue.top();
      queue.pop();
      if (at(entry.slot).stamp == entry.stamp) return entry.slot;
    }
    return -1;
  };
  if (const std::int32_t slot = look(shared_queue_, shared_counter_); slot >= 0) return slot;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (shared_[i]) continue;
    if (const std::int32_t slot = look(queues_[i], counters_[i]); slot >= 0) return slot;
  }
  return -1;
}

}  // namespace splitwave::simulator
