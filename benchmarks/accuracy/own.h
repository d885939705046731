// SPDX-License-Identifier: Apache-2.0
// The simulator's predictions for measured times of the project's own CUDA kernels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::accuracy {

/// One plan on one kernel of the family.
struct OwnPoint {
  const workloads::Workload* workload = nullptr;
  std::string schedule;
  std::string config;  ///< of the kernel, "r1w4s4t16c8"
  double measured_seconds = 0;
  double read_seconds = 0;  ///< the plain read of the same run
  double predicted_seconds = 0;
  std::int32_t lists = 0;    ///< of the plan
  std::int32_t workers = 0;  ///< resident at a time
};

/// The measured times among `records` (JSON Lines of tests/gpu/bench_decode) whose workloads are among `shapes`, each
/// predicted by the profile of its own config, with the plan that it ran. Throws InputError naming the record.
std::vector<OwnPoint> judge_own(std::span<const workloads::Workload> shapes, const std::string& records,
                                const studies::Target& target);

/// One line for each: shape, bytes of K and V, schedule, config, read, measured, predicted, in microseconds.
std::string own_rows(std::span<const OwnPoint> points);

}  // namespace splitwave::accuracy
