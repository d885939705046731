// SPDX-License-Identifier: Apache-2.0
// The parts of a machine file that come of steady work: clock, mma_sync_rate and the energy constants. Private to
// studies_cuda.
#pragma once

#include <string>
#include <vector>

#include "gpu/microbenchmarks/load.h"
#include "studies/calibrate.h"

namespace splitwave::studies {

/// Measures steady work (gpu/microbenchmarks/load.h) and keeps its points.
std::vector<gpu::LoadPoint> calibrate_loads(Calibration& result);

/// Adds clock and mma_sync_rate as they were under load; nothing of what the driver does not say. `source` begins each
/// constant's.
void add_clocks(const std::vector<gpu::LoadPoint>& loads, const std::string& source, Calibration& result);

/// Adds the energy constants, or, where the device has no energy counter, a note that they are left out.
void add_energy(const std::vector<gpu::LoadPoint>& loads, const std::string& source, Calibration& result);

}  // namespace splitwave::studies
