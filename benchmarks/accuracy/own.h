// SPDX-License-Identifier: Apache-2.0
// The simulator's predictions for measured times of the project's own CUDA kernels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "benchmarks/accuracy/judge.h"
#include "benchmarks/accuracy/points.h"
#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::accuracy {

/// The times in records of `compare --executor cuda` (JSON Lines) as read_own_times() takes them.
std::string own_times(const std::string& records);

/// Each time predicted on the target, or on as many of its SMs, for the config that ran, with the schedule's own tiles.
/// Times of plans that the config is not predicted to run are left out.
std::vector<JudgedPoint> judge_own(std::span<const Point> points, const studies::Target& target);

/// Tables of docs/accuracy.md: errors by schedule and by kind of workload, and speed-ups between schedules.
std::string own_tables(std::span<const JudgedPoint> judged);

/// Errors by number of SMs and by schedule.
std::string table_by_sms(std::span<const JudgedPoint> judged);

}  // namespace splitwave::accuracy
