// SPDX-License-Identifier: Apache-2.0
#include "schedules/cut.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/error.h"

namespace splitwave::schedules {

void check_count(std::int64_t count, std::string_view what) {
  if (count <= kMaxItems) return;
  throw base::InputError(fmt::format("plan: {} {}, allowed are at most {}", count, what, kMaxItems));
}

std::int32_t packed_rows(const workloads::Geometry& geometry, std::int32_t query_len) {
  const std::int64_t rows = static_cast<std::int64_t>(query_len) * geometry.group();
  if (rows > std::numeric_limits<std::int32_t>::max()) {
    throw base::InputError(
        fmt::format("plan: query_len {} times {} query heads per KV head is {} rows, allowed are at most {}", query_len,
                    geometry.group(), rows, std::numeric_limits<std::int32_t>::max()));
  }
  return static_cast<std::int32_t>(rows);
}

std::int32_t padded_seqlen_k(const workloads::Workload& workload) {
  const std::int64_t tokens = workloads::padded_context_len(workload);
  if (workload.kv.layout != workloads::KvLayout::paged) return static_cast<std::int32_t>(tokens);
  const std::int64_t page = workload.kv.page_size;
  // A page that ends past 2^31 - 1 does not exist for a rule that counts tokens in 32 bits.
  return static_cast<std::int32_t>(
      std::min<std::int64_t>(ceil_div(tokens, page) * page, std::numeric_limits<std::int32_t>::max()));
}

workloads::KvRange clip(const workloads::KvRange& range, std::int64_t begin, std::int64_t end) {
  const std::int64_t first = std::clamp<std::int64_t>(begin, range.begin, range.end);
  const std::int64_t last = std::clamp<std::int64_t>(end, first, range.end);
  return {static_cast<std::int32_t>(first), static_cast<std::int32_t>(last)};
}

TileRange tile_range(const workloads::KvRange& range, std::int32_t tile_kv) {
  const std::int64_t first = range.begin / tile_kv;
  return {first, range.size() > 0 ? ceil_div(range.end, tile_kv) : first};
}

workloads::KvRange equal_part(const workloads::KvRange& range, std::int32_t tile_kv, std::int32_t part,
                              std::int32_t parts) {
  if (parts == 1) return range;
  const TileRange tiles = tile_range(range, tile_kv);
  const std::int64_t tiles_per_part = ceil_div(tiles.count(), parts);
  const std::int64_t first = tiles.first + part * tiles_per_part;
  return clip(range, first * tile_kv, (first + tiles_per_part) * tile_kv);
}

std::int32_t OutputGrid::most_row_tiles() const {
  std::int32_t most = 0;
  for (std::int32_t r = 0; r < requests(); ++r) most = std::max(most, row_tiles(r));
  return most;
}

Plan start_plan(const Grid& grid, std::int32_t tile_q, std::int32_t tile_kv) {
  Plan plan;
  plan.tile_q = grid.tile_q > 0 ? grid.tile_q : tile_q;
  plan.tile_kv = grid.tile_kv > 0 ? grid.tile_kv : tile_kv;
  return plan;
}

OutputGrid cut_outputs(const workloads::Workload& workload, bool packed, Plan& plan) {
  const workloads::Geometry& g = workload.geometry;
  const std::int32_t head_count = packed ? g.group() : 1;
  OutputGrid grid;
  grid.heads = packed ? g.kv_heads : g.query_heads;
  grid.first_row_tile.reserve(workload.requests.size() + 1);
  grid.first_row_tile.push_back(0);
  std::int64_t row_tiles = 0;
  for (const workloads::Request& request : workload.requests) {
    const std::int32_t rows = packed ? packed_rows(g, request.query_len) : request.query_len;
    row_tiles += ceil_div(rows, plan.tile_q);
    check_count(row_tiles * grid.heads, "output tiles");
    grid.first_row_tile.push_back(static_cast<std::int32_t>(row_tiles));
  }
  grid.range.reserve(static_cast<std::size_t>(row_tiles));
  plan.outputs.reserve(static_cast<std::size_t>(row_tiles * grid.heads));
  for (std::int32_t r = 0; r < grid.requests(); ++r) {
    const std::int32_t rows = workload.requests[static_cast<std::size_t>(r)].query_len * head_count;
    const std::int32_t tiles_of_head = grid.row_tiles(r);
    for (std::int32_t head = 0; head < grid.heads; ++head) {
      for (std::int32_t m = 0; m < tiles_of_head; ++m) {
        const std::int32_t row_begin = m * plan.tile_q;
        const std::int32_t row_end = rows - row_begin <= plan.tile_q ? rows : row_begin + plan.tile_q;
        plan.outputs.push_back({r, head * head_count, head_count, row_begin, row_end});
        if (head == 0) grid.range.push_back(kv_range(workload, plan.outputs.back()));
      }
    }
  }
  return grid;
}

void reserve(Plan& plan, std::int64_t items, std::int64_t lists) {
  check_count(items, "items");
  check_count(lists, "CTAs");
  plan.items.reserve(static_cast<std::size_t>(items));
  plan.cta_begin.reserve(static_cast<std::size_t>(lists) + 1);
}

void assign_slots(Plan& plan, MergeKind kind, MergeKind kind_if_whole) {
  // next[o] counts the items of output o, then becomes the slot of its next item.
  std::vector<std::int32_t> next(plan.outputs.size(), 0);
  for (const Item& item : plan.items) ++next[static_cast<std::size_t>(item.output)];
  std::int32_t slots = 0;
  for (std::size_t output = 0; output < next.size(); ++output) {
    const std::int32_t pieces = next[output];
    next[output] = pieces > 1 ? slots : -1;
    if (pieces <= 1) continue;
    plan.merges.push_back({static_cast<std::int32_t>(output), slots, slots + pieces});
    slots += pieces;
  }
  for (Item& item : plan.items) {
    std::int32_t& slot = next[static_cast<std::size_t>(item.output)];
    item.slot = slot;
    if (slot >= 0) ++slot;
  }
  plan.merge = plan.merges.empty() ? kind_if_whole : kind;
}

void add_equal_parts(Plan& plan, const OutputGrid& outputs) {
  const std::int64_t items = static_cast<std::int64_t>(plan.outputs.size()) * plan.num_splits;
  reserve(plan, items, items);
  for (std::int32_t request = 0; request < outputs.requests(); ++request) {
    for (std::int32_t head = 0; head < outputs.heads; ++head) {
      for (std::int32_t split = 0; split < plan.num_splits; ++split) {
        for (std::int32_t m = 0; m < outputs.row_tiles(request); ++m) {
          add_item(plan, outputs.output(request, head, m),
                   equal_part(outputs.kv(request, m), plan.tile_kv, split, plan.num_splits));
          end_list(plan);
        }
      }
    }
  }
  assign_slots(plan, MergeKind::kernel, plan.num_splits > 1 ? MergeKind::kernel : MergeKind::none);
}

std::int32_t parse_count(std::string_view schedule, std::string_view argument, std::int64_t most,
                         std::string_view allowed) {
  std::int64_t value = 0;
  const char* const end = argument.data() + argument.size();
  const auto [rest, error] = std::from_chars(argument.data(), end, value);
  if (error != std::errc() || rest != end || value < 1 || value > most) {
    throw base::InputError(
        fmt::format("schedule {}: argument '{}' is not allowed; allowed is {}", schedule, argument, allowed));
  }
  return static_cast<std::int32_t>(value);
}

}  // namespace splitwave::schedules
