// SPDX-License-Identifier: Apache-2.0
// Another merge than the schedule's own: the "+last_arriver" of "fixed-split:4+last_arriver".
#pragma once

#include <optional>
#include <string_view>

#include "schedules/grid.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::schedules {

/// What may follow the plus of a schedule's name.
inline constexpr std::string_view kMergeNames = "kernel, host_cta or last_arriver";

/// A schedule's name without its "+MERGE": "fixed-split:4" of "fixed-split:4+last_arriver".
std::string_view without_merge(std::string_view name);

/// The merge that a schedule's name asks for; nothing if it leaves the schedule its own. Throws InputError for a word
/// after the plus that is not one of kMergeNames.
std::optional<MergeKind> merge_of(std::string_view name);

/// The plan with its outputs merged by `merge` (not none) instead of the schedule's own way, and "+MERGE" in its name
/// and its reason. The cuts stay; empty items, which only a merge kernel may read, and the CTAs launched for nothing
/// else are left out of other merges; CTAs that wait (host_cta) become a grid of fixed dispatch. A plan that splits
/// nothing then merges nothing. The plan must be valid, and is so afterwards. Throws InputError where CTAs would wait
/// for others that are not resident on the grid, or while others wait for them.
Plan with_merge(const workloads::Workload& workload, Plan plan, MergeKind merge, const Grid& grid);

}  // namespace splitwave::schedules
