// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "studies/predict.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// The schedule name that stands for the plan that choose() takes.
inline constexpr std::string_view kAuto = "auto";

/// The plan with the least predicted time (the first of equals), but for less certain ones that are not well ahead,
/// whose reason says by how much: of the schedules that comparisons run by default, each on its library's kernel, or,
/// where the target's kernel is compiled in many configs, of candidates() on all of them. Throws InputError if none can
/// serve the workload.
Prediction choose(const workloads::Workload& workload, const Target& target, const PredictOptions& options = {});

/// The schedules that --schedule stands for: `given`, or the default ones of which some target can run some workload.
/// Throws InputError if a given one does not exist, or no target can run any of the workloads with it: that is told
/// before any work begins. Without targets only the schedules' own rules are asked.
std::vector<std::string> chosen_schedules(const std::vector<std::string>& given,
                                          std::span<const workloads::Workload> workloads,
                                          std::span<const Target> targets = {});

}  // namespace splitwave::studies
