// SPDX-License-Identifier: Apache-2.0
// Workloads whose tensors no memory holds: a part of every plan is computed here, and checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "studies/measure.h"

namespace splitwave::studies {

/// Most KV heads of requests that users may ask for.
inline constexpr std::int64_t kMostSampledGroups = 1 << 20;

/// Plans the whole workload for the CPU by each schedule, runs on it what the plan does for `groups` KV heads of
/// requests (workloads::sample_groups), not timed, and checks their outputs against the oracle. Gives the watcher one
/// record per schedule, or one with the reason if the schedule cannot serve the workload. Throws InputError if the
/// tensors of the sample do not fit in memory.
void measure_sample(const workloads::Workload& workload, const std::vector<std::string>& schedules, const Target& cpu,
                    std::int64_t groups, const MeasureOutput& output);

/// Work that it reports to the watcher.
double sample_work(const workloads::Workload& workload, std::size_t schedules, std::int64_t groups);

}  // namespace splitwave::studies
