// SPDX-License-Identifier: Apache-2.0
// Every schedule, in one table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/grid.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::schedules {

/// A schedule: a pure function. `argument` is what follows the colon of its name ("4" of "fixed-split:4"), or empty.
/// Throws base::InputError if the argument is not allowed or the geometry is outside the rule.
using ScheduleFunction = Plan (*)(const workloads::Workload& workload, const Grid& grid, std::string_view argument);

/// Name of the profile (a file of simulator/kernels/) of the kernel that the schedule's own library launches for the
/// workload. num_splits: of the plan, or 0 while it is not made yet. The profile says on which hardware, and for which
/// dtypes and head dims, the kernel exists.
using KernelFunction = std::string_view (*)(const workloads::Workload& workload, std::string_view argument,
                                            std::int32_t num_splits);

/// Which workloads a schedule is compared on when nobody names schedules.
enum class Compared { never, always, latent_attention };

/// All that is known of a schedule outside its own file.
struct Schedule {
  std::string_view name;       ///< part before the colon
  std::string_view arguments;  ///< what may follow the colon, for people: "N, fa2, fa2-2.5.6 or fa3"; empty if nothing
  std::string_view summary;    ///< one line
  std::string_view source;     ///< paper or repository file:line of the rule
  ScheduleFunction make = nullptr;
  KernelFunction kernel = nullptr;
  Compared compared = Compared::never;
  std::string_view compared_as;  ///< full name that comparisons use, "fixed-split:fa2"; empty if never
  /// Full name that runs as it is, rule and kernel, with a released library ("lean:ort"); empty if the schedule is a
  /// paper's, a proposal's or splitwave's own.
  std::string_view installed_as = {};
};

/// The table, in the order of docs/schedules.md, with what add() added at its end.
std::span<const Schedule> all();

/// Adds a schedule of one's own to the table: from then on everything that takes a schedule's name takes this one. Its
/// texts must outlive the program. Not safe beside other calls of this header. Throws std::logic_error if the name is
/// taken, empty or holds one of ":+,", or if a function is missing.
void add(const Schedule& schedule);

/// The plan of `name` ("lean", "fixed-split:4", "fixed-split:4+last_arriver": merge_choice.h). Throws InputError with
/// the nearest names if it is unknown. The plan is valid (validate.h) for every valid workload and every grid with
/// positive sms and ctas_per_sm.
Plan make_plan(std::string_view name, const workloads::Workload& workload, const Grid& grid);

/// Table entry of `name` (the part before a colon or a plus decides). Throws InputError with the nearest names if it is
/// unknown.
const Schedule& find(std::string_view name);

/// Name of the kernel profile for a full schedule name, see KernelFunction; with a "+MERGE" that of splitwave's own
/// kernel, since no library's merges in another way than its own. Throws InputError as find() does.
std::string_view kernel_of(std::string_view name, const workloads::Workload& workload, std::int32_t num_splits = 0);

/// Full names that comparisons of these workloads run by default, in the order of the table; without workloads those
/// that are always compared.
std::vector<std::string> default_names(std::span<const workloads::Workload> workloads = {});

/// Full names that people can install (Schedule::installed_as), in the order of the table.
std::vector<std::string> installable_names();

}  // namespace splitwave::schedules
