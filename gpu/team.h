// SPDX-License-Identifier: Apache-2.0
// How the warps of a CTA work together.
#pragma once

#include <cstdint>

namespace splitwave::gpu {

/// How a CTA's warps share its work: each has tokens of its own; all multiply a stage of tokens together by wgmma
/// (compute capability 9.0 alone), tokens and elements as M; or two warpgroups take turns at stages, rows as M.
enum class Team : std::uint8_t { warps, group, seesaw };

}  // namespace splitwave::gpu
