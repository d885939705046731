// SPDX-License-Identifier: Apache-2.0
// Which SMs a part of a chip has.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/machine.h"

namespace splitwave::simulator {

/// The SMs of each GPC, ascending; one group of all where gpc_of_sm is not known.
std::vector<std::vector<std::int32_t>> sms_by_gpc(const Machine& machine);

/// The SMs that a green context of so many gets on a machine whose SMs are known by number, ascending: eight of each
/// GPC in turn, those first that clusters can use, until none has eight left; then the rest. Found on one H200 for 8 to
/// 132 SMs (CUDA 13.0, cuDevSmResourceSplitByCount without flags; docs/measuring.md, "Part of the SMs").
std::vector<std::int32_t> sms_of_partition(const Machine& machine, std::int32_t sms);

/// The machine with these SMs alone, renumbered in their order: its ports, GPCs and the order in which it fills. A
/// green context fills GPC after GPC, not one SM of each in turn. Rates of the whole machine are left alone.
void keep_sms(Machine& machine, const std::vector<std::int32_t>& kept);

}  // namespace splitwave::simulator
