// SPDX-License-Identifier: Apache-2.0
// Why the schedules of a report's records take their times: what `explain` says, and who works when.
#pragma once

#include <span>
#include <vector>

#include "reports/dataset.h"
#include "reports/page.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// Workloads that a page explains at most, and schedules of each.
inline constexpr std::size_t kMostTimelines = 6;
inline constexpr std::size_t kMostTimelineSchedules = 6;

/// Explains predicted records, of the workloads whose schedules differ the most, each on the machine where they do.
/// Only shipped machines, with what their names say was changed; workloads that are `known`, of a shipped suite or
/// specs, and small enough for a picture of every item; and times that this program predicts alike.
std::vector<reports::PageTimeline> timelines_of(const reports::Dataset& data,
                                                std::span<const workloads::Workload> known);

}  // namespace splitwave::studies
