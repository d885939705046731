// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "studies/predict.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// The schedule name that stands for the plan with the least predicted time.
inline constexpr std::string_view kAuto = "auto";

/// Predicts every default schedule that can serve the workload on the target and returns the fastest (the first of
/// equals). Its plan is called "auto", and its reason says which schedule was chosen and by how much. Throws InputError
/// if none can serve the workload.
Prediction predict_auto(const workloads::Workload& workload, const Target& target);

/// The schedules that the option stands for. Throws InputError if a given one does not exist, or can serve none of the
/// workloads: that is told before any work begins.
std::vector<std::string> chosen_schedules(const std::vector<std::string>& option,
                                          const std::vector<workloads::Workload>& workloads);

}  // namespace splitwave::studies
