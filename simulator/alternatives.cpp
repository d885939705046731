// SPDX-License-Identifier: Apache-2.0
#include "simulator/alternatives.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "schedules/head_pairs.h"
#include "schedules/key_boxes.h"
#include "simulator/clusters.h"
#include "simulator/merge.h"

namespace splitwave::simulator {
namespace {

using schedules::Plan;
using workloads::Workload;

bool is_masked(const Workload& workload) {
  const workloads::Geometry& g = workload.geometry;
  return (g.causal || g.window.has_value()) && workloads::max_query_len(workload) > 1;
}

/// Whether the machine takes the kernel's instruction: wgmma where it has that. Kernels that share tiles by mma.sync
/// stand in for those with wgmma (gpu/kernel_config.cpp).
bool takes_instruction(const Machine& machine, const KernelProfile& kernel) {
  const bool wgmma = kernel.instruction == MmaInstruction::wgmma;
  return wgmma == has_wgmma(machine) || (!wgmma && !kernel.shares_tiles);
}

bool covers(const KernelVariant& variant, const workloads::Geometry& g, const Machine& machine, bool masked) {
  if (!takes_instruction(machine, variant.kernel)) return false;
  const bool latent = g.kind == workloads::AttentionKind::mla;
  if (latent != (variant.value_dim > 0) || g.value_dim != (latent ? variant.value_dim : g.head_dim)) return false;
  return !variant.kernel.config.empty() && g.head_dim >= variant.head_dim_least &&
         g.head_dim <= variant.head_dim_most && g.dtype != workloads::Dtype::f32 && variant.kernel.masked == masked &&
         ctas_per_sm(machine, variant.kernel) > 0;
}

/// The variant's kernel with clusters of this size.
KernelProfile with_cluster(const KernelVariant& variant, const ClusterCosts& costs) {
  KernelProfile kernel = variant.kernel;
  kernel.config += "c" + std::to_string(costs.cluster);
  kernel.cluster = costs.cluster;
  if (costs.cluster > 1) kernel.shared_bytes = variant.cluster_shared_bytes;
  // Only the sum of prologue and epilogue is known. The epilogue is the same code in both kernels.
  const bool single = costs.single_item_fixed_seconds > 0;
  kernel.epilogue_seconds = (single ? costs.single_item_fixed_seconds : costs.fixed_seconds) / 2;
  kernel.prologue_seconds = std::max(0.0, costs.fixed_seconds - kernel.epilogue_seconds);
  kernel.single_item_prologue_seconds = single ? costs.single_item_fixed_seconds - kernel.epilogue_seconds : 0;
  if (variant.waiting_fixed_seconds >= 0) {  // of single CTAs, of which a cluster's differ as they do for other plans
    const double more = variant.waiting_fixed_seconds - variant.clusters.front().fixed_seconds;
    kernel.waiting_prologue_seconds = std::max(0.0, kernel.prologue_seconds + more);
  }
  kernel.bytes_in_flight *= costs.cluster;
  kernel.tile_tokens *= costs.cluster;
  kernel.most_tokens *= costs.cluster;
  kernel.held_transfer_seconds = costs.held_transfer_seconds;
  kernel.early_clocks = costs.early_clocks;
  if (costs.held_paged_seconds >= 0) kernel.paged_seconds = costs.held_paged_seconds;
  kernel.crowded_clocks = costs.crowded_clocks;
  kernel.later_start_seconds = costs.later_start_seconds;
  kernel.single_item_registers_per_thread = costs.single_item_registers_per_thread;
  kernel.single_item_shared_bytes = costs.single_item_shared_bytes;
  for (double* clocks : {&kernel.chain_clocks, &kernel.single_item_chain_clocks, &kernel.paged_chain_clocks,
                         &kernel.paged_single_item_chain_clocks, &kernel.box_chain_clocks, &kernel.crowded_clocks,
                         &kernel.early_clocks, &kernel.waiting_chain_clocks}) {
    *clocks /= costs.cluster;
  }
  // A cluster's CTAs share the fragments of a merge.
  const std::int32_t turns = merge_turns(kernel, kernel.merge_fragments);
  kernel.merge_fragments = std::min(kernel.merge_fragments, std::max(1, kernel.merge_fragments / costs.cluster));
  const double share = static_cast<double>(merge_turns(kernel, kernel.merge_fragments)) / turns;
  for (double* seconds : {&kernel.merge_seconds_per_split, &kernel.merge_batch_seconds,
                          &kernel.single_item_merge_seconds_per_split, &kernel.single_item_merge_batch_seconds}) {
    *seconds *= share;
  }
  if (costs.single_item_merge_seconds >= 0) {
    kernel.single_item_merge_seconds = costs.single_item_merge_seconds;
    kernel.single_item_merge_seconds_per_split = costs.single_item_merge_seconds_per_split;
  }
  return kernel;
}

/// Whichever of a config's two kernels runs a plan: the more that either takes leaves room for one.
bool fits(const Machine& machine, const KernelProfile& kernel) {
  const std::int32_t registers = std::max(kernel.registers_per_thread, kernel.single_item_registers_per_thread);
  const std::int64_t shared = std::max(kernel.shared_bytes, kernel.single_item_shared_bytes);
  return resident_workers(machine, kernel.cluster, ctas_per_sm(machine, kernel.threads, registers, shared)) > 0;
}

/// Elements of the KV heads that kernels read in pairs (gpu/kernels/instances.cuh).
constexpr std::int32_t kDimsOfPairs = 64;

/// Of the configs for heads of twice the dims those that are also compiled for pairs (gpu/kernels/instances.cuh).
bool is_compiled_for_pairs(const KernelProfile& kernel) {
  const std::string_view name = kernel.config;
  return name.starts_with("r1w4s2t16c") || name.starts_with("r1w4s2t32c") || name.starts_with("r2w4s2t16c");
}

/// No item is empty or longer than the CTAs hold, and outputs in parts are merged as such kernels do.
bool holds_whole_items(const Plan& plan, const KernelProfile& kernel) {
  const bool merges = plan.merge == merge_of_parts(kernel) && takes_parts(kernel);
  return (plan.merges.empty() || merges) &&
         std::all_of(plan.items.begin(), plan.items.end(), [&](const schedules::Item& item) {
           return item.tokens() > 0 && item.tokens() <= kernel.most_tokens;
         });
}

}  // namespace

std::vector<KernelProfile> alternatives(const KernelFamily& family, const Workload& workload, const Machine& machine,
                                        std::int32_t rows) {
  const bool masked = is_masked(workload);
  std::int32_t least = 0;
  std::int32_t most = 0;
  for (const KernelVariant& variant : family.variants) {
    if (!covers(variant, workload.geometry, machine, masked)) continue;
    const std::int32_t held = variant.kernel.most_rows;
    if (held >= rows && (least == 0 || held < least)) least = held;
    most = std::max(most, held);
  }
  const std::int32_t wanted = least > 0 ? least : most;
  std::vector<KernelProfile> all;
  for (const KernelVariant& variant : family.variants) {
    if (!covers(variant, workload.geometry, machine, masked) ||
        (rows != kAnyRows && variant.kernel.most_rows != wanted))
      continue;
    for (const ClusterCosts& costs : variant.clusters) {
      if (costs.cluster > 1 && !has_capability(machine, 9)) continue;
      KernelProfile kernel = with_cluster(variant, costs);
      if (fits(machine, kernel)) all.push_back(std::move(kernel));
    }
  }
  return all;
}

std::vector<KernelProfile> pair_alternatives(const KernelFamily& family, const Workload& workload,
                                             const Machine& machine) {
  const workloads::Geometry& g = workload.geometry;
  if (g.head_dim != kDimsOfPairs || !schedules::has_head_pairs(workload)) return {};
  const Workload pairs = schedules::with_head_pairs(workload);
  const std::int32_t rows = pairs.geometry.group();
  std::vector<KernelProfile> all = alternatives(family, pairs, machine, rows);
  std::erase_if(all, [&](const KernelProfile& kernel) {
    return kernel.single_item_prologue_seconds <= 0 || kernel.most_tokens > 0 || kernel.most_rows < rows ||
           !is_compiled_for_pairs(kernel);
  });
  for (KernelProfile& kernel : all) {
    kernel.kv_heads = schedules::kHeadsOfPair;
    kernel.config += "h2";
  }
  return all;
}

bool one_item_per_list(const Workload& workload, const Plan& plan, bool any_heads) {
  const std::int32_t group = workload.geometry.group();
  const auto lists = static_cast<std::size_t>(plan.lists());
  if (plan.merge == schedules::MergeKind::host_cta && !any_heads) return false;
  if (plan.dispatch == schedules::Dispatch::queue) return false;
  if (workloads::max_query_len(workload) != 1 || lists != plan.items.size()) return false;
  for (std::size_t i = 0; i < lists; ++i) {
    if (plan.cta_begin[i] != static_cast<std::int32_t>(i)) return false;
  }
  return any_heads || std::all_of(plan.outputs.begin(), plan.outputs.end(), [&](const schedules::OutputTile& tile) {
           return tile.head_count == group && tile.head_begin % group == 0 && tile.row_begin == 0 &&
                  tile.row_end == group;
         });
}

std::int32_t most_rows(const Plan& plan) {
  std::int32_t most = 0;
  for (const schedules::OutputTile& tile : plan.outputs) most = std::max(most, tile.rows());
  return most;
}

namespace {

/// Rows that share a query are masked together.
constexpr double kProbedQueries = 2;

/// Most queries of a row block.
double queries_per_tile(const KernelProfile& kernel, const Plan& plan) {
  std::int32_t most = 1;
  for (const schedules::OutputTile& tile : plan.outputs) {
    const std::int32_t heads = std::max(1, tile.head_count);
    most = std::max(most, (std::min(tile.rows(), kernel.most_rows) + heads - 1) / heads);
  }
  return most;
}

/// Share of the kernel's rows but for one that an item of so many leaves empty.
double rows_left(const KernelProfile& kernel, std::int32_t rows) {
  return kernel.most_rows > 1 ? static_cast<double>(kernel.most_rows - rows) / (kernel.most_rows - 1) : 0;
}

/// What single items cost in place of any plan's, of `workload`: without pages.
void take_single_item_costs(const KernelProfile& kernel, const Workload& workload, KernelProfile& result) {
  result.prologue_seconds =
      kernel.single_item_prologue_seconds + (workloads::is_uniform(workload) ? 0 : kernel.table_seconds);
  result.crowd_start_seconds = kernel.single_item_crowd_start_seconds;
  result.first_round_seconds = kernel.single_item_first_round_seconds;
  result.ring_refill_seconds = kernel.single_item_ring_refill_seconds;
  if (kernel.single_item_merge_seconds >= 0) {
    result.merge_seconds = kernel.single_item_merge_seconds;
    result.merge_seconds_per_split = kernel.single_item_merge_seconds_per_split;
    result.merge_batch_seconds = kernel.single_item_merge_batch_seconds;
  }
  if (kernel.single_item_registers_per_thread > 0) {
    result.registers_per_thread = kernel.single_item_registers_per_thread;
  }
  if (kernel.single_item_shared_bytes > 0) result.shared_bytes = kernel.single_item_shared_bytes;
  result.fewer_rows_seconds *= rows_left(kernel, workload.geometry.group());
  result.epilogue_seconds += result.fewer_rows_seconds;
}

/// What lists cost whose CTAs wait: without pages. Looking these up takes such a kernel as much longer as the other.
void take_waiting_costs(const KernelProfile& kernel, KernelProfile& result) {
  result.prologue_seconds = kernel.waiting_prologue_seconds;
  result.item_seconds = kernel.waiting_item_seconds;
  result.item_crowded_seconds = kernel.waiting_item_crowded_seconds;
  result.chain_clocks += kernel.waiting_chain_clocks - kernel.chain_clocks;
}

/// Whether the cache is one whose keys may come in boxes.
bool holds_boxes(const Workload& workload) {
  return workload.kv.layout != workloads::KvLayout::paged || schedules::page_holds_boxes(workload.kv.page_size);
}

/// Whether keys come in boxes to a kernel with a ring.
bool takes_boxes(const KernelProfile& kernel, const Workload& workload) {
  return kernel.box_chain_clocks > 0 && schedules::boxes_pay(workload, kernel.most_rows) && holds_boxes(workload);
}

}  // namespace

KernelProfile with_costs_of(const KernelProfile& kernel, const Workload& workload, Lists lists) {
  KernelProfile result = kernel;
  const bool single = lists == Lists::single_items;
  result.reads_table = !single || !workloads::is_uniform(workload);
  const bool in_boxes = takes_any_heads(kernel) && holds_boxes(workload);
  const bool paged = workload.kv.layout == workloads::KvLayout::paged && !in_boxes;
  result.full_sm_seconds = paged ? kernel.paged_full_sm_seconds : kernel.full_sm_seconds;
  if (single || kernel.cluster > 1) result.full_sm_seconds = 0;  // of single items in crowd_start_seconds
  result.edge_query_seconds = result.edge_chunk_seconds = 0;     // of two queries; as_run() counts a tile's
  result.chain_clocks = paged ? kernel.paged_chain_clocks : kernel.chain_clocks;
  if (takes_boxes(kernel, workload)) result.chain_clocks = kernel.box_chain_clocks;
  if (single) {
    take_single_item_costs(kernel, workload, result);
    result.chain_clocks = paged ? kernel.paged_single_item_chain_clocks : kernel.single_item_chain_clocks;
  }
  if (lists == Lists::waiting && kernel.waiting_prologue_seconds >= 0) take_waiting_costs(kernel, result);
  const std::int32_t rows = workload.geometry.group() * std::max(1, workloads::max_query_len(workload));
  const double fewer = std::max(0.0, rows_left(kernel, rows)) * kernel.item_fewer_rows_seconds;
  for (double* seconds : {&result.item_seconds, &result.item_crowded_seconds})
    *seconds = std::max(0.0, *seconds - fewer);
  if (!paged) return result;
  result.prologue_seconds += kernel.paged_seconds;
  result.item_seconds += kernel.paged_item_seconds;
  result.item_crowded_seconds += kernel.paged_item_crowded_seconds;
  // Looking pages up takes instructions, of a CTA's chain and of its SM alike.
  if (kernel.paged_crowded > 0) {
    // A lone CTA that holds its items has that in paged_seconds.
    if (kernel.most_tokens > 0) result.early_clocks += (kernel.paged_crowded - 1) * kernel.crowded_clocks;
    result.crowded_clocks *= kernel.paged_crowded;
  } else if (kernel.chain_clocks > 0) {
    result.crowded_clocks *= kernel.paged_chain_clocks / kernel.chain_clocks;
  }
  return result;
}

namespace {

/// Kernels for pairs run nothing but lists of one item, and leave no merge to a kernel.
std::optional<KernelProfile> pairs_as_run(const KernelProfile& kernel, const Workload& workload, const Plan& plan) {
  const std::optional<schedules::HeadPairs> pairs = schedules::head_pairs(workload, plan);
  if (!pairs || (plan.merge == schedules::MergeKind::kernel && !plan.merges.empty())) return std::nullopt;
  const Workload& seen = pairs->workload;
  if (seen.geometry.group() > kernel.most_rows || !one_item_per_list(seen, pairs->plan)) return std::nullopt;
  return with_costs_of(kernel, seen, Lists::single_items);
}

}  // namespace

std::optional<KernelProfile> as_run(const KernelProfile& kernel, const Workload& workload, const Plan& plan,
                                    std::int64_t resident) {
  if (kernel.kv_heads > 1) return pairs_as_run(kernel, workload, plan);
  if (kernel.config.empty()) return with_tile_of(plan, kernel);
  const bool any_heads = takes_any_heads(kernel);
  const bool single =
      kernel.single_item_prologue_seconds > 0 && (any_heads || workload.geometry.group() <= kernel.most_rows) &&
      one_item_per_list(workload, plan, any_heads) && (kernel.most_tokens == 0 || holds_whole_items(plan, kernel));
  if (kernel.most_tokens > 0 && !single) return std::nullopt;
  const std::int32_t blocks = std::max(1, (most_rows(plan) + kernel.most_rows - 1) / kernel.most_rows);
  if (plan.dispatch == schedules::Dispatch::queue) {
    if (blocks > 1 || (kernel.cluster > 1 && plan.lists() > plan.workers)) return std::nullopt;
  }
  // Lists of several row blocks may come after one another, but not where they hold their items and wait.
  const bool waits = plan.merge == schedules::MergeKind::host_cta;
  const std::int64_t at_once = waits && kernel.most_tokens > 0 ? blocks : 1;
  if (plan.dispatch == schedules::Dispatch::fixed && plan.ctas() * at_once > resident) return std::nullopt;
  KernelProfile result = with_costs_of(kernel, workload,
                                       single  ? Lists::single_items
                                       : waits ? Lists::waiting
                                               : Lists::any);
  const double further = std::max(0.0, queries_per_tile(kernel, plan) - kProbedQueries);
  result.edge_query_seconds = further * kernel.edge_query_seconds;
  result.edge_chunk_seconds = further * kernel.edge_chunk_seconds;
  return result;
}

RowBlocks in_row_blocks(const Plan& plan, std::int32_t rows) {
  const auto blocks_of = [&](const schedules::OutputTile& tile) { return (tile.rows() + rows - 1) / rows; };
  std::int32_t most = 1;
  for (const schedules::OutputTile& tile : plan.outputs) most = std::max(most, blocks_of(tile));
  RowBlocks result;
  Plan& blocks = result.plan;
  blocks = plan;
  blocks.outputs.clear();
  blocks.items.clear();
  blocks.merges.clear();
  blocks.cta_begin = {0};
  const auto output_count = static_cast<std::int32_t>(plan.outputs.size());
  for (std::int32_t block = 0; block < most; ++block) {
    for (schedules::OutputTile tile : plan.outputs) {
      const std::int32_t end = tile.row_end;
      tile.row_begin = std::min(end, tile.row_begin + block * rows);
      tile.row_end = std::min(end, tile.row_begin + rows);
      blocks.outputs.push_back(tile);
    }
    for (schedules::Merge merge : plan.merges) {
      merge.output += block * output_count;
      merge.slot_begin += block * plan.slots();
      merge.slot_end += block * plan.slots();
      blocks.merges.push_back(merge);
    }
  }
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    for (std::int32_t block = 0; block < most; ++block) {
      std::int32_t number = plan.cta_begin[static_cast<std::size_t>(list)];
      for (schedules::Item item : plan.list(list)) {
        // A block without rows has nothing to read.
        if (blocks_of(plan.outputs[static_cast<std::size_t>(item.output)]) <= block) item.kv_end = item.kv_begin;
        item.output += block * output_count;
        if (item.slot >= 0) item.slot += block * plan.slots();
        blocks.items.push_back(item);
        result.item.push_back(number++);
      }
      blocks.cta_begin.push_back(static_cast<std::int32_t>(blocks.items.size()));
    }
  }
  blocks.workers *= most;
  blocks.dispatch = schedules::Dispatch::hardware;  // lists that find no room come after the others
  return result;
}

}  // namespace splitwave::simulator
