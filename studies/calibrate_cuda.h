// SPDX-License-Identifier: Apache-2.0
// The CUDA device's microbenchmarks. In studies_cuda, as measure_cuda.h.
#pragma once

#include <string>

#include "studies/calibrate.h"

namespace splitwave::studies {

/// Measures the current CUDA device in one to two minutes (docs/measuring.md, "Calibration"). What is not measured
/// (data sheet rates, limits by compute capability) comes from the machine `like`, by name or file; empty: the shipped
/// one that the device is. Throws as require_cuda(), and InputError if no such machine is known.
Calibration calibrate_cuda(const std::string& like);

/// The same for the energy constants alone, in half a minute: all else of the file is that of the machine `like`, its
/// name too, and there is no kernel file.
Calibration calibrate_cuda_energy(const std::string& like);

/// The kernel file that calibrate_cuda() would write of the points in this file, with the machine's constants and the
/// shipped kernels' resources. Needs no device. Throws InputError for a file that has not all the points, and as
/// load_machine(); MissingError where the CUDA kernels are not built.
std::string recalibrate_cuda(const std::string& points, const std::string& machine);

/// The machine that `like` or the device's name means, for both.
std::string calibration_base(const std::string& like);

}  // namespace splitwave::studies
