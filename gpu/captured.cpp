// SPDX-License-Identifier: Apache-2.0
#include "gpu/captured.h"

#include <fmt/format.h>

#include <cstring>
#include <type_traits>

#include "base/error.h"
#include "gpu/key_map.h"

namespace splitwave::gpu {
namespace {

bool same_grid(const dim3& a, const dim3& b) {
  return a.x == b.x && a.y == b.y && a.z == b.z;
}

/// Cut into the same parts, without a table. Both are 0 where there is one.
bool same_parts(const UniformPlan& a, const UniformPlan& b) {
  static_assert(std::has_unique_object_representations_v<UniformPlan>);
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

/// The same cache, masks and scale.
bool same_geometry(const DecodeParams& a, const DecodeParams& b) {
  return a.token_stride == b.token_stride && a.head_stride == b.head_stride && a.page_stride == b.page_stride &&
         a.page_size == b.page_size && a.query_heads == b.query_heads && a.scale_log2 == b.scale_log2 &&
         a.causal == b.causal && a.window == b.window && a.cluster_shift == b.cluster_shift;
}

/// A queue's kernels know how many lists there are; others end at a list without items.
bool same_dispatch(const DecodeParams& a, const DecodeParams& b) {
  return a.workers == b.workers && (a.workers == 0 || a.lists == b.lists);
}

/// Where launches write besides results. What a plan before had there is gone.
bool same_records(const DecodeParams& a, const DecodeParams& b) {
  return a.test_hooks == b.test_hooks && a.visits == b.visits && a.timeline.ctas == b.timeline.ctas &&
         a.timeline.items == b.timeline.items && a.timeline.merges == b.timeline.merges;
}

bool same_merge_kernel(const Launches& a, const Launches& b) {
  if (a.separate_merge != b.separate_merge) return false;
  return !a.separate_merge || (a.merge.function == b.merge.function && same_grid(a.merge.grid, b.merge.grid) &&
                               a.merge_warps_shift == b.merge_warps_shift);
}

/// The same kernels merge what is in parts. Where nothing is, any of a config's that take tables will do.
bool same_kernels(const Launches& captured, const Prepared& next) {
  if (!(captured.config == next.config)) return false;
  if (!next.merges && captured.replayable && next.replayable) return true;
  return captured.decode.function == next.decode.function && captured.params.merge == next.params.merge &&
         same_merge_kernel(captured, next);
}

/// What the captured launches do otherwise than the plan's, in words; null if nothing.
const char* difference(const Launches& captured, const Prepared& next) {
  const DecodeParams& a = captured.params;
  const DecodeParams& b = next.params;
  if (!same_parts(a.uniform, b.uniform)) return "cut all outputs alike, without a table, in other places";
  if (!same_geometry(a, b)) return "are for another cache, mask or scale";
  if (!same_dispatch(a, b)) return "take another number of lists from a queue";
  if (!same_kernels(captured, next)) return "run other kernels or merge otherwise";
  if (!same_records(a, b)) return "count or record elsewhere";
  return nullptr;
}

}  // namespace

void require_replayable(const Captured& captured, const Prepared& next, bool fits_boxes) {
  const dim3& had = captured.decode.grid;
  const dim3& has = next.decode.grid;
  if (had.x != has.x || (had.y != has.y && next.params.lists > 0) || had.z != has.z) {
    throw base::InputError(
        fmt::format("the captured launches have {} x {} x {} CTAs, the plan's {} x {} x {} (one for each list, and at "
                    "least half of the capacity's items): capture them again",
                    had.x, had.y, had.z, has.x, has.y, has.z));
  }
  if (const char* what = difference(captured, next)) {
    throw base::InputError(fmt::format("the captured launches {} than the plan's: capture them again", what));
  }
  if (captured.boxes && !fits_boxes) {
    throw base::InputError(fmt::format(
        "the captured launches take whole tiles of a page, and an item of the plan does not begin at a multiple of {} "
        "tokens: capture them again",
        kBoxTokens));
  }
}

}  // namespace splitwave::gpu
