// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "schedules/cut.h"
#include "schedules/fa3_call.h"

namespace splitwave::schedules {
namespace {

/// Appends tiles in the order in which the scheduler's counter hands them out.
class QueueBuilder {
 public:
  QueueBuilder(Plan& plan, const OutputGrid& outputs) : plan_(plan), outputs_(outputs) {}

  void add(std::int32_t request, std::int32_t head, std::int32_t m, std::int32_t split, std::int32_t splits) {
    add_item(plan_, outputs_.output(request, head, m),
             equal_part(outputs_.kv(request, m), plan_.tile_kv, split, splits));
    end_list(plan_);
  }

 private:
  Plan& plan_;
  const OutputGrid& outputs_;
};

/// Key that rows are sorted by, largest first: blocks per split; causal rows less the query rows that mask some.
std::vector<std::int64_t> sort_keys(const Fa3Call& call, std::span<const Fa3Row> rows,
                                    std::span<const std::int32_t> splits) {
  std::vector<std::int64_t> keys(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    keys[i] = ceil_div(rows[i].num_n_blocks, splits[i]);
    if (call.is_causal) keys[i] = keys[i] * call.tile.block_n - rows[i].num_m_blocks * call.tile.block_m;
  }
  return keys;
}

/// Rows in the order of the queue. Each preparation CTA sorts its own rows; local attention is not sorted.
std::vector<std::int32_t> row_order(const Fa3Call& call, std::span<const Fa3Row> rows,
                                    std::span<const std::int32_t> splits) {
  std::vector<std::int32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  if (call.is_local) return order;
  const std::vector<std::int64_t> keys = sort_keys(call, rows, splits);
  for (std::size_t begin = 0; begin < order.size(); begin += kFa3RowsPerPrepareCta) {
    const std::size_t end = std::min(order.size(), begin + kFa3RowsPerPrepareCta);
    std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(begin),
                     order.begin() + static_cast<std::ptrdiff_t>(end), [&](std::int32_t a, std::int32_t b) {
                       return keys[static_cast<std::size_t>(a)] > keys[static_cast<std::size_t>(b)];
                     });
  }
  return order;
}

}  // namespace

Plan fa3_queue(const workloads::Workload& workload, const Grid& grid, const Fa3Call& call, std::int32_t num_splits) {
  const workloads::Geometry& g = workload.geometry;
  Plan plan = start_plan(grid, call.tile.block_m, call.tile.block_n);
  const bool packed = fa3_packs(g, call, num_splits);
  const OutputGrid outputs = cut_outputs(workload, packed, plan);
  std::vector<Fa3Row> rows;
  rows.reserve(workload.requests.size());
  for (std::int32_t r = 0; r < outputs.requests(); ++r) {
    const std::int32_t context_len = workload.requests[static_cast<std::size_t>(r)].context_len;
    rows.push_back({outputs.row_tiles(r), ceil_div(context_len, plan.tile_kv)});
  }
  const std::vector<std::int32_t> splits = fa3_dynamic_splits(rows, outputs.heads, grid.sms, num_splits);
  std::int64_t items = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) items += rows[r].num_m_blocks * outputs.heads * splits[r];
  reserve(plan, items, items);

  // Causal and local tiles differ in length: row tiles are handed out from the last, and unsplit rows by sections of
  // heads that fit in L2 (tile_scheduler.hpp:670-735).
  const bool longest_first = call.split.is_causal_or_local;
  const std::int64_t block_bytes =
      std::int64_t{plan.tile_kv} * (std::int64_t{g.head_dim} + g.value_dim) * workloads::bytes_per_element(g.dtype);
  const std::int64_t blocks_in_l2 = std::int64_t{8} * 1024 * 1024 / block_bytes;
  QueueBuilder queue(plan, outputs);
  for (const std::int32_t r : row_order(call, rows, splits)) {
    const std::int32_t m_blocks = outputs.row_tiles(r);
    const std::int32_t dynamic = splits[static_cast<std::size_t>(r)];
    if (longest_first && dynamic == 1) {
      const std::int64_t n_blocks = std::max<std::int64_t>(rows[static_cast<std::size_t>(r)].num_n_blocks, 1);
      const std::int32_t section = fa3_heads_in_l2(n_blocks, blocks_in_l2, packed ? 1 : g.group(), outputs.heads);
      for (std::int32_t head = 0; head < outputs.heads; head += section) {
        for (std::int32_t m = m_blocks - 1; m >= 0; --m) {
          for (std::int32_t h = head; h < std::min(head + section, outputs.heads); ++h) queue.add(r, h, m, 0, 1);
        }
      }
      continue;
    }
    for (std::int32_t head = 0; head < outputs.heads; ++head) {
      for (std::int32_t split = 0; split < dynamic; ++split) {
        for (std::int32_t m = 0; m < m_blocks; ++m) {
          queue.add(r, head, longest_first ? m_blocks - 1 - m : m, split, dynamic);
        }
      }
    }
  }
  // The combine kernel is launched whenever the bound allows a split, whatever the dynamic rule says.
  assign_slots(plan, MergeKind::kernel, num_splits > 1 ? MergeKind::kernel : MergeKind::none);
  plan.dispatch = Dispatch::queue;
  plan.workers = grid.sms;
  plan.num_splits = num_splits;
  return plan;
}

std::string fa3_reason(std::string_view rule, const Fa3Call& call, const SplitChoice& choice, const Plan& plan) {
  return fmt::format(
      "{}: bound {} because {} ({} tiles with the batch taken as 1, {} SMs, {} KV blocks of {} tokens); then per "
      "request "
      "its blocks over 1.1 x the batch's blocks per SM, at most the bound, longest first "
      "(hopper/flash_prepare_scheduler.cu:141-158)",
      rule, choice.num_splits, choice.because, call.split.total_mblocks, call.split.num_sms, call.split.num_n_blocks,
      plan.tile_kv);
}

}  // namespace splitwave::schedules
