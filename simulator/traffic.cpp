// SPDX-License-Identifier: Apache-2.0
#include "simulator/traffic.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

namespace splitwave::simulator {
namespace {

using schedules::Item;
using schedules::Plan;

/// An item and when its list reads it, in tokens that a list has read since the start.
struct Read {
  std::int64_t head = 0;
  std::int32_t begin = 0;
  std::int32_t end = 0;
  std::int64_t time = 0;
  std::int32_t list = 0;
};

/// Which item read each token of one KV head last: ranges that do not overlap, by their first token.
class LastReads {
 public:
  /// `seen(tokens, apart, list)` is told how many of its tokens were read last so long before, and by which list.
  template <typename Seen>
  void read(const Read& now, Seen seen) {
    const Range read{now.end, now.time - now.begin, now.list};
    auto next = ranges_.upper_bound(now.begin);
    if (next != ranges_.begin() && std::prev(next)->second.end > now.begin) --next;
    while (next != ranges_.end() && next->first < now.end) {
      const std::int32_t first = next->first;
      const Range range = next->second;
      seen(std::min(range.end, now.end) - std::max(first, now.begin), std::abs(read.origin - range.origin), range.list);
      if (first == now.begin && range.end == now.end) {
        next->second = read;
        return;
      }
      next = ranges_.erase(next);
      if (first < now.begin) ranges_.emplace_hint(next, first, Range{now.begin, range.origin, range.list});
      if (range.end > now.end) next = ranges_.emplace_hint(next, now.end, range);
    }
    ranges_.emplace_hint(next, now.begin, read);
  }

 private:
  struct Range {
    std::int32_t end = 0;
    std::int64_t origin = 0;  ///< when token 0 was or would have been read
    std::int32_t list = 0;
  };
  std::map<std::int32_t, Range> ranges_;
};

/// Of a list.
double mean_tokens(const Plan& plan) {
  std::int64_t tokens = 0;
  for (const Item& item : plan.items) tokens += item.tokens();
  return plan.lists() > 0 ? static_cast<double>(tokens) / plan.lists() : 0;
}

/// When each item is read, by KV head and time.
std::vector<Read> reads_in_time(const workloads::Workload& workload, const Plan& plan, std::int64_t places,
                                double drift) {
  std::vector<std::int64_t> free(static_cast<std::size_t>(places), 0);  // a heap: when each place is
  std::vector<Read> reads;
  reads.reserve(plan.items.size());
  const double mean = mean_tokens(plan);
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    std::pop_heap(free.begin(), free.end(), std::greater<>());
    const double spread = std::min(1.0, drift * static_cast<double>(list / places)) * mean;
    const std::int64_t later = std::llround(spread * static_cast<double>(list % places) / static_cast<double>(places));
    for (const Item& item : plan.list(list)) {
      if (item.tokens() == 0) continue;
      const schedules::OutputTile& output = plan.outputs[static_cast<std::size_t>(item.output)];
      const std::int64_t head =
          std::int64_t{output.request} * workload.geometry.kv_heads + schedules::kv_head(workload, output);
      reads.push_back({head, item.kv_begin, item.kv_end, free.back() + later, list});
      free.back() += item.tokens();
    }
    std::push_heap(free.begin(), free.end(), std::greater<>());
  }
  std::stable_sort(reads.begin(), reads.end(),
                   [](const Read& a, const Read& b) { return a.head != b.head ? a.head < b.head : a.time < b.time; });
  return reads;
}

/// Rows of all partials but `kept` of each merge.
std::int64_t partial_rows(const Plan& plan, const Work& work, std::int32_t kept) {
  if (work.cost_of_output.empty()) {  // all of one height, and slots are dense
    return (plan.slots() - kept * static_cast<std::int64_t>(plan.merges.size())) * work.heights.front();
  }
  std::int64_t rows = 0;
  for (const schedules::Merge& merge : plan.merges) {
    const std::int64_t height = plan.outputs[static_cast<std::size_t>(merge.output)].rows();
    rows += (merge.slot_end - merge.slot_begin - kept) * height;
  }
  return rows;
}

}  // namespace

KvTokens count_shared_reads(const workloads::Workload& workload, const Plan& plan, const Sharing& sharing) {
  const std::int64_t places = std::clamp<std::int64_t>(sharing.resident, 1, std::max(1, plan.lists()));
  const double kept = sharing.kept_tokens / static_cast<double>(places);
  KvTokens tokens;
  LastReads last;
  std::int64_t head = -1;
  for (const Read& read : reads_in_time(workload, plan, places, sharing.drift)) {
    if (std::exchange(head, read.head) != read.head) last = {};
    std::int64_t fresh = read.end - read.begin;
    last.read(read, [&](std::int64_t again, std::int64_t apart, std::int32_t list) {
      if (static_cast<double>(apart) > kept) return;
      const bool together = list != read.list && static_cast<double>(apart) <= sharing.in_flight_tokens;
      (together ? tokens.together : tokens.l2) += again;
      fresh -= again;
    });
    tokens.dram += fresh;
  }
  return tokens;
}

std::int64_t partial_row_bytes(const workloads::Geometry& geometry) {
  return (std::int64_t{geometry.value_dim} + 1) * 4;
}

schedules::Traffic count_traffic(const workloads::Workload& workload, const Plan& plan, const Work& work,
                                 const EngineResult& read, bool host_keeps_its_own) {
  const workloads::Geometry& g = workload.geometry;
  const std::int64_t element = workloads::bytes_per_element(g.dtype);
  schedules::Traffic traffic;
  // The share is one number of bytes over another: rounding finds the one that it was made from.
  traffic.kv_dram_read = std::llround(read.kv_bytes * work.law.dram_share);
  traffic.kv_l2_read = std::llround(read.kv_bytes) - traffic.kv_dram_read;
  traffic.q_read = std::llround(read.q_rows) * g.head_dim * element;
  traffic.output_written = work.output_rows * g.value_dim * element;
  traffic.partials_written = partial_rows(plan, work, host_keeps_its_own ? 1 : 0) * partial_row_bytes(g);
  traffic.partials_read = traffic.partials_written;
  return traffic;
}

}  // namespace splitwave::simulator
