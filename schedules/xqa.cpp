// SPDX-License-Identifier: Apache-2.0
// XQA, TensorRT-LLM's decode kernel for f16 and bf16 K and V, as FlashInfer ships it (csrc/xqa/mha.cu), with the rule
// of either library for the number of sub-sequences.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "schedules/cut.h"
#include "schedules/rules/xqa.h"
#include "schedules/schedule_functions.h"

namespace splitwave::schedules {
namespace {

/// Width of the page table in tokens.
std::int64_t max_seq_len(const workloads::Workload& workload) {
  const std::int64_t page =
      workload.kv.layout == workloads::KvLayout::paged ? std::int64_t{workload.kv.page_size} : kXqaPageSize;
  return ceil_div(workloads::padded_context_len(workload), page) * page;
}

std::int64_t longest_context(const workloads::Workload& workload) {
  std::int64_t longest = 0;
  for (const workloads::Request& request : workload.requests) {
    longest = std::max<std::int64_t>(longest, request.context_len);
  }
  return longest;
}

/// One query token: the whole group in one tile; several: tiles of 32 rows (mha.cu:82-89).
std::int32_t tile_rows(const workloads::Workload& workload) {
  if (workloads::max_query_len(workload) > 1) return kXqaRowsPerBlock;
  return static_cast<std::int32_t>(ceil_div(workload.geometry.group(), kXqaRowPadding)) * kXqaRowPadding;
}

struct SubSequences {
  std::int32_t num_splits = 1;
  std::int64_t tokens = 0;  ///< that the rule looks at
  std::string_view by;
};

SubSequences decide(const workloads::Workload& workload, const Grid& grid, std::string_view argument,
                    std::int32_t cta_tile) {
  const auto batch = static_cast<std::int64_t>(workload.requests.size());
  const std::int64_t heads = workload.geometry.kv_heads;
  if (argument.empty()) {
    const std::int64_t tokens = max_seq_len(workload);
    return {xqa_num_sub_sequences(batch, heads, tokens, cta_tile, grid.sms), tokens,
            "by FlashInfer's rule (csrc/xqa/mha.cu:3123-3130)"};
  }
  const std::int64_t tokens = longest_context(workload);
  if (argument == "trtllm") {
    return {trtllm_multi_block_count(batch, heads, tokens, grid.sms), tokens,
            "by TensorRT-LLM's rule (decoderXQAImplCommon.h:360-395)"};
  }
  constexpr std::int64_t most = 65535;
  return {parse_count("xqa", argument, most, "trtllm, a number of sub-sequences from 1 to 65535, or nothing"), tokens,
          "with sub-sequences as given"};
}

/// The CTAs of one output. The kernel deals CTA tiles in turn, tile t to sub-sequence t mod n (mha.cu:1802-1804); a
/// plan knows ranges only. Each sub-sequence gets as many tiles and tokens as the kernel gives it, in one range: the
/// one that the last tile falls to has the last range. Sub-sequences beyond the tiles have nothing.
void add_sub_sequences(Plan& plan, std::int32_t output, const workloads::KvRange& range, std::int32_t count) {
  const TileRange tiles = tile_range(range, plan.tile_kv);
  const std::int64_t used = std::clamp<std::int64_t>(tiles.count(), 1, count);
  const std::int64_t last = tiles.count() > 0 ? (tiles.count() - 1) % count : 0;
  const auto tiles_of = [&](std::int64_t part) {
    return ceil_div(std::max<std::int64_t>(tiles.count() - part, 0), count);
  };
  const std::int64_t first_of_last = tiles.last - tiles_of(last);
  std::int64_t next = tiles.first;
  for (std::int64_t part = 0; part < count; ++part) {
    if (part == last) {
      add_item(plan, output, clip(range, first_of_last * plan.tile_kv, tiles.last * plan.tile_kv));
    } else if (part < used) {
      add_item(plan, output, clip(range, next * plan.tile_kv, (next + tiles_of(part)) * plan.tile_kv));
      next += tiles_of(part);
    }
    end_list(plan);
  }
}

/// Slots ascend with the ranges, also where a sub-sequence before others has the last one. An output's items are
/// neighbours.
void sort_slots(Plan& plan) {
  std::vector<std::size_t> order;
  for (std::size_t begin = 0; begin < plan.items.size();) {
    std::size_t end = begin + 1;
    while (end < plan.items.size() && plan.items[end].output == plan.items[begin].output) ++end;
    const std::int32_t first_slot = plan.items[begin].slot;
    order.resize(end - begin);
    std::iota(order.begin(), order.end(), begin);
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return plan.items[a].kv_begin < plan.items[b].kv_begin; });
    for (std::size_t rank = 0; first_slot >= 0 && rank < order.size(); ++rank) {
      plan.items[order[rank]].slot = first_slot + static_cast<std::int32_t>(rank);
    }
    begin = end;
  }
}

/// Grid (sub-sequences, KV heads x row tiles, requests), x fastest (mha.cu:3130-3135).
void add_grid(Plan& plan, const OutputGrid& outputs) {
  const std::int32_t m_blocks = outputs.most_row_tiles();
  const std::int64_t lists = std::int64_t{outputs.requests()} * outputs.heads * m_blocks;
  check_count(lists, "CTAs");
  reserve(plan, static_cast<std::int64_t>(plan.outputs.size()) * plan.num_splits, lists * plan.num_splits);
  for (std::int32_t request = 0; request < outputs.requests(); ++request) {
    for (std::int32_t head = 0; head < outputs.heads; ++head) {
      for (std::int32_t m = 0; m < m_blocks; ++m) {
        if (m < outputs.row_tiles(request)) {
          add_sub_sequences(plan, outputs.output(request, head, m), outputs.kv(request, m), plan.num_splits);
        } else {
          for (std::int32_t part = 0; part < plan.num_splits; ++part) end_list(plan);
        }
      }
    }
  }
  assign_slots(plan, MergeKind::last_arriver);
  sort_slots(plan);
}

}  // namespace

Plan xqa(const workloads::Workload& workload, const Grid& grid, std::string_view argument) {
  Plan plan = start_plan(grid, tile_rows(workload), kXqaCtaTile);
  const SubSequences decision = decide(workload, grid, argument, plan.tile_kv);
  plan.num_splits = decision.num_splits;
  add_grid(plan, cut_outputs(workload, true, plan));
  plan.reason = fmt::format("XQA {}: {} sub-sequences ({} SMs, {} requests x {} KV heads, {} tokens, CTA tiles of {})",
                            decision.by, plan.num_splits, grid.sms, workload.requests.size(),
                            workload.geometry.kv_heads, decision.tokens, plan.tile_kv);
  return plan;
}

std::string_view xqa_kernel(const workloads::Workload& /*workload*/, std::string_view /*argument*/,
                            std::int32_t /*num_splits*/) {
  return "xqa";
}

}  // namespace splitwave::schedules
