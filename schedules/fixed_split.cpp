// SPDX-License-Identifier: Apache-2.0
// FlashDecoding: every output cut in the same number of parts, joined by a second kernel.
#include <fmt/core.h>

#include "schedules/cut.h"
#include "schedules/fa3_call.h"
#include "schedules/rules/fa2.h"
#include "schedules/schedule_functions.h"

namespace splitwave::schedules {
namespace {

constexpr std::int64_t kMostSplits = 65535;  // gridDim.y
constexpr std::string_view kAllowed = "a number of splits from 1 to 65535, fa2, fa2-2.5.6 or fa3";

struct Decision {
  std::int32_t num_splits = 1;
  std::string reason;
};

/// FA2's rule on the padded cache, or the number given.
Decision decide(const workloads::Workload& workload, const Grid& grid, std::string_view argument, bool swapped,
                std::int64_t num_n_blocks) {
  if (argument != "fa2" && argument != "fa2-2.5.6") {
    const std::int32_t given = parse_count("fixed-split", argument, kMostSplits, kAllowed);
    return {given, fmt::format("FlashDecoding with {} splits, as given", given)};
  }
  const workloads::Geometry& g = workload.geometry;
  const std::int32_t block_m = grid.tile_q > 0 ? grid.tile_q : kFa2SplitBlockM;
  const std::int64_t rows = swapped ? g.group() : workloads::max_query_len(workload);
  const std::int64_t heads = swapped ? g.kv_heads : g.query_heads;
  const std::int64_t tiles = static_cast<std::int64_t>(workload.requests.size()) * heads * ceil_div(rows, block_m);
  const std::int32_t slots = argument == "fa2" ? 2 * grid.sms : grid.sms;
  const SplitChoice choice = fa2_num_splits(tiles, slots, num_n_blocks, 128);
  return {choice.num_splits,
          fmt::format("{} (csrc/flash_attn/flash_api.cpp:281-347): {} because {} ({} tiles, {} slots, {} KV blocks of "
                      "the padded cache)",
                      argument == "fa2" ? "FlashAttention-2's rule" : "FlashAttention-2's rule up to v2.5.6",
                      choice.num_splits, choice.because, tiles, slots, num_n_blocks)};
}

/// Grid (mblk, num_splits, b*h), x fastest; blocks per split from the padded length, so that short rows leave CTAs
/// empty (flash_fwd_launch_template.h:107, flash_fwd_kernel.h:535-545).
void add_padded_grid(Plan& plan, const OutputGrid& outputs, std::int64_t num_n_blocks) {
  const std::int32_t m_blocks = outputs.most_row_tiles();
  const std::int64_t unsplit = std::int64_t{outputs.requests()} * outputs.heads * m_blocks;
  check_count(unsplit, "CTAs");
  reserve(plan, static_cast<std::int64_t>(plan.outputs.size()) * plan.num_splits, unsplit * plan.num_splits);
  const std::int64_t tokens_per_split = ceil_div(num_n_blocks, plan.num_splits) * plan.tile_kv;
  for (std::int32_t request = 0; request < outputs.requests(); ++request) {
    for (std::int32_t head = 0; head < outputs.heads; ++head) {
      for (std::int32_t split = 0; split < plan.num_splits; ++split) {
        for (std::int32_t m = 0; m < m_blocks; ++m) {
          if (m < outputs.row_tiles(request)) {
            add_item(plan, outputs.output(request, head, m),
                     clip(outputs.kv(request, m), split * tokens_per_split, (split + 1) * tokens_per_split));
          }
          end_list(plan);
        }
      }
    }
  }
  assign_slots(plan, MergeKind::kernel, MergeKind::kernel);
}

/// FA3 without seqused_k: its static rule on the whole batch, one CTA per (m block, head and split, request)
/// (SingleTileScheduler, tile_scheduler.hpp:37-130), each row cut by its own blocks (block.h:49-54).
Plan by_fa3_rule(const workloads::Workload& workload, const Grid& grid) {
  const Fa3Call call = fa3_call(workload, grid, false);
  const SplitChoice choice = fa3_num_splits(call.split);
  Plan plan = start_plan(grid, call.tile.block_m, call.tile.block_n);
  plan.num_splits = choice.num_splits;
  add_equal_parts(plan, cut_outputs(workload, fa3_packs(workload.geometry, call, plan.num_splits), plan));
  plan.reason = fmt::format(
      "FlashAttention-3's static rule (hopper/heuristics.h:25-59): {} because {} ({} tiles of the whole batch, {} SMs, "
      "{} KV blocks of {} tokens)",
      choice.num_splits, choice.because, call.split.total_mblocks, call.split.num_sms, call.split.num_n_blocks,
      plan.tile_kv);
  return plan;
}

}  // namespace

Plan fixed_split(const workloads::Workload& workload, const Grid& grid, std::string_view argument) {
  if (argument == "fa3") return by_fa3_rule(workload, grid);
  const workloads::Geometry& g = workload.geometry;
  const bool swapped = fa2_swaps_groups(g, workloads::max_query_len(workload));
  Plan plan = start_plan(grid, kFa2SplitBlockM, fa2_split_block_n(g.head_dim));
  const std::int64_t num_n_blocks = ceil_div(padded_seqlen_k(workload), plan.tile_kv);
  Decision decision = decide(workload, grid, argument, swapped, num_n_blocks);
  if (decision.num_splits == 1) {
    plan = fa2(workload, grid, "");  // flash_api.cpp:261-273: one split runs the unsplit kernel
    plan.reason = decision.reason + "; " + plan.reason;
    return plan;
  }
  plan.num_splits = decision.num_splits;
  plan.reason = std::move(decision.reason);
  add_padded_grid(plan, cut_outputs(workload, swapped, plan), num_n_blocks);
  return plan;
}

std::string_view fixed_split_kernel(const workloads::Workload& workload, std::string_view argument,
                                    std::int32_t num_splits) {
  if (argument == "fa3") return fa3_kernel(workload, argument, num_splits);
  // flash_api.cpp:261-273: one split runs the unsplit kernel.
  return num_splits == 1 ? fa2_kernel(workload, argument, num_splits) : "fa2-split";
}

}  // namespace splitwave::schedules
