// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "schedules/grid.h"
#include "schedules/plan.h"

namespace splitwave::schedules {

/// The plan's summary as one JSON object: schedule, num_splits, splits_per_request, ctas, items, merges, waves,
/// quantization_efficiency, tile_q, tile_kv, reason and more (docs/schedules.md). With `full`, also the arrays
/// outputs, item_list, cta_begin and merge_list, from which plan_from_json rebuilds the plan.
std::string plan_to_json(const workloads::Workload& workload, const Plan& plan, const Grid& grid, bool full);

/// Reads a full plan back and validates it against the workload. Throws InputError naming file, key and value.
Plan plan_from_json(const workloads::Workload& workload, const std::string& text, const std::string& where);

}  // namespace splitwave::schedules
