// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedules/grid.h"
#include "schedules/plan.h"
#include "schedules/timeline.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "simulator/work.h"
#include "workloads/workload.h"

namespace splitwave::simulator {

/// Time of a valid plan on the machine: the fluid model of docs/simulator.md, event-driven and deterministic.
/// Throws InputError if the kernel does not fit on an SM, or if a plan whose CTAs must all be resident
/// (Dispatch::fixed) has more of them than are.
schedules::Timeline simulate(const workloads::Workload& workload, const schedules::Plan& plan, const Machine& machine,
                             const KernelProfile& kernel, const SimulateOptions& options = {});

/// Whether a launch of the plan on one of the project's own kernels should ask L2 to keep K and V, as its prediction
/// takes it to (gpu::LaunchOptions::keep_kv_in_l2): if what lists read again would stay. Else it should ask L2 to drop
/// them first. Throws as simulate() does.
bool keeps_kv_in_l2(const workloads::Workload& workload, const schedules::Plan& plan, const Machine& machine,
                    const KernelProfile& kernel, const SimulateOptions& options = {});

/// The grid that a schedule sees on the machine with the kernel; ctas_per_sm 0 means the kernel's occupancy. Throws
/// InputError if not even one CTA fits on an SM, or if more are asked for than fit.
schedules::Grid grid_of(const Machine& machine, const KernelProfile& kernel, std::int32_t ctas_per_sm = 0);

}  // namespace splitwave::simulator
