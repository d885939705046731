// SPDX-License-Identifier: Apache-2.0
// What of a target needs a computer to measure: apart, so that a program that cannot, a page in a browser, does
// without.
#pragma once

#include "studies/target.h"

namespace splitwave::studies {

/// machine_for() of this computer's CPU.
simulator::Machine cpu_for(const Target& target, const workloads::Workload& workload, const schedules::Plan& plan);

}  // namespace splitwave::studies
