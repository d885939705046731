// SPDX-License-Identifier: Apache-2.0
#include "simulator/work.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "simulator/ports.h"
#include "simulator/rows.h"
#include "simulator/traffic.h"

namespace splitwave::simulator {
namespace {

using schedules::OutputTile;
using schedules::Plan;
using workloads::Workload;

/// More than any memory delivers in a latency.
constexpr double kUnlimitedBytes = 1e9;
/// More than any SM takes in, bytes per second.
constexpr double kUnlimitedRate = 1e15;

/// True if no two outputs read the same K and V: every tile holds the whole group and all queries of its request.
bool reads_once(const Workload& workload, const Plan& plan) {
  const std::int32_t group = workload.geometry.group();
  return std::all_of(plan.outputs.begin(), plan.outputs.end(), [&](const OutputTile& output) {
    const workloads::Request& request = workload.requests[static_cast<std::size_t>(output.request)];
    return output.head_count == group && output.rows() == group * request.query_len;
  });
}

/// What L2 keeps of data that are read again.
double kept_bytes(const Machine& machine) {
  return machine.l2_kept * static_cast<double>(machine.l2_bytes);
}

/// Share of the launches whose first touches meet pages that no TLB holds. The caches of successive launches, a model's
/// layers, lie one behind the other: one that is smaller than a page is mostly in the page that the launch before
/// touched.
double new_pages(double kv_bytes) {
  constexpr double page_bytes = 2 << 20;  // of the CUDA driver's device memory
  return std::min(1.0, kv_bytes / page_bytes);
}

/// Shares of the K and V that the items read.
struct Shares {
  double dram = 1;              ///< that DRAM delivers
  double waited = 1;            ///< that come with DRAM's latency
  bool keeps_kv_in_l2 = false;  ///< L2 is asked to keep them
};

/// The project's own kernels ask L2 to drop K and V before all else, so that queries, outputs and partial results stay.
/// Then it keeps next to none of them: on an H100 grids of FlashAttention-2 whose heads come 25 MB apart read all of K
/// and V anew. Where this would be more than so much of what DRAM delivers, they ask L2 to keep K and V: these grids
/// take 0.6 to 0.95 of the time, plans that gain nothing 1.0 to 1.17 (docs/kernels.md, "K and V that are read again").
constexpr double kWorthKeeping = 0.15;

/// How far later waves fall out of step (Sharing::drift): by as much as ports differ, unless arithmetic is the limit.
double drift_of(const Machine& machine, const TokenSeconds& seconds_per_byte, std::int32_t resident) {
  const double of_sm = static_cast<double>(resident) / machine.sms;
  const double arithmetic = std::max(seconds_per_byte.crowded, seconds_per_byte.alone / of_sm);
  return arithmetic * machine.l2_bytes_per_second < machine.sms ? port_spread(machine) : 0;
}

/// kept: K and V, once read and asked to, all stay in L2.
Shares shares_of(const Workload& workload, const Plan& plan, const Machine& machine, const KernelProfile& kernel,
                 const TokenSeconds& seconds_per_byte, bool kept, std::int32_t resident) {
  if (machine.cpu || reads_once(workload, plan)) return {};
  const auto token_bytes = static_cast<double>(workloads::kv_bytes_per_token(workload.geometry));
  Sharing sharing;
  sharing.resident = resident_ctas(plan, resident);
  sharing.kept_tokens = kept ? std::numeric_limits<double>::infinity() : kept_bytes(machine) / token_bytes;
  sharing.in_flight_tokens = static_cast<double>(kernel.bytes_in_flight) / token_bytes;
  sharing.drift = drift_of(machine, seconds_per_byte, resident);
  KvTokens tokens = count_shared_reads(workload, plan, sharing);
  bool keeps = false;
  if (!kernel.config.empty()) {
    keeps = static_cast<double>(tokens.l2) > kWorthKeeping * static_cast<double>(tokens.dram + tokens.l2);
    if (!keeps) tokens.dram += std::exchange(tokens.l2, 0);
  }
  const auto sum = static_cast<double>(tokens.dram + tokens.together + tokens.l2);
  if (sum <= 0) return {};
  return {static_cast<double>(tokens.dram) / sum, static_cast<double>(tokens.dram + tokens.together) / sum, keeps};
}

/// Counts the outputs' rows and finds the different heights of their tiles.
void look_at_outputs(const Plan& plan, Work& work) {
  const std::int32_t first = plan.outputs.empty() ? 1 : plan.outputs.front().rows();
  const bool mixed = std::any_of(plan.outputs.begin(), plan.outputs.end(),
                                 [&](const OutputTile& output) { return output.rows() != first; });
  if (!mixed) {
    work.heights = {first};
    work.output_rows = static_cast<std::int64_t>(plan.outputs.size()) * first;
    return;
  }
  std::vector<std::int32_t> index_of_height;
  work.cost_of_output.reserve(plan.outputs.size());
  for (const OutputTile& output : plan.outputs) {
    const auto height = static_cast<std::size_t>(output.rows());
    if (height >= index_of_height.size()) index_of_height.resize(height + 1, -1);
    if (index_of_height[height] < 0) {
      index_of_height[height] = static_cast<std::int32_t>(work.heights.size());
      work.heights.push_back(output.rows());
    }
    work.cost_of_output.push_back(index_of_height[height]);
    work.output_rows += output.rows();
  }
}

std::int32_t lists_with_items(const Plan& plan) {
  std::int32_t count = 0;
  for (std::int32_t list = 0; list < plan.lists(); ++list) count += plan.list(list).empty() ? 0 : 1;
  return count;
}

/// What a launch's first requests wait for each other, of so many workers' CTAs: measured with a CTA on every fourth
/// SM. A lone one waits for none, each doubling for as much more.
double burst_seconds(const Machine& machine, std::int32_t cluster, std::int32_t workers) {
  const double measured = std::max(2.0, machine.sms * cluster / 4.0);  // a cluster's machine has SMs of several
  const double doublings = std::log2(std::clamp(static_cast<double>(workers * cluster), 1.0, measured));
  return machine.first_burst_seconds.value_or(0) * doublings / std::log2(measured);
}

/// Of one row of an item: Q, and its result, which is a partial one where the plan has any.
double row_bytes(const Workload& workload, const Plan& plan) {
  const workloads::Geometry& g = workload.geometry;
  const std::int64_t element = workloads::bytes_per_element(g.dtype);
  const std::int64_t result = plan.slots() > 0 ? partial_row_bytes(g) : g.value_dim * element;
  return static_cast<double>(g.head_dim * element + result);
}

/// Of K and V that a memory delivers in the time of a row's query and result, of kernels whose warps load queries to
/// registers and write outputs from them: 16 bytes of each row at a time, half a sector, which takes a whole one's
/// time. Partial results have twice the bytes, in whole sectors. Where warps share tiles rows come as copies, through
/// the ring, and kernels without rings have one item.
double streamed_row_bytes(const workloads::Geometry& g, const KernelProfile& kernel) {
  if (!kernel.refills_after_use || kernel.shares_tiles || kernel.most_tokens > 0) return 0;
  return 2.0 * (g.head_dim + g.value_dim) * static_cast<double>(workloads::bytes_per_element(g.dtype));
}

/// What an SM, or a cluster's SMs, can take in.
double sm_rate(const Machine& machine, const KernelProfile& kernel, double bytes_per_token) {
  if (kernel.held_transfer_seconds < 0) return machine.sm_bytes_per_second;
  return std::min(kUnlimitedRate, kernel.most_tokens * bytes_per_token / kernel.held_transfer_seconds);
}

/// How long items are, and how much of its window a CTA can fill with all that it reads.
void look_at_items(const Plan& plan, std::int32_t resident, Work& work) {
  std::int64_t tokens = 0;
  std::int64_t items = 0;
  for (const schedules::Item& item : plan.items) {
    tokens += item.tokens();
    items += item.tokens() > 0 ? 1 : 0;
  }
  if (items == 0) return;
  const double bytes = static_cast<double>(tokens) * work.bytes_per_token;
  work.mean_item_bytes = bytes / static_cast<double>(items);
  work.queued_bytes = std::min(work.law.bytes_in_flight, bytes / std::min(plan.lists(), resident));
}

/// What all queries of each output see.
void look_at_edges(const Workload& workload, const Plan& plan, Work& work) {
  for (const OutputTile& output : plan.outputs) {
    const workloads::Request& request = workload.requests[static_cast<std::size_t>(output.request)];
    const std::int32_t last = std::max(output.row_begin, output.row_end - 1) / output.head_count;
    work.seen_of_output.push_back(
        {workloads::visible_to_query(workload.geometry, request, last).begin,
         workloads::visible_to_query(workload.geometry, request, output.row_begin / output.head_count).end});
  }
}

/// What a token takes by the rows of each output tile, and an item of kernels that ask for all of it at once.
void look_at_tokens(const Workload& workload, const Machine& machine, const KernelProfile& kernel, Work& work) {
  for (const std::int32_t rows : work.heights) {
    if (machine.cpu) {
      const auto known = machine.cpu->seconds_per_kv_byte_of_rows.find(rows);
      const bool knows = known != machine.cpu->seconds_per_kv_byte_of_rows.end();
      const double seconds = knows ? known->second : machine.cpu->seconds_per_kv_byte;
      work.seconds_per_byte.push_back({seconds, seconds});
      continue;
    }
    const TokenSeconds token = seconds_per_token(machine, kernel, workload.geometry, rows);
    if (kernel.most_tokens > 0) {
      work.issue_seconds = std::max(0.0, token.crowded * kernel.tile_tokens - kernel.fewer_rows_seconds);
      work.last_issue_seconds =
          std::max(0.0, work.issue_seconds - kernel.early_clocks * kernel.tile_tokens / machine.clock_hz);
      work.seconds_per_byte.emplace_back();
      continue;
    }
    work.seconds_per_byte.push_back({token.crowded / work.bytes_per_token, token.alone / work.bytes_per_token});
  }
}

/// The law by which its lists, of which so many are resident and `readers` read, share the memory.
void look_at_memory(const Workload& workload, const Plan& plan, const Machine& machine, const KernelProfile& kernel,
                    const Shares& shares, std::int32_t resident, std::int32_t readers, Work& work) {
  // What asks for all of an item at once waits for no latency while it streams.
  const double bytes_in_flight = kernel.most_tokens > 0 ? kUnlimitedBytes : static_cast<double>(kernel.bytes_in_flight);
  work.keeps_kv_in_l2 = shares.keeps_kv_in_l2;
  work.law = memory_law(machine, bytes_in_flight, shares.dram, shares.waited);
  double rows = row_share(workload, machine);
  if (rows < 1) {
    const Streaming lists{resident, work.bytes_per_token, bytes_in_flight, port_spread(machine)};
    rows += in_step_share(workload, plan, lists) * (1 - rows);
  }
  const double delivered = rows * stream_share(machine, readers);
  work.law.plateau *= delivered;
  work.law.asymptote *= delivered;
  // By how much L2 is nearer than memory does not depend on how a kernel asks.
  work.law.latency_seconds += (kernel.latency_scale - 1) * machine.dram_latency_seconds;
  work.law.queue_seconds *= kernel.queue_scale;
  work.law.refill_seconds = kernel.refill_seconds;
  work.sm_bytes_per_second = sm_rate(machine, kernel, work.bytes_per_token);
  if (!kernel.refills_after_use) return;
  const double tile_bytes = work.bytes_per_token * kernel.tile_tokens;
  work.law.refill_seconds = work.seconds_per_byte.front().alone * tile_bytes;
  work.law.passing_seconds = kernel.ring_refill_seconds;
  if (kernel.shares_tiles) work.law.passing_seconds += tile_bytes / work.sm_bytes_per_second;
  // Group kernels' queries come through the ring, in a stage of their own; latent ones', which have two stages, do not.
  if (kernel.shares_tiles && workload.geometry.kind != workloads::AttentionKind::mla) {
    work.query_stage_bytes = tile_bytes;
  }
}

/// What first reads, of `readers` lists, take that find nothing in L2 or in the TLBs. kept: K and V, of so many bytes,
/// stay in L2 from launch to launch.
void look_at_cold_starts(const Workload& workload, double kv_bytes, const Machine& machine, const KernelProfile& kernel,
                         bool kept, std::int32_t readers, Work& work) {
  work.cold_seconds =
      machine.cold_seconds * new_pages(kv_bytes) * kernel.cold_loads + burst_seconds(machine, kernel.cluster, readers);
  if (kept) return;
  // Each launch reads the table that the one before has read: it is in L2 but for what came in between.
  const bool pages = kernel.paged_seconds > 0 && workload.kv.layout == workloads::KvLayout::paged;
  const double farther = machine.dram_latency_seconds - machine.l2_latency_seconds;
  work.table_seconds = farther * ((kernel.reads_table ? 1 : 0) + (pages ? 1 : 0));
}

}  // namespace

std::int32_t lists_with_tokens(const Plan& plan) {
  std::int32_t count = 0;
  for (std::int32_t list = 0; list < plan.lists(); ++list) count += has_tokens(plan, list) ? 1 : 0;
  return count;
}

std::int32_t resident_ctas(const Plan& plan, std::int32_t fit) {
  return plan.dispatch == schedules::Dispatch::queue ? std::min(fit, plan.workers) : fit;
}

Work make_work(const Workload& workload, const Plan& plan, const Machine& machine, const KernelProfile& kernel,
               const SimulateOptions& options, std::int32_t resident) {
  Work work;
  work.bytes_per_token = static_cast<double>(workloads::kv_bytes_per_token(workload.geometry));
  look_at_outputs(plan, work);
  if (kernel.moves_rows) {
    // What streams through L2 drives them out, and all CTAs come to their ends together.
    const std::int32_t ctas = std::clamp(lists_with_items(plan), 1, std::max(1, resident_ctas(plan, resident)));
    work.row_seconds =
        row_bytes(workload, plan) / std::min(machine.sm_bytes_per_second, machine.dram_bytes_per_second / ctas);
  }
  work.row_bytes = streamed_row_bytes(workload.geometry, kernel);
  if (kernel.shares_tiles && kernel.most_rows > 1) {
    work.most_rows = kernel.most_rows;
    // Its last item's rows, too, are reduced and written as far as there are any.
    const double fewer = std::min(kernel.item_fewer_rows_seconds, kernel.epilogue_seconds);
    work.empty_row_seconds = fewer / (kernel.most_rows - 1);
  }
  work.edge_seconds = kernel.edge_seconds + kernel.edge_query_seconds;
  work.chunk_tokens = std::max(1, kernel.tile_tokens / (kernel.cluster * kernel.merge_warps));
  if (work.edge_seconds > 0) look_at_edges(workload, plan, work);
  (kernel.most_tokens > 0 ? work.issue_start_seconds : work.crowd_start_seconds) = kernel.crowd_start_seconds;
  work.spread_start_seconds = kernel.spread_start_seconds;
  look_at_tokens(workload, machine, kernel, work);
  const auto kv_bytes = static_cast<double>(workloads::kv_bytes(workload));
  const bool kept = kv_bytes <= kept_bytes(machine);  // a cyclic read of more keeps a part at best
  const bool warm = options.l2 == L2State::warm && kept;
  const Shares shares = warm
                            ? Shares{0, 0, true}
                            : shares_of(workload, plan, machine, kernel, work.seconds_per_byte.front(), kept, resident);
  const std::int32_t at_a_time = resident_ctas(plan, resident);
  const std::int32_t readers = std::min(lists_with_tokens(plan), at_a_time);
  look_at_memory(workload, plan, machine, kernel, shares, at_a_time, readers, work);
  if (kernel.refills_after_use && kernel.prefetches_items) look_at_items(plan, at_a_time, work);
  if (!warm) look_at_cold_starts(workload, kv_bytes, machine, kernel, kept, readers, work);
  return work;
}

}  // namespace splitwave::simulator
