// SPDX-License-Identifier: Apache-2.0
// The parts that schedules are built from: output tiles, tile arithmetic, lists of items, slots. Only schedules use it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/grid.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::schedules {

/// Most items, outputs or CTAs of one plan: 2^25 items are 512 MiB.
inline constexpr std::int64_t kMaxItems = std::int64_t{1} << 25;

/// Throws InputError if `count` of `what` ("items", "CTAs") is more than kMaxItems.
void check_count(std::int64_t count, std::string_view what);

/// Integer ceiling of a / b for a >= 0, b > 0; a + b may exceed 32 bits.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Query rows of a request that share one KV head. Throws InputError beyond 2^31 - 1.
std::int32_t packed_rows(const workloads::Geometry& geometry, std::int32_t query_len);

/// Allocated KV tokens of every request as FlashAttention sees them: the cache length, or for pages whole pages.
std::int32_t padded_seqlen_k(const workloads::Workload& workload);

/// KV positions of `range` that lie in [begin, end); an empty result sits at the end of `range` that is nearer.
workloads::KvRange clip(const workloads::KvRange& range, std::int64_t begin, std::int64_t end);

/// Tiles of `tile_kv` tokens that a range touches, as [first, last) indices of the absolute tile grid; first == last if
/// the range is empty.
struct TileRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t count() const { return last - first; }
};
TileRange tile_range(const workloads::KvRange& range, std::int32_t tile_kv);

/// Part `part` of `parts` equal parts of a range, in whole tiles: each has ceil(tiles / parts), late ones may be empty.
workloads::KvRange equal_part(const workloads::KvRange& range, std::int32_t tile_kv, std::int32_t part,
                              std::int32_t parts);

/// Numbering of a batch's output tiles: request by request, head by head (KV heads if groups are packed, else query
/// heads), then by rows.
struct OutputGrid {
  std::int32_t heads = 0;
  std::vector<std::int32_t> first_row_tile;  ///< per request and one more, counted over one head
  std::vector<workloads::KvRange> range;     ///< per row tile: what its rows see, the same for every head

  std::int32_t requests() const { return static_cast<std::int32_t>(first_row_tile.size()) - 1; }
  std::int32_t row_tiles(std::int32_t request) const {
    return first_row_tile[static_cast<std::size_t>(request) + 1] - first_row_tile[static_cast<std::size_t>(request)];
  }
  std::int32_t most_row_tiles() const;
  std::int32_t output(std::int32_t request, std::int32_t head, std::int32_t row_tile) const {
    return first_row_tile[static_cast<std::size_t>(request)] * heads + head * row_tiles(request) + row_tile;
  }
  const workloads::KvRange& kv(std::int32_t request, std::int32_t row_tile) const {
    const std::int32_t first = first_row_tile[static_cast<std::size_t>(request)];
    return range[static_cast<std::size_t>(first) + static_cast<std::size_t>(row_tile)];
  }
};

/// A plan with its tile sizes (those of the grid win over the rule's) and without outputs or items.
Plan start_plan(const Grid& grid, std::int32_t tile_q, std::int32_t tile_kv);

/// Cuts the batch's rows into output tiles of plan.tile_q rows and appends them to plan.outputs. packed: a tile holds
/// the rows of a KV head's whole group; else those of one query head. Throws InputError if there are too many.
OutputGrid cut_outputs(const workloads::Workload& workload, bool packed, Plan& plan);

/// Reserves room for `items` items in `lists` lists. Throws InputError if there are too many.
void reserve(Plan& plan, std::int64_t items, std::int64_t lists);

/// Appends an item to the list that is being built.
inline void add_item(Plan& plan, std::int32_t output, const workloads::KvRange& range) {
  plan.items.push_back({output, range.begin, range.end, -1});
}

/// Ends the list that is being built.
inline void end_list(Plan& plan) {
  plan.cta_begin.push_back(static_cast<std::int32_t>(plan.items.size()));
}

/// Gives slots to the items of split outputs and adds their merges. The items of each output must stand in ascending
/// KV order, wherever in the plan. Sets plan.merge to `kind` if anything is split, else to `kind_if_whole`.
void assign_slots(Plan& plan, MergeKind kind, MergeKind kind_if_whole = MergeKind::none);

/// Adds a list for each row tile, split, head and request, row tiles fastest: plan.num_splits parts of whole tiles of
/// what each row tile sees, for a second kernel to merge if they are more than one.
void add_equal_parts(Plan& plan, const OutputGrid& outputs);

/// Parses a decimal integer of [1, most]. Throws InputError naming `schedule` and `argument`, with `allowed` in words.
std::int32_t parse_count(std::string_view schedule, std::string_view argument, std::int64_t most,
                         std::string_view allowed);

}  // namespace splitwave::schedules
