// SPDX-License-Identifier: Apache-2.0
// Clusters of CTAs as workers.
#pragma once

#include <cstdint>

#include "simulator/kernel.h"
#include "simulator/machine.h"

namespace splitwave::simulator {

/// Workers (CTAs or clusters) of the kernel that are resident at a time, `per_sm` CTAs to an SM: a cluster finds its
/// CTAs room within one GPC that has as many SMs as it has CTAs. Of an H200, this is what the CUDA runtime says of
/// every kernel (docs/simulator.md).
std::int32_t resident_workers(const Machine& machine, std::int32_t cluster, std::int32_t per_sm);

/// The machine as clusters meet it: its SMs are groups of `cluster` SMs with room for `per_sm` clusters each, as many
/// as hold all that are resident. cluster 1: the machine itself.
Machine clustered(const Machine& machine, std::int32_t cluster, std::int32_t per_sm);

}  // namespace splitwave::simulator
