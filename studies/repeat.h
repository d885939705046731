// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "cpu_reference/oracle.h"
#include "reports/record.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// Output and LSE of a workload, all NaN: of `index`-th runs with NaNs of other bits, so that what nobody writes
/// differs from run to run.
cpu_reference::Result<float> poisoned_result(const workloads::Workload& workload, std::int32_t index = 0);

/// Runs a plan `runs` times (2 or more) and compares every output and LSE with the first run's, bit by bit. `run` hears
/// which run it is, from 0.
reports::RecordRepeat repeat_runs(const workloads::Workload& workload, std::int32_t runs,
                                  const std::function<cpu_reference::Result<float>(std::int32_t)>& run);

/// What the merges of these records guarantee of the order of sums, a line each; empty if none was repeated.
std::string merge_orders(std::span<const reports::Record> records);

}  // namespace splitwave::studies
