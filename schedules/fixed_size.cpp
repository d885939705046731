// SPDX-License-Identifier: Apache-2.0
// Batch-invariant attention: cuts depend on nothing but the position, so that a request's result has the same bits in
// any batch and on any machine, in whatever order the cuts are begun.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "schedules/cut.h"
#include "schedules/rules/fa2.h"
#include "schedules/schedule_functions.h"

namespace splitwave::schedules {
namespace {

/// Lists of one item each: of each of a request's heads, cut by cut, a CTA for each row tile. They read the same K and
/// V, and so lie side by side, as in FlashAttention's grids. Returns the most cuts of an output; one without tokens has
/// one.
std::int64_t add_cuts(Plan& plan, const OutputGrid& outputs, std::int32_t request, std::int32_t tokens) {
  std::vector<TileRange> cuts;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = 0;
  std::int64_t most = 0;
  for (std::int32_t m = 0; m < outputs.row_tiles(request); ++m) {
    TileRange range = tile_range(outputs.kv(request, m), tokens);
    range.last = std::max(range.last, range.first + 1);
    first = std::min(first, range.first);
    end = std::max(end, range.last);
    most = std::max(most, range.count());
    cuts.push_back(range);
  }
  // Later row tiles begin no earlier, so that those of a cut lie side by side: [done, begun).
  for (std::int32_t head = 0; head < outputs.heads; ++head) {
    std::int32_t done = 0;
    std::int32_t begun = 0;
    for (std::int64_t cut = first; cut < end; ++cut) {
      while (begun < outputs.row_tiles(request) && cuts[static_cast<std::size_t>(begun)].first <= cut) ++begun;
      while (done < begun && cuts[static_cast<std::size_t>(done)].last <= cut) ++done;
      for (std::int32_t m = done; m < begun; ++m) {
        if (cut >= cuts[static_cast<std::size_t>(m)].last) continue;
        add_item(plan, outputs.output(request, head, m),
                 clip(outputs.kv(request, m), cut * tokens, (cut + 1) * tokens));
        end_list(plan);
      }
    }
  }
  return most;
}

/// Every output cut at multiples of `tokens`, a list for each piece, in the order of the batch.
Plan cut_at_multiples(const workloads::Workload& workload, const Grid& grid, std::int32_t tokens) {
  Plan plan = start_plan(grid, kFa2SplitBlockM, fa2_split_block_n(workload.geometry.head_dim));
  if (tokens % plan.tile_kv != 0) plan.tile_kv = tokens;
  const OutputGrid outputs = cut_outputs(workload, true, plan);
  std::int64_t items_of_head = 0;
  for (const workloads::KvRange& range : outputs.range) {
    items_of_head += std::max<std::int64_t>(tile_range(range, tokens).count(), 1);
  }
  check_count(items_of_head, "items");
  reserve(plan, items_of_head * outputs.heads, items_of_head * outputs.heads);
  std::int64_t most = 1;
  for (std::int32_t request = 0; request < outputs.requests(); ++request) {
    most = std::max(most, add_cuts(plan, outputs, request, tokens));
  }
  assign_slots(plan, MergeKind::kernel);
  plan.num_splits = static_cast<std::int32_t>(most);
  plan.reason =
      most == 1
          ? fmt::format("batch-invariant: no output is cut, since none crosses a multiple of {} tokens", tokens)
          : fmt::format("batch-invariant: every output cut at multiples of {} tokens, whatever else is in the batch",
                        tokens);
  return plan;
}

/// The same piece of all of a request's heads: items that lie `stride` apart in the order of the batch.
struct Column {
  std::int32_t tokens = 0;
  std::size_t first = 0;
  std::size_t end = 0;
  std::size_t stride = 1;
};

/// Those of cut_at_multiples(), in order of falling length, and of the batch where they are equally long.
std::vector<Column> longest_columns(const Plan& plan, const std::vector<Item>& items) {
  const auto output = [&](std::size_t i) -> const OutputTile& {
    return plan.outputs[static_cast<std::size_t>(items[i].output)];
  };
  std::vector<Column> columns;
  for (std::size_t first = 0; first < items.size();) {
    std::size_t of_head = first;
    while (of_head < items.size() && output(of_head).request == output(first).request &&
           output(of_head).head_begin == output(first).head_begin) {
      ++of_head;
    }
    std::size_t end = of_head;
    while (end < items.size() && output(end).request == output(first).request) ++end;
    for (std::size_t i = first; i < of_head; ++i) columns.push_back({items[i].tokens(), i, end, of_head - first});
    first = end;
  }
  std::stable_sort(columns.begin(), columns.end(),
                   [](const Column& a, const Column& b) { return a.tokens > b.tokens; });
  return columns;
}

std::int32_t parse_tokens(std::string_view schedule, std::string_view argument) {
  return parse_count(schedule, argument, std::int64_t{1} << 30, "a number of tokens per split from 1 to 1073741824");
}

}  // namespace

Plan fixed_size(const workloads::Workload& workload, const Grid& grid, std::string_view argument) {
  return cut_at_multiples(workload, grid, parse_tokens("fixed-size", argument));
}

Plan longest_first(const workloads::Workload& workload, const Grid& grid, std::string_view argument) {
  Plan plan = cut_at_multiples(workload, grid, parse_tokens("longest-first", argument));
  const std::vector<Item> items = std::exchange(plan.items, {});
  const std::vector<Column> columns = longest_columns(plan, items);
  plan.items.reserve(items.size());
  for (const Column& column : columns) {
    for (std::size_t i = column.first; i < column.end; i += column.stride) plan.items.push_back(items[i]);
  }
  plan.reason += "; longest first, a request's heads side by side";
  return plan;
}

std::string_view splitwave_kernel(const workloads::Workload& /*workload*/, std::string_view /*argument*/,
                                  std::int32_t /*num_splits*/) {
  return "splitwave";
}

}  // namespace splitwave::schedules
