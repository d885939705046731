// SPDX-License-Identifier: Apache-2.0
// FlashAttention-4 on compute capability 10: one CTA per output tile and split (flash_attn/cute).
#include <fmt/core.h>

#include <algorithm>

#include "schedules/cut.h"
#include "schedules/rules/fa4.h"
#include "schedules/schedule_functions.h"

namespace splitwave::schedules {
namespace {

/// KV tokens that the rule supposes a tile to read (interface.py:349-362). A bound of 0 counts as none there, so that a
/// causal window does not shorten them.
std::int64_t loaded_tokens(const workloads::Workload& workload, std::int32_t block_m) {
  const workloads::Geometry& g = workload.geometry;
  const std::int64_t seqlen_k = padded_seqlen_k(workload);
  if (!g.window || g.causal || *g.window <= 1) return seqlen_k;
  const std::int64_t bound = std::int64_t{*g.window} - 1;
  return std::min(seqlen_k, 2 * bound + 1 + block_m);
}

}  // namespace

Plan fa4(const workloads::Workload& workload, const Grid& grid, std::string_view argument) {
  const workloads::Geometry& g = workload.geometry;
  const bool packed = g.group() > 1;
  const std::int32_t query_len = workloads::max_query_len(workload);
  const std::int64_t rows = packed ? packed_rows(g, query_len) : query_len;
  Plan plan = start_plan(grid, fa4_cta_rows(rows), kFa4BlockN);
  const std::int64_t heads = packed ? g.kv_heads : g.query_heads;
  const std::int64_t tiles = static_cast<std::int64_t>(workload.requests.size()) * heads * ceil_div(rows, plan.tile_q);
  const std::int64_t blocks = ceil_div(loaded_tokens(workload, kFa4BlockM), plan.tile_kv);
  const SplitChoice choice = fa4_num_splits(tiles, grid.sms, blocks);
  constexpr std::int64_t most = 256;  // flash_fwd_combine.py:88
  plan.num_splits =
      argument.empty() ? choice.num_splits : parse_count("fa4", argument, most, "splits from 1 to 256, or nothing");
  add_equal_parts(plan, cut_outputs(workload, packed, plan));
  plan.reason = argument.empty()
                    ? fmt::format(
                          "FlashAttention-4's rule (flash_attn/cute/interface.py:276-290): {} because {} ({} "
                          "tiles, {} SMs, {} KV blocks)",
                          plan.num_splits, choice.because, tiles, grid.sms, blocks)
                    : fmt::format("FlashAttention-4 with {} splits, as given", plan.num_splits);
  return plan;
}

std::string_view fa4_kernel(const workloads::Workload& /*workload*/, std::string_view /*argument*/,
                            std::int32_t /*num_splits*/) {
  return "fa4";
}

}  // namespace splitwave::schedules
