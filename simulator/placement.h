// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "schedules/plan.h"
#include "simulator/machine.h"

namespace splitwave::simulator {

/// SMs of the first `ctas` CTAs of a launch, in launch order: round robin over the GPCs that have room, inside a GPC
/// the SM with the fewest CTAs, lowest number first. At most ctas_per_sm on each SM; `ctas` must not exceed what fits.
void place_first_wave(const Machine& machine, std::int32_t ctas_per_sm, std::int32_t ctas,
                      std::vector<std::int32_t>& sm_of_cta);

/// The same of a machine whose SMs are known by number, as the hardware deals CTAs out (docs/measuring.md, "What the
/// chip shows besides"): GPC by GPC from `first_gpc` on, after the SMs that clusters cannot use, so that CTAs that
/// follow each other come to one GPC. Which GPC is first depends on the launches before.
void place_by_gpc(const Machine& machine, std::int32_t ctas, std::int32_t first_gpc,
                  std::vector<std::int32_t>& sm_of_cta);

/// How many SMs each GPC, port or side has, if it has any: group_of_sm is its number, SM by SM.
std::vector<std::int32_t> group_sizes(std::span<const std::int32_t> group_of_sm);

/// GPCs a third of them apart: placements from these on stand for all.
std::array<std::int32_t, 3> first_gpcs(const Machine& machine);

/// Whether lists that follow each other among the first `ctas`, and so come to one GPC or side of the chip, have so
/// much of the plan's tokens that these take them in little faster than memory delivers all, from one of first_gpcs()
/// on. False where little is read, where SMs that ask for no more than `sm_bytes_per_second` each are not held back by
/// it, or of a machine of which that is not known.
bool crowds_gpcs(const Machine& machine, const schedules::Plan& plan, std::int32_t ctas, double bytes_per_token,
                 double sm_bytes_per_second);

}  // namespace splitwave::simulator
