// SPDX-License-Identifier: Apache-2.0
// The algorithms of the papers, side by side on one workload.
#pragma once

#include <string>
#include <vector>

#include "cpu_reference/algorithms/algorithms.h"
#include "studies/measure.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// Stands for every algorithm with its standard values.
inline constexpr std::string_view kAllAlgorithms = "all";

/// The algorithms that the names stand for. Throws InputError if one is not known.
std::vector<cpu_reference::algorithms::Call> chosen_algorithms(const std::vector<std::string>& names);

/// Work that measure_algorithms reports to the watcher for a workload, in bytes that pass through the CPU.
double algorithm_work(const workloads::Workload& workload, std::size_t algorithms, std::int32_t samples);

/// Runs the workload by each algorithm `samples` times on this CPU, checks every output against the oracle (which is
/// computed once), and gives the watcher one record per algorithm: executor "cpu", its schedule the algorithm's name
/// with every value, `io` by its IO model. Throws InputError if the tensors do not fit in memory.
void measure_algorithms(const workloads::Workload& workload,
                        const std::vector<cpu_reference::algorithms::Call>& algorithms, std::int32_t samples,
                        const MeasureOutput& output);

}  // namespace splitwave::studies
