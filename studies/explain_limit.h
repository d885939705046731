// SPDX-License-Identifier: Apache-2.0
// The sentences of an explanation, each derived from the numbers that it speaks of.
#pragma once

#include "studies/explain.h"

namespace splitwave::studies {

/// An alternative counts as faster if it is by more than this: less is within the simulator's own error.
inline constexpr double kClearlyFaster = 0.02;

/// From this share of the bandwidth of a plain read on, memory is named as the limit of streaming.
inline constexpr double kNearPlateau = 0.8;

/// The idle time by cause, from the plan's spans: of Explanation the plan, the grid and the timeline are used.
IdleCauses idle_causes(const Explanation& explanation);

/// The largest part, its cause and what would help: everything else of Explanation is used.
Limit limit_of(const Explanation& explanation);

}  // namespace splitwave::studies
