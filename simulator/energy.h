// SPDX-License-Identifier: Apache-2.0
// What a call of a plan takes of the device's energy (docs/simulator.md, "Energy").
#pragma once

#include <optional>

#include "schedules/plan.h"
#include "schedules/timeline.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "workloads/workload.h"

namespace splitwave::simulator {

/// FLOP of the matrix instructions with which the kernel runs the plan: 2 x padded rows x (head_dim + value_dim) for
/// each KV token of each item. 0 for a kernel that uses none.
double mma_flops(const workloads::Workload& workload, const schedules::Plan& plan, const KernelProfile& kernel);

/// Joules of one call whose simulation gave the timeline, calls of it one after the other: no more than the device's
/// power limit allows. Nothing if the machine has no energy constants, or if the kernel multiplies on CUDA cores, whose
/// energy no constant knows.
std::optional<schedules::Energy> energy(const workloads::Workload& workload, const schedules::Plan& plan,
                                        const schedules::Timeline& timeline, const Machine& machine,
                                        const KernelProfile& kernel);

/// Share of its clock that a device keeps which lowers it until such calls take no more than its power limit: what is
/// above idle goes with the cube of the clock, as the voltage goes with it. 1 where nothing is above the limit, or
/// nothing known.
double clock_share(const workloads::Workload& workload, const schedules::Plan& plan,
                   const schedules::Timeline& timeline, const Machine& machine, const KernelProfile& kernel);

}  // namespace splitwave::simulator
