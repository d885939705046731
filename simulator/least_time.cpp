// SPDX-License-Identifier: Apache-2.0
#include "simulator/least_time.h"

#include <algorithm>
#include <cmath>

#include "simulator/bandwidth.h"

namespace splitwave::simulator {
namespace {

/// Between a list's first requests and its stream, at least. Where the stages of a ring do not keep up (Engine::
/// ring_fill_seconds), what is left of a latency depends on how many of them an item fills.
double least_fill(const KernelProfile& kernel, const Work& work) {
  const MemoryLaw& law = work.law;
  const double latency = kernel.exposed_latencies * law.latency_seconds;
  if (kernel.most_tokens > 0) return latency;
  if (!kernel.refills_after_use) return 0;
  double share = std::min(work.sm_bytes_per_second, law.l2_bytes_per_second);
  if (law.dram_share > 0) share = std::min(share, law.plateau / law.dram_share);
  const double tile = kernel.tile_tokens * work.bytes_per_token;
  const double transfer = tile / share;
  const double further = kernel.first_round_seconds + std::max(law.refill_seconds, transfer);
  double least = latency;
  for (std::int32_t before = 0; before * tile < law.bytes_in_flight; ++before) {
    const double bytes = std::min((before + 1) * tile, law.bytes_in_flight);
    // Where arithmetic is the limit, the stages' first tiles may be there sooner than later ones.
    const double by_arithmetic = latency + transfer + before * kernel.first_round_seconds;
    least = std::min({least, latency + transfer + before * further - bytes / law.lone_rate(), by_arithmetic});
  }
  return least;
}

}  // namespace

LeastTime::LeastTime(const Machine& machine, const KernelProfile& kernel, const Work& work, std::int32_t per_sm,
                     std::int32_t resident)
    : machine_(machine),
      kernel_(kernel),
      work_(work),
      per_sm_(per_sm),
      resident_(std::max(1, resident)),
      fill_(least_fill(kernel, work)) {
  if (kernel.refills_after_use) further_item_ = std::min(kernel.item_seconds, kernel.item_crowded_seconds);
  const double lone = work.law.latency_seconds > 0 ? 1 / work.law.lone_rate() : 0;
  const double arrival = std::max(lone, 1 / work.sm_bytes_per_second);
  for (const TokenSeconds& cost : work.seconds_per_byte) {
    byte_seconds_.push_back({cost.alone, std::max(cost.alone, arrival), std::max(cost.crowded, cost.alone / per_sm)});
  }
}

/// Whatever share of the other CTAs is at work when the list starts, and how many of them end before its items do.
WarpParts LeastTime::least_parts(std::span<const schedules::Item> list) const {
  const schedules::Item& first = list.front();
  WarpParts least = warp_parts(list, warp_costs(kernel_, work_, first, kernel_.item_seconds));
  WarpParts most = warp_parts(list, warp_costs(kernel_, work_, first, kernel_.item_crowded_seconds));
  double tiles = 0;
  for (const schedules::Item& item : list.subspan(1)) tiles += tiles_seconds(kernel_, work_, item);
  const auto further = static_cast<double>(list.size() - 1);
  const double all = further * further_item_ + tiles;
  for (WarpParts* parts : {&least, &most}) {
    const double item = parts == &least ? kernel_.item_seconds : kernel_.item_crowded_seconds;
    if (all > 0) parts->further_seconds *= all / (further * item + tiles);
  }
  return least.further_seconds < most.further_seconds ? least : most;
}

void LeastTime::add(std::span<const schedules::Item> list, std::int32_t count) {
  double bytes = 0;
  double stream = 0;
  double arithmetic = 0;  // of a ring's items one after the other
  double end = 0;
  const WarpParts parts = kernel_.warps_alone && !list.empty() ? least_parts(list) : WarpParts{};
  for (const schedules::Item& item : list) {
    if (first_tokens_ < 0) first_tokens_ = item.tokens();
    equal_ = equal_ && item.tokens() == first_tokens_;
    const double item_bytes = item.tokens() * work_.bytes_per_token;
    if (item_bytes <= 0) continue;
    const ByteSeconds& byte = byte_seconds_[work_.cost_of(item)];
    end = work_.more_seconds(item) + work_.last_issue_seconds;
    if (!kernel_.warps_alone) end += kernel_.epilogue_seconds;
    if (&item == &list.back()) end -= work_.sooner_seconds(item);
    if (kernel_.warps_alone && &item == &list.back()) end += last_end_seconds(kernel_, parts.combine_seconds);
    sm_seconds_ += count * item_bytes * byte.sm;
    arithmetic += end;
    if (bytes == 0) {
      arithmetic += item_bytes * byte.cta + parts.further_seconds;
    } else if (!kernel_.warps_alone) {
      const double second = &item == &list[1] ? kernel_.second_item_seconds : 0;
      arithmetic += std::max(0.0, further_item_ + tiles_seconds(kernel_, work_, item) + second);
    }
    stream += item_bytes * byte.cta;
    bytes += item_bytes;
  }
  if (bytes <= 0) return add_unread(count);
  shortest_end_ = std::min(shortest_end_, end);
  const double seconds = fill_ + std::max(stream + end, kernel_.refills_after_use ? arithmetic : 0);
  add_totals(count, count * bytes, count * seconds, seconds, seconds);
}

/// Of any list's last item at the end: of warps with parts of their list no item may have to be combined of pieces.
double LeastTime::least_end() const {
  const std::int32_t rows = work_.heights.front();
  return last_end_seconds(kernel_, 0) + work_.row_seconds * rows + work_.last_issue_seconds -
         work_.sooner_seconds(rows);
}

void LeastTime::add_items(std::int64_t lists, double tokens, double shortest, double longest) {
  const ByteSeconds& byte = byte_seconds_.front();
  const double end = least_end();
  const double bytes = tokens * work_.bytes_per_token;
  const double token = work_.bytes_per_token * byte.cta;
  equal_ = shortest == longest;
  first_tokens_ = static_cast<std::int32_t>(longest);
  shortest_end_ = end;
  sm_seconds_ += bytes * byte.sm;
  const auto count = static_cast<double>(lists);
  add_totals(lists, bytes, count * (fill_ + end) + tokens * token, fill_ + end + shortest * token,
             fill_ + end + longest * token);
}

void LeastTime::add_equal(std::int64_t lists, double tokens, double items) {
  const ByteSeconds& byte = byte_seconds_.front();
  const double end = least_end();
  const auto count = static_cast<double>(lists);
  const double bytes = tokens * work_.bytes_per_token;
  const double arithmetic = bytes / count * byte.arithmetic;
  const double second = std::min(0.0, kernel_.second_item_seconds);
  double further = std::max(0.0, (items / count - 1) * (further_item_ + end) + second) + arithmetic;
  if (kernel_.warps_alone) {
    // The warp with the most pieces may have a step less than others, and the first item's steps were counted whole.
    const double steps = 2 * kernel_.tile_tokens * work_.bytes_per_token * byte.arithmetic;
    further = std::max(0.0, items / count - kernel_.merge_warps) * further_item_ + std::max(0.0, arithmetic - steps);
  }
  const double seconds = fill_ + end + std::max(bytes / count * byte.cta, further);
  equal_ = false;
  shortest_end_ = end;
  sm_seconds_ += bytes * byte.sm;
  add_totals(lists, bytes, count * seconds, seconds, seconds);
}

void LeastTime::add_unread(std::int64_t lists) {
  unread_ += lists;
}

void LeastTime::add_totals(std::int64_t lists, double bytes, double slot_seconds, double shortest, double longest) {
  lists_ += lists;
  bytes_ += bytes;
  slot_seconds_ += slot_seconds;
  shortest_ = std::min(shortest_, shortest);
  longest_ = std::max(longest_, longest);
}

double LeastTime::most_bytes_per_second() const {
  double arithmetic = std::numeric_limits<double>::infinity();
  for (const ByteSeconds& byte : byte_seconds_) arithmetic = std::min(arithmetic, byte.arithmetic);
  StreamClass all;
  all.ctas = static_cast<double>(std::min<std::int64_t>(lists_, resident_));
  all.cap = std::min(work_.sm_bytes_per_second, 1 / arithmetic);
  share_bandwidth(work_.law, {&all, 1});
  return std::min(all.rate * all.ctas, machine_.sms * work_.sm_bytes_per_second);
}

/// By which share of its bytes a list of the first wave may have fewer (Engine::out_of_step_bytes).
double LeastTime::drifting_share() const {
  const bool drifts = kernel_.refills_after_use && kernel_.most_tokens == 0 && equal_ && lists_ > resident_;
  const double places = std::max(2, per_sm_);
  return drifts ? 0.5 * (places - 1) / places : 0;
}

LeastParts LeastTime::parts(std::int64_t ctas, double further_start) const {
  LeastParts parts;
  const auto first_wave = static_cast<double>(std::min<std::int64_t>(ctas, resident_));
  const double launched = launch_seconds(machine_, kernel_) + first_wave * machine_.launch_seconds_per_cta;
  parts.start_seconds = launched;
  if (lists_ == 0) return parts;
  const double slots = machine_.sms * per_sm_;
  const double reading = std::max(0.0, first_wave - static_cast<double>(unread_));
  const double lone = first_prologue_seconds(machine_, kernel_) + work_.cold_seconds + work_.table_seconds;
  parts.start_seconds += work_.start_seconds(lone, reading, slots);
  const double others = (reading / machine_.sms - 1) / std::max(1, per_sm_ - 1);
  parts.full_sm_seconds = std::clamp(others, 0.0, 1.0) * (kernel_.full_sm_start_seconds + kernel_.full_sm_seconds);
  // What some streams have less others have more, but for one place too many, or places that nobody takes.
  const auto lists = static_cast<double>(lists_);
  const double drifting = drifting_share();
  const double kept = 1 - drifting * (resident_ == slots ? 1 : resident_) / lists;
  const double arrival = bytes_ * kept / most_bytes_per_second();
  const double arithmetic = sm_seconds_ * kept / machine_.sms;
  parts.all_seconds = fill_ + std::max(arrival, arithmetic) + shortest_end_;
  parts.slots_seconds = (slot_seconds_ * kept + std::max(0.0, lists - resident_) * further_start) / resident_;
  if (lists_ > resident_) parts.ends = LeastParts::Ends::any;
  const double waves = std::ceil(lists / resident_);
  if (unread_ == 0) {
    parts.slots_seconds = std::max(parts.slots_seconds, (waves - drifting) * shortest_ + (waves - 1) * further_start);
  }
  parts.longest_seconds = longest_;
  // An SM gives each of its CTAs that hold their items its time one after the other.
  if (kernel_.most_tokens > 0) {
    parts.issue_seconds = launched + work_.issue_start_seconds + std::ceil(lists / machine_.sms) * work_.issue_seconds +
                          shortest_end_ - work_.last_issue_seconds;
  }
  return parts;
}

double LeastParts::expected(double merge) const {
  double after = std::max({all_seconds, slots_seconds, longest_seconds});
  if (ends != Ends::together) {
    // Over 25,000 candidates for drawn batches, predictions differ least from these means.
    const double power = ends == Ends::longest_first ? 8 : 4;
    double sum = 0;
    for (const double part : {all_seconds, slots_seconds, longest_seconds}) sum += std::pow(part / after, power);
    after *= std::pow(sum, 1 / power);
  }
  return std::max(start_seconds + full_sm_seconds + after + merge, issue_seconds);
}

}  // namespace splitwave::simulator
