// SPDX-License-Identifier: Apache-2.0
#include "gpu/contention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace splitwave::gpu {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// `workers` over `ports` as evenly as whole numbers allow.
void add_even(double workers, double ports, std::vector<PortLoad>& loads) {
  const double least = std::floor(workers / ports);
  const double fuller = workers - least * ports;
  if (fuller > 0) loads.push_back({fuller, fuller * (least + 1)});
  if (least > 0) loads.push_back({ports - fuller, (ports - fuller) * least});
}

}  // namespace

std::vector<PortLoad> h200_port_loads(std::int32_t ctas) {
  // 24 ports: 18 of six SMs and 6 of four. Of the crowded GPC's 16 SMs, eight count as one GPC and eight as four.
  constexpr std::int32_t kSms = 132;
  constexpr double kHalf = 8;
  const std::int32_t levels = ctas / kSms;
  const double rest = ctas % kSms;
  const double alone = std::min(kHalf, std::floor(rest / 2));    // both of every two rounds, until they are full
  const double beside = std::min(kHalf, std::floor(rest / 12));  // one in twelve
  const double others = rest - alone - beside;
  const double crowded = 12 * levels + alone + std::floor(beside / 2);  // behind the crowded GPC's two ports of six
  const double on_four = 24 * levels + std::ceil(beside / 2) + std::floor(others * 20 / 116);
  std::vector<PortLoad> loads;
  if (crowded > 0) loads.push_back({2, crowded});
  add_even(on_four, 6, loads);
  add_even(ctas - crowded - on_four, 16, loads);
  return loads;
}

Contention::Contention(const ContentionLimits& limits, const std::vector<PortLoad>& loads) : limits_(limits) {
  for (const PortLoad& load : loads) {
    groups_.emplace_back();
    groups_.back().load = load;
  }
  order_.resize(groups_.size());
  std::iota(order_.begin(), order_.end(), 0);
}

/// The group that is furthest behind with its part of the first wave, or that of the worker that became free.
std::size_t Contention::next_group() {
  if (!first_wave_) return freed_;
  const auto filled = [](const Group& group) { return (group.given + 0.5) / group.load.workers; };
  const auto next = std::min_element(groups_.begin(), groups_.end(),
                                     [&](const Group& a, const Group& b) { return filled(a) < filled(b); });
  next->given += 1;
  return static_cast<std::size_t>(next - groups_.begin());
}

void Contention::start(double latency, double bytes) {
  waiting_.push({now_ + latency, bytes, next_group()});
}

/// Rates of streaming workers: equal shares of the memory while few bytes are in flight, equal shares of the ports
/// while many are, in between a mean of both.
void Contention::set_rates() {
  double workers = 0;
  for (const Group& group : groups_) workers += static_cast<double>(group.streaming.size());
  if (workers == 0) return;
  const double in_flight = workers * limits_.worker_bytes_in_flight;
  double left = limits_.memory_bytes_per_second(in_flight);
  const double equal = std::min(limits_.worker_rate, left / workers);
  for (Group& group : groups_) group.rate = equal;
  // Workers that compute little slower than the memory delivers keep few requests waiting.
  const double excess = limits_.worker_rate / equal - 1;
  const double by_port =
      std::clamp((in_flight - limits_.fair_bytes) / (limits_.port_bytes - limits_.fair_bytes), 0.0, 1.0) *
      std::min(1.0, excess / limits_.port_excess);
  if (by_port == 0 || equal == limits_.worker_rate) return;
  // Water-filling: ports whose workers cannot use a full share first.
  std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    return groups_[a].workers_per_port() < groups_[b].workers_per_port();
  });
  double ports = 0;
  for (const Group& group : groups_) ports += group.streaming.empty() ? 0 : group.load.ports;
  for (const std::size_t i : order_) {
    Group& group = groups_[i];
    if (group.streaming.empty()) continue;
    const double rate = std::min(limits_.worker_rate, left / ports / group.workers_per_port());
    left -= rate * static_cast<double>(group.streaming.size());
    ports -= group.load.ports;
    group.rate += by_port * (rate - equal);
  }
}

bool Contention::run_to_end_of_list() {
  for (;;) {
    set_rates();
    double done = kNever;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const Group& group = groups_[i];
      if (group.streaming.empty()) continue;
      const double end = now_ + (group.streaming.top() - group.progress) / group.rate;
      if (end < done) {
        done = end;
        freed_ = i;
      }
    }
    double ready = kNever;
    if (!waiting_.empty()) ready = waiting_.top().ready;
    if (done == kNever && ready == kNever) return false;
    const double next = std::min(ready, done);
    for (Group& group : groups_) group.progress += group.rate * (next - now_);
    now_ = next;
    if (done <= ready) {
      groups_[freed_].streaming.pop();
      first_wave_ = false;
      return true;
    }
    const Waiting list = waiting_.top();
    waiting_.pop();
    groups_[list.group].streaming.push(groups_[list.group].progress + list.bytes);
  }
}

}  // namespace splitwave::gpu
