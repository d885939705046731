// SPDX-License-Identifier: Apache-2.0
// Every schedule, in one table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "schedules/grid.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::schedules {

/// A schedule: a pure function. `argument` is what follows the colon of its name ("4" of "fixed-split:4"), or empty.
/// Throws base::InputError if the argument is not allowed or the geometry is outside the rule.
using ScheduleFunction = Plan (*)(const workloads::Workload& workload, const Grid& grid, std::string_view argument);

struct Schedule {
  std::string_view name;       ///< part before the colon
  std::string_view arguments;  ///< what may follow the colon, for people: "N, fa2, fa2-2.5.6 or fa3"; empty if nothing
  std::string_view summary;    ///< one line
  std::string_view source;     ///< paper or repository file:line of the rule
  /// Occupancy that the rule's own kernel reaches or assumes (CTAs per SM), for callers without a kernel profile.
  int native_ctas_per_sm;
  ScheduleFunction make;
};

/// The table, in the order of docs/schedules.md.
std::span<const Schedule> all();

/// The plan of `name` ("lean", "fixed-split:4", ...). Throws InputError with the nearest names if it is unknown. The
/// plan is valid (validate.h) for every valid workload and every grid with positive sms and ctas_per_sm.
Plan make_plan(std::string_view name, const workloads::Workload& workload, const Grid& grid);

/// Table entry of `name` (the part before a colon decides). Throws InputError with the nearest names if it is unknown.
const Schedule& find(std::string_view name);

/// Full names that comparisons run by default: the main schedules, each once.
std::vector<std::string> default_names();

}  // namespace splitwave::schedules
