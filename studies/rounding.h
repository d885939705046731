// SPDX-License-Identifier: Apache-2.0
// Plans with the roundings of real kernels: the error beside what theory expects (docs/numerics.md).
#pragma once

#include <string>
#include <vector>

#include "cpu_reference/numerics/schemes.h"
#include "studies/target.h"
#include "studies/watcher.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// Stands for every rounding.
inline constexpr std::string_view kAllRoundings = "all";

/// The schemes that the names stand for. Throws InputError if one is not known.
std::vector<const cpu_reference::numerics::Scheme*> chosen_roundings(const std::vector<std::string>& names);

/// Work that measure_roundings reports to the watcher for a workload, in bytes that pass through the CPU.
double rounding_work(const workloads::Workload& workload, std::size_t schedules, std::size_t roundings);

/// Runs each schedule's plan for the target with each rounding on this CPU, and gives the watcher one record of each
/// pair: executor "cpu", its rounding, and its error beside the predicted RMSE, but no times. A schedule that cannot
/// serve the workload gives one record with the reason. Throws InputError if the tensors do not fit in memory or a
/// rounding cannot serve the geometry.
void measure_roundings(const workloads::Workload& workload, const std::vector<std::string>& schedules,
                       const std::vector<const cpu_reference::numerics::Scheme*>& roundings, const Target& target,
                       const Watcher& watcher);

}  // namespace splitwave::studies
