// SPDX-License-Identifier: Apache-2.0
// A timeline as a Chrome trace, which ui.perfetto.dev and chrome://tracing show.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedules/plan.h"
#include "schedules/timeline.h"
#include "workloads/workload.h"

namespace splitwave::reports {

/// One executor's run of one plan; the timeline has spans.
struct TracedRun {
  std::string title;  ///< "simulator: lean on h200"
  const workloads::Workload* workload = nullptr;
  const schedules::Plan* plan = nullptr;
  const schedules::Timeline* timeline = nullptr;
  std::int32_t sms = 0;           ///< of the machine, so that idle ones are seen
  std::int32_t slots_per_sm = 1;  ///< resident CTAs
};

/// The spans of a run as they can be drawn, items first. An item whose last arithmetic goes on while the next one of
/// its CTA already loads ends where the next begins. A merge kernel, which the timeline knows only as a whole, becomes
/// a span per merge, dealt over the SM slots within its time.
std::vector<schedules::Span> drawn_spans(const TracedRun& run);

/// JSON object of the Trace Event Format ("Trace Event Format", Google, 2016): a process per run, a track per SM slot,
/// a complete event per item and per merge. Times in microseconds, as the format wants.
std::string chrome_trace(std::span<const TracedRun> runs);

}  // namespace splitwave::reports
