// SPDX-License-Identifier: Apache-2.0
#include "simulator/traffic.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <unordered_map>

namespace splitwave::simulator {
namespace {

using schedules::Item;
using schedules::Plan;

/// Which list read each token of one KV head last: ranges that do not overlap, by their first token.
class LastReads {
 public:
  /// List `list` reads [begin, end): `seen(tokens, before)` is told which list read how many of these tokens last.
  template <typename Seen>
  void read(std::int32_t begin, std::int32_t end, std::int32_t list, Seen seen) {
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin() && std::prev(next)->second.end > begin) --next;
    while (next != ranges_.end() && next->first < end) {
      const std::int32_t first = next->first;
      const Range range = next->second;
      seen(std::min(range.end, end) - std::max(first, begin), range.list);
      if (first == begin && range.end == end) {
        next->second.list = list;
        return;
      }
      next = ranges_.erase(next);
      if (first < begin) ranges_.emplace_hint(next, first, Range{begin, range.list});
      if (range.end > end) next = ranges_.emplace_hint(next, end, Range{range.end, range.list});
    }
    ranges_.emplace_hint(next, begin, Range{end, list});
  }

 private:
  struct Range {
    std::int32_t end = 0;
    std::int32_t list = 0;
  };
  std::map<std::int32_t, Range> ranges_;
};

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

KvTokens count_shared_reads(const workloads::Workload& workload, const Plan& plan, std::int64_t resident,
                            std::int64_t kept) {
  std::unordered_map<std::int64_t, LastReads> heads;
  KvTokens tokens;
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    for (const Item& item : plan.list(list)) {
      if (item.tokens() == 0) continue;
      const schedules::OutputTile& output = plan.outputs[static_cast<std::size_t>(item.output)];
      const std::int64_t head =
          std::int64_t{output.request} * workload.geometry.kv_heads + schedules::kv_head(workload, output);
      std::int64_t fresh = item.tokens();
      heads[head].read(item.kv_begin, item.kv_end, list, [&](std::int64_t again, std::int32_t before) {
        const bool together = before != list && list < resident;
        if (!together && list - before > kept) return;
        (together ? tokens.together : tokens.l2) += again;
        fresh -= again;
      });
      tokens.dram += fresh;
    }
  }
  return tokens;
}

std::int64_t partial_row_bytes(const workloads::Geometry& geometry) {
  return (std::int64_t{geometry.value_dim} + 1) * 4;
}

schedules::Traffic count_traffic(const workloads::Workload& workload, const Plan& plan, const Work& work,
                                 const EngineResult& read, bool merges_in_kernel) {
  const workloads::Geometry& g = workload.geometry;
  const std::int64_t element = workloads::bytes_per_element(g.dtype);
  schedules::Traffic traffic;
  // The share is one number of bytes over another: rounding finds the one that it was made from.
  traffic.kv_dram_read = std::llround(read.kv_bytes * work.law.dram_share);
  traffic.kv_l2_read = std::llround(read.kv_bytes) - traffic.kv_dram_read;
  traffic.q_read = std::llround(read.q_rows) * g.head_dim * element;
  traffic.output_written = work.output_rows * g.value_dim * element;
  const bool host_keeps_its_own = plan.merge == schedules::MergeKind::host_cta && merges_in_kernel;
  traffic.partials_written = partial_rows(plan, work, host_keeps_its_own ? 1 : 0) * partial_row_bytes(g);
  traffic.partials_read = traffic.partials_written;
  return traffic;
}

}  // namespace splitwave::simulator
