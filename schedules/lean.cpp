// SPDX-License-Identifier: Apache-2.0
// LeanAttention by the paper's Algorithm 1 (arXiv 2405.10480).
#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "schedules/rules/lean.h"
#include "schedules/schedule_functions.h"
#include "schedules/tile_stream.h"

namespace splitwave::schedules {
namespace {

/// Most items of one output of a split plan.
std::int32_t most_pieces(const Plan& plan) {
  std::int32_t most = 1;
  for (const Merge& merge : plan.merges) most = std::max(most, merge.slot_end - merge.slot_begin);
  return most;
}

/// Lines 7-9: tiles in the order request, head, rows, context. A ragged batch's cumulative lengths make this the same
/// for unequal contexts (section 4.3, "Lean Ragged Batching").
Plan by_paper(const workloads::Workload& workload, const Grid& grid) {
  Plan plan = start_plan(grid, kLeanTileRows, lean_tile_tokens(workload.geometry.head_dim));
  const OutputGrid outputs = cut_outputs(workload, true, plan);
  std::int64_t total = 0;
  for (const workloads::KvRange& range : outputs.range) total += tile_range(range, plan.tile_kv).count();
  total *= outputs.heads;
  const std::int64_t ctas = lean_grid(total, static_cast<std::int64_t>(plan.outputs.size()), grid.resident());
  reserve(plan, static_cast<std::int64_t>(plan.outputs.size()) + ctas, ctas);
  TileStream stream(plan, total, ctas);
  for (std::int32_t request = 0; request < outputs.requests(); ++request) {
    for (std::int32_t head = 0; head < outputs.heads; ++head) {
      for (std::int32_t m = 0; m < outputs.row_tiles(request); ++m) {
        const TileRange tiles = tile_range(outputs.kv(request, m), plan.tile_kv);
        stream.add(outputs.output(request, head, m), outputs.kv(request, m), tiles.first, tiles.count());
      }
    }
  }
  stream.finish();
  assign_slots(plan, MergeKind::host_cta);
  plan.dispatch = Dispatch::fixed;
  plan.num_splits = most_pieces(plan);
  plan.reason = fmt::format(
      "LeanAttention (arXiv 2405.10480, Algorithm 1): {} tiles of {} tokens over {} CTAs{}; tiles per CTA differ by at "
      "most one, and the CTA with an output's first tile merges it",
      total, plan.tile_kv, ctas,
      ctas < grid.resident() ? fmt::format(", fewer than the {} resident so that each has two tiles", grid.resident())
                             : ", all that are resident");
  return plan;
}

}  // namespace

Plan lean(const workloads::Workload& workload, const Grid& grid, std::string_view argument) {
  if (argument.empty()) return by_paper(workload, grid);
  if (argument == "ort") return lean_ort(workload, grid);
  throw base::InputError(
      fmt::format("schedule lean: argument '{}' is not allowed; allowed is ort, or nothing", argument));
}

std::string_view lean_kernel(const workloads::Workload& /*workload*/, std::string_view argument,
                             std::int32_t /*num_splits*/) {
  // The paper's kernel is not public; ONNX Runtime's is.
  return argument == "ort" ? "ort-lean" : "splitwave";
}

}  // namespace splitwave::schedules
