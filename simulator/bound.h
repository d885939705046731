// SPDX-License-Identifier: Apache-2.0
// A time below which a plan cannot end, for a fraction of what simulating it costs.
#pragma once

#include "schedules/plan.h"
#include "simulator/simulate.h"

namespace splitwave::simulator {

/// A time that simulate() with the same arguments is never below: launch, prologue, all bytes at the least of the
/// limits of DRAM, L2 and the SMs, or the longest list alone on the machine, and a merge kernel. Seconds. A choice that
/// cannot be the fastest by this bound need not be simulated. 0 for a CPU.
double least_seconds(const workloads::Workload& workload, const schedules::Plan& plan, const Machine& machine,
                     const KernelProfile& kernel, const SimulateOptions& options = {});

}  // namespace splitwave::simulator
