// SPDX-License-Identifier: Apache-2.0
#include "schedules/rules/fa2.h"

#include <fmt/core.h>

#include <algorithm>

#include "schedules/cut.h"
#include "schedules/schedule_functions.h"

namespace splitwave::schedules {

Plan fa2(const workloads::Workload& workload, const Grid& grid, std::string_view /*argument*/) {
  const workloads::Geometry& g = workload.geometry;
  const bool paged = workload.kv.layout == workloads::KvLayout::paged;
  const bool swapped = fa2_swaps_groups(g, workloads::max_query_len(workload));
  const TileShape tile = fa2_unsplit_tile(g.head_dim, paged);
  Plan plan = start_plan(grid, tile.block_m, tile.block_n);
  const OutputGrid outputs = cut_outputs(workload, swapped, plan);
  const std::int32_t m_blocks = outputs.most_row_tiles();
  reserve(plan, static_cast<std::int64_t>(plan.outputs.size()),
          std::int64_t{outputs.requests()} * outputs.heads * m_blocks);
  // Grid (mblk, b, h), x fastest (flash_fwd_launch_template.h:64,107). A CTA past the end of its request's queries
  // returns at once: an empty list.
  for (std::int32_t head = 0; head < outputs.heads; ++head) {
    for (std::int32_t request = 0; request < outputs.requests(); ++request) {
      for (std::int32_t m = 0; m < m_blocks; ++m) {
        if (m < outputs.row_tiles(request)) add_item(plan, outputs.output(request, head, m), outputs.kv(request, m));
        end_list(plan);
      }
    }
  }
  assign_slots(plan, MergeKind::none);
  plan.reason = fmt::format(
      "FlashAttention-2 without splits: one CTA of {} rows per (request, {} head); {} CTAs "
      "(csrc/flash_attn/src/flash_fwd_launch_template.h:{})",
      plan.tile_q, swapped ? "KV" : "query", plan.lists(), paged ? 107 : 64);
  return plan;
}

std::string_view fa2_kernel(const workloads::Workload& workload, std::string_view /*argument*/,
                            std::int32_t /*num_splits*/) {
  // Pages force the split kernel (flash_api.cpp, run_mha_fwd with a block table).
  return workload.kv.layout == workloads::KvLayout::paged ? "fa2-split" : "fa2-standard";
}

}  // namespace splitwave::schedules
