// SPDX-License-Identifier: Apache-2.0
// How the warps of a CTA work together.
#pragma once

#include <cstdint>

namespace splitwave::gpu {

/// How a CTA's warps share its work: each has tokens of its own of every item; all multiply a stage of tokens together
/// by wgmma (compute capability 9.0 alone), tokens and elements as M; two warpgroups take turns at stages, rows as M;
/// each has a list of its own, a part of the CTA's; or as `group`, by mma.sync, which all devices have.
enum class Team : std::uint8_t { warps, group, seesaw, alone, portable };

}  // namespace splitwave::gpu
