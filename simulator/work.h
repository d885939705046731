// SPDX-License-Identifier: Apache-2.0
// A plan, a machine and a kernel turned into what the event loop needs: bytes, costs and where bytes come from.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedules/plan.h"
#include "simulator/bandwidth.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "workloads/workload.h"

namespace splitwave::simulator {

struct Work {
  double bytes_per_token = 0;  ///< K and V of one token of one KV head
  std::int64_t output_rows = 0;
  std::vector<std::int32_t> heights;           ///< different numbers of rows that output tiles have; at least one
  std::vector<TokenSeconds> seconds_per_byte;  ///< arithmetic, for each height
  std::vector<std::int32_t> cost_of_output;    ///< index into heights; empty if there is only one
  MemoryLaw law;
  bool keeps_kv_in_l2 = false;      ///< L2 is asked to keep K and V: what it keeps is read again (shares_of())
  double mean_item_bytes = 0;       ///< of the items that have tokens
  double queued_bytes = 0;          ///< of a CTA's window, what it fills in the mean over its whole work
  double query_stage_bytes = 0;     ///< of K and V, for which a further item's queries take a place in the window
  double sm_bytes_per_second = 0;   ///< that an SM, or a cluster's SMs, can take in
  double table_seconds = 0;         ///< of a CTA's start: its list comes from DRAM instead of L2
  double cold_seconds = 0;          ///< of the first wave: its dependent loads that touch pages that no TLB holds
  double spread_start_seconds = 0;  ///< more of the first prologue for each doubling of the CTAs that read
  double crowd_start_seconds = 0;   ///< of the first wave, on a full device: besides the prologue
  /// What a CTA that holds its items takes of its SM, which no other has meanwhile; all of its arithmetic. The SM gives
  /// its first one that no sooner than issue_start_seconds after the start.
  double issue_seconds = 0;
  double last_issue_seconds = 0;  ///< what is left of it for a lone CTA whose last byte is there
  double issue_start_seconds = 0;

  double row_seconds = 0;                          ///< of an item, for each of its rows (KernelProfile::moves_rows)
  double row_bytes = 0;                            ///< of K and V that a row of a further item keeps from coming
  double empty_row_seconds = 0;                    ///< by which a list ends sooner for each of these that is none
  std::int32_t most_rows = 0;                      ///< that a CTA holds, where fewer take less
  double edge_seconds = 0;                         ///< more of an item at the edge of a mask (at_edge())
  std::int32_t chunk_tokens = 1;                   ///< that a warp takes at a time
  std::vector<workloads::KvRange> seen_of_output;  ///< by all of its queries; empty if no item costs more

  /// A first prologue of `lone` seconds where so many CTAs read, of the device's `places`.
  double start_seconds(double lone, double reading, double places) const {
    return lone + reading / places * crowd_start_seconds + std::log2(std::max(1.0, reading)) * spread_start_seconds;
  }
  /// Whether some query of the item's output does not see all of the item.
  bool at_edge(const schedules::Item& item) const {
    if (seen_of_output.empty()) return false;
    const workloads::KvRange& seen = seen_of_output[static_cast<std::size_t>(item.output)];
    return item.kv_begin < seen.begin || item.kv_end > seen.end;
  }
  /// Chunks of the item's keys that some query of its output does not see all of.
  std::int32_t edge_chunks(const schedules::Item& item) const {
    if (!at_edge(item)) return 0;
    const workloads::KvRange& seen = seen_of_output[static_cast<std::size_t>(item.output)];
    const auto chunks = [&](std::int32_t tokens) { return (tokens + chunk_tokens - 1) / chunk_tokens; };
    const std::int32_t all = chunks(item.tokens());
    const std::int32_t first = chunks(std::max(0, seen.begin - item.kv_begin));
    const std::int32_t seen_by_all = std::max(0, seen.end - item.kv_begin) / chunk_tokens;
    return std::min(all, first + (item.kv_end > seen.end ? all - seen_by_all : 0));
  }
  /// What an item takes besides the kernel's own costs: its rows' way in and out, and a mask's edge.
  double more_seconds(const schedules::Item& item) const {
    return row_seconds * heights[cost_of(item)] + (at_edge(item) ? edge_seconds : 0);
  }
  /// Rows of the kernel's that an item of such a height leaves empty, where that is known to matter.
  std::int32_t empty_rows(std::int32_t height) const { return std::max(0, most_rows - height); }
  /// By which a list whose last item has such a height, or is this one, ends sooner than one whose rows are all there.
  double sooner_seconds(std::int32_t height) const { return empty_row_seconds * empty_rows(height); }
  double sooner_seconds(const schedules::Item& last) const { return sooner_seconds(heights[cost_of(last)]); }
  /// Index into heights and seconds_per_byte.
  std::size_t cost_of(const schedules::Item& item) const {
    return cost_of_output.empty() ? 0 : static_cast<std::size_t>(cost_of_output[static_cast<std::size_t>(item.output)]);
  }
};

/// Where the data are when the kernel starts. cold: K and V come from DRAM; warm: they were read before, and are in L2
/// if they take no more than Machine::l2_kept of it.
enum class L2State { cold, warm };

struct SimulateOptions {
  std::int32_t ctas_per_sm = 0;  ///< 0: from the kernel's occupancy
  bool spans = false;            ///< record Timeline::spans
  L2State l2 = L2State::cold;    ///< what is in L2 when the kernel starts
};

/// Tiles whose arithmetic takes as long as that of so many tokens, of which the last may not fill theirs.
inline double arithmetic_tiles(const KernelProfile& kernel, std::int32_t tokens) {
  const double tiles = static_cast<double>(tokens) / kernel.tile_tokens;
  const double whole = std::floor(tiles);
  return tiles > whole ? whole + kernel.partial_tile + (1 - kernel.partial_tile) * (tiles - whole) : whole;
}

/// Arithmetic of the item's tiles, one after the other.
inline double tiles_seconds(const KernelProfile& kernel, const Work& work, const schedules::Item& item) {
  const double per_token = work.seconds_per_byte[work.cost_of(item)].alone * work.bytes_per_token;
  return arithmetic_tiles(kernel, item.tokens()) * kernel.tile_tokens * per_token;
}

/// Whether a list reads anything.
inline bool has_tokens(const schedules::Plan& plan, std::int32_t list) {
  const std::span<const schedules::Item> items = plan.list(list);
  return std::any_of(items.begin(), items.end(), [](const schedules::Item& item) { return item.tokens() > 0; });
}

/// How many of the plan's lists read anything.
std::int32_t lists_with_tokens(const schedules::Plan& plan);

/// CTAs of the plan at a time where so many fit.
std::int32_t resident_ctas(const schedules::Plan& plan, std::int32_t fit);

/// `resident`: CTAs at a time.
Work make_work(const workloads::Workload& workload, const schedules::Plan& plan, const Machine& machine,
               const KernelProfile& kernel, const SimulateOptions& options, std::int32_t resident);

}  // namespace splitwave::simulator
