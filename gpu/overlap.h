// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/kernel_config.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// Whether it pays to let the plan's launch begin before the kernel before it has ended (programmatic dependent
/// launch): in small problems, which wait for latencies, and where the grid fills the device. A grid that leaves room
/// lets the next one in beside it, on SMs that then have two to serve: measured up to 1.3 times slower.
bool overlap_pays(const workloads::Workload& workload, const schedules::Plan& plan, const Residency& where);

}  // namespace splitwave::gpu
