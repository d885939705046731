// SPDX-License-Identifier: Apache-2.0
// The points of a sweep: a numbered Cartesian product. Point i is the same point in every process, shard and run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "studies/sweep_axis.h"
#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// Targets, then workloads, then axes in the order given, then schedules; the last varies fastest.
struct SweepSpace {
  std::vector<Target> targets;
  std::vector<workloads::Workload> workloads;
  std::vector<Axis> axes;
  std::vector<std::size_t> fields;  ///< per axis: index into sweep_fields()
  std::vector<std::string> schedules;
};

/// Most points of one sweep.
inline constexpr std::int64_t kMaxSweepPoints = 1'000'000'000;

/// Space of the given lists and --axis arguments; no schedules stands for the default ones. Throws InputError if there
/// is no machine or workload, an axis is unknown, wrong or given twice, a word of a text axis does not fit its field, a
/// schedule does not exist or can serve none of the workloads, or there are too many points.
SweepSpace make_space(std::vector<Target> targets, std::vector<workloads::Workload> workloads,
                      const std::vector<std::string>& axes, const std::vector<std::string>& schedules);

std::int64_t points(const SweepSpace& space);

/// One point as indices into the lists of the space, and one number for each part of it: two points with the same
/// workload_key have the same workload, and so on.
struct SweepPoint {
  std::size_t target = 0;
  std::size_t workload = 0;
  std::size_t schedule = 0;
  std::vector<std::size_t> values;  ///< per axis
  std::int64_t workload_key = 0;
  std::int64_t target_key = 0;
  std::int64_t plan_key = 0;  ///< of the workload and the schedule with its settings
};

/// Point `index` of [0, points(space)), into `point`, whose memory is used again.
void point_at(const SweepSpace& space, std::int64_t index, SweepPoint& point);

}  // namespace splitwave::studies
