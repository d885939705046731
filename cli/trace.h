// SPDX-License-Identifier: Apache-2.0
// A timeline as a Chrome trace, which ui.perfetto.dev and chrome://tracing show.
#pragma once

#include <span>
#include <string>

#include "schedules/plan.h"
#include "schedules/timeline.h"
#include "workloads/workload.h"

namespace splitwave::cli {

/// One executor's run of one plan; the timeline has spans.
struct TracedRun {
  std::string title;  ///< "simulator: lean on h200"
  const workloads::Workload* workload = nullptr;
  const schedules::Plan* plan = nullptr;
  const schedules::Timeline* timeline = nullptr;
};

/// JSON object of the Trace Event Format ("Trace Event Format", Google, 2016): a process per run, a track per SM slot,
/// a complete event per item and per merge. Times in microseconds, as the format wants.
std::string chrome_trace(std::span<const TracedRun> runs);

}  // namespace splitwave::cli
