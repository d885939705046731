// SPDX-License-Identifier: Apache-2.0
// Timelines as a picture: who works on what, when, on which SM. The kind of Figure 1 of LeanAttention (arXiv
// 2405.10480).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "reports/trace.h"

namespace splitwave::reports {

/// Most rows that one panel draws; it says so if a machine has more SM slots.
inline constexpr std::int32_t kMostGanttRows = 600;

/// Most spans of one picture; a larger one belongs into a trace viewer.
inline constexpr std::int64_t kMostGanttSpans = 100'000;

/// A self-contained SVG: a panel per run over one common time axis, a row per SM slot, a bar per item coloured by its
/// output and labelled with its request and heads, lines between KV tiles, merges hatched. A run of more than 1.5 times
/// the median run's time is cut, and its panel says so. The colours are Okabe and Ito's, which
/// colour-blind people tell apart. Throws InputError if there are more than kMostGanttSpans spans.
std::string gantt_svg(std::span<const TracedRun> runs);

}  // namespace splitwave::reports
