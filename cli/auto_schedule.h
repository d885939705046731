// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "cli/predict.h"

namespace splitwave::cli {

/// The schedule name that stands for the plan with the least predicted time.
inline constexpr std::string_view kAuto = "auto";

/// Predicts every default schedule that can serve the workload on the target and returns the fastest (the first of
/// equals). Its plan is called "auto", and its reason says which schedule was chosen and by how much. Throws InputError
/// if none can serve the workload.
Prediction predict_auto(const workloads::Workload& workload, const Target& target);

}  // namespace splitwave::cli
