// SPDX-License-Identifier: Apache-2.0
// Timelines of one plan, predicted and measured, for a trace.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedules/grid.h"
#include "schedules/plan.h"
#include "schedules/recording.h"
#include "schedules/timeline.h"
#include "studies/predict.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// One process of a trace, with all that it shows. Time 0 is the start of the first CTA, in both kinds: a launch is
/// predicted, but not recorded.
struct TracedPlan {
  std::string title;
  const workloads::Workload* workload = nullptr;  ///< the caller's
  schedules::Plan plan;
  schedules::Timeline timeline;
  std::int32_t sms = 0;
  std::int32_t slots_per_sm = 1;
};

/// How many rows a picture of a prediction has. Where workers are clusters, the simulator's SMs are groups of SMs with
/// room for several, which the grid counts as an SM each.
struct PictureRows {
  std::int32_t sms = 0;
  std::int32_t slots_per_sm = 1;
};
PictureRows picture_rows(const schedules::Grid& grid, const simulator::KernelProfile& kernel,
                         const schedules::Timeline& timeline);

/// "simulator: lean on h200-calibrated". The prediction has spans.
TracedPlan predicted_trace(const Prediction& prediction, const workloads::Workload& workload,
                           const std::string& machine);

/// "measured: lean on NVIDIA H200, clock steps of 32 ns". sms: of the device, or threads of a CPU.
TracedPlan measured_trace(const schedules::Recording& recording, const Prediction& prediction,
                          const workloads::Workload& workload, const std::string& device, std::int32_t sms);

/// The trace as a file (reports::chrome_trace). Titles name the workload where there are several.
std::string trace_file(std::span<const TracedPlan> plans);

}  // namespace splitwave::studies
