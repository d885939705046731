// SPDX-License-Identifier: Apache-2.0
// The CUDA device's microbenchmarks. In studies_cuda, as measure_cuda.h.
#pragma once

#include <string>

#include "studies/calibrate.h"

namespace splitwave::studies {

/// Measures the current CUDA device in some ten seconds (docs/measuring.md, "Calibration"). What is not measured (data
/// sheet rates, limits by compute capability) comes from the machine `like`, by name or file; empty: the shipped one
/// that the device is. Throws as require_cuda(), and InputError if no such machine is known.
Calibration calibrate_cuda(const std::string& like);

/// The machine that `like` or the device's name means, for calibrate_cuda().
std::string calibration_base(const std::string& like);

}  // namespace splitwave::studies
