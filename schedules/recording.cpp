// SPDX-License-Identifier: Apache-2.0
#include "schedules/recording.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>

namespace splitwave::schedules {
namespace {

constexpr double kNanosecond = 1e-9;

/// Calls visit(nanoseconds) for every time that was written down.
template <typename Visit>
void for_each_time(const Recording& recording, Visit visit) {
  for (const std::vector<Stretch>* stretches : {&recording.ctas, &recording.work}) {
    for (const Stretch& one : *stretches) {
      visit(one.begin_nanoseconds);
      visit(one.end_nanoseconds);
    }
  }
}

std::int64_t first_time(const Recording& recording) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for_each_time(recording, [&](std::int64_t time) { first = std::min(first, time); });
  return first;
}

/// The slot of each CTA within its SM, by the CTA's number.
std::map<std::int32_t, std::int32_t> deal_slots(std::vector<Stretch> ctas) {
  std::sort(ctas.begin(), ctas.end(), [](const Stretch& a, const Stretch& b) {
    return std::tie(a.begin_nanoseconds, a.cta) < std::tie(b.begin_nanoseconds, b.cta);
  });
  std::map<std::int32_t, std::vector<std::int64_t>> free_from;  // of each SM's slots, nanoseconds
  std::map<std::int32_t, std::int32_t> slot_of;
  for (const Stretch& cta : ctas) {
    std::vector<std::int64_t>& slots = free_from[cta.sm];
    auto slot =
        std::find_if(slots.begin(), slots.end(), [&](std::int64_t free) { return free <= cta.begin_nanoseconds; });
    if (slot == slots.end()) slot = slots.insert(slots.end(), 0);
    *slot = cta.end_nanoseconds;
    slot_of[cta.cta] = static_cast<std::int32_t>(slot - slots.begin());
  }
  return slot_of;
}

}  // namespace

Timeline timeline_of(const Recording& recording) {
  Timeline timeline;
  const std::int64_t first = first_time(recording);
  const auto seconds = [&](std::int64_t time) { return static_cast<double>(time - first) * kNanosecond; };
  for_each_time(recording, [&](std::int64_t time) { timeline.seconds = std::max(timeline.seconds, seconds(time)); });
  const std::map<std::int32_t, std::int32_t> slot_of = deal_slots(recording.ctas);
  for (const Stretch& one : recording.work) {
    const auto slot = slot_of.find(one.cta);
    if (slot == slot_of.end()) throw std::logic_error("recording: no CTA " + std::to_string(one.cta));
    timeline.spans.push_back(
        {one.cta, one.sm, slot->second, one.item, seconds(one.begin_nanoseconds), seconds(one.end_nanoseconds)});
  }
  return timeline;
}

Timeline from_first_span(Timeline timeline) {
  if (timeline.spans.empty()) return timeline;
  const double first = std::min_element(timeline.spans.begin(), timeline.spans.end(), [](const Span& a, const Span& b) {
                         return a.begin_seconds < b.begin_seconds;
                       })->begin_seconds;
  for (Span& span : timeline.spans) {
    span.begin_seconds -= first;
    span.end_seconds -= first;
  }
  timeline.seconds -= first;
  return timeline;
}

std::int32_t slots_per_sm(const Timeline& timeline) {
  std::int32_t slots = 1;
  for (const Span& span : timeline.spans) slots = std::max(slots, span.slot + 1);
  return slots;
}

std::int64_t clock_step_nanoseconds(const Recording& recording) {
  const std::int64_t first = first_time(recording);
  std::int64_t step = 0;
  for_each_time(recording, [&](std::int64_t time) { step = std::gcd(step, time - first); });
  return step;
}

}  // namespace splitwave::schedules
