// SPDX-License-Identifier: Apache-2.0
// LeanAttention as ONNX Runtime ships it (contrib_ops/cuda/bert/lean_attention).
#include <fmt/core.h>

#include "schedules/rules/lean.h"
#include "schedules/schedule_functions.h"
#include "schedules/tile_stream.h"

namespace splitwave::schedules {

Plan lean_ort(const workloads::Workload& workload, const Grid& grid) {
  Plan plan = start_plan(grid, kLeanTileRows, lean_tile_tokens(workload.geometry.head_dim));
  const OutputGrid outputs = cut_outputs(workload, true, plan);
  const std::int64_t n_blocks = ceil_div(workloads::padded_context_len(workload), plan.tile_kv);
  const std::int32_t m_blocks = outputs.most_row_tiles();
  check_count(std::int64_t{outputs.requests()} * outputs.heads * m_blocks, "output tiles");
  const OrtLeanGrid rule = ort_lean_grid(n_blocks, m_blocks, outputs.requests(), outputs.heads, grid.sms);
  reserve(plan, static_cast<std::int64_t>(plan.outputs.size()) + rule.grid, rule.grid);
  TileStream stream(plan, n_blocks * m_blocks * outputs.requests() * outputs.heads, rule.grid);
  for (std::int32_t request = 0; request < outputs.requests(); ++request) {
    for (std::int32_t head = 0; head < outputs.heads; ++head) {
      for (std::int32_t m = 0; m < m_blocks; ++m) {
        if (m < outputs.row_tiles(request)) {
          stream.add(outputs.output(request, head, m), outputs.kv(request, m), 0, n_blocks);
        } else {
          stream.skip(n_blocks);
        }
      }
    }
  }
  stream.finish();
  assign_slots(plan, MergeKind::host_cta);
  plan.dispatch = Dispatch::fixed;
  plan.num_splits = static_cast<std::int32_t>(rule.num_splits);
  plan.reason = fmt::format(
      "ONNX Runtime's LeanAttention (lean_api.cc:198-233): {} CTAs for {} padded tiles of {} tokens on {} SMs ({}); "
      "planned with the longest context for every request, so CTAs whose tiles lie past a short one's end have less to "
      "do",
      rule.grid, n_blocks * m_blocks * outputs.requests() * outputs.heads, plan.tile_kv, grid.sms,
      n_blocks * m_blocks * outputs.requests() * outputs.heads <= 4 * std::int64_t{grid.sms}
          ? "at least two tiles each, at most 32 CTAs per head"
          : "two per SM, at most 32 per head");
  return plan;
}

}  // namespace splitwave::schedules
