// SPDX-License-Identifier: Apache-2.0
// What SMs that hold as many CTAs as fit take longer to start them, by the probes of such SMs.
#pragma once

#include <optional>

#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "studies/kernel_constants.h"

namespace splitwave::studies {

/// By what the probe of full SMs took longer than the simulator predicts for it with the config's other constants, in
/// seconds, at least 0: `family` has them, and full_sm of none. Nothing if the config has no such probe, paged or not,
/// or the machine does not run it.
std::optional<double> full_sm_seconds(const ProbedConfig& config, bool paged, const simulator::KernelFamily& family,
                                      const simulator::Machine& machine);

}  // namespace splitwave::studies
