// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/machine.h"

namespace splitwave::simulator {

/// SMs of the first `ctas` CTAs of a launch, in launch order: round robin over the GPCs that have room, inside a GPC
/// the SM with the fewest CTAs, lowest number first. At most ctas_per_sm on each SM; `ctas` must not exceed what fits.
void place_first_wave(const Machine& machine, std::int32_t ctas_per_sm, std::int32_t ctas,
                      std::vector<std::int32_t>& sm_of_cta);

}  // namespace splitwave::simulator
