// SPDX-License-Identifier: Apache-2.0
// The parts of a machine file that say how fast the device reads. Private to studies_cuda.
#pragma once

#include "studies/calibration_work.h"

namespace splitwave::studies {

/// Bandwidth and latency of the memory, of an SM, and of pages that no TLB holds.
void calibrate_memory(CalibrationWork& work);

/// Capacity, bandwidth and latency of L2. After calibrate_memory().
void calibrate_l2(CalibrationWork& work);

/// What memory delivers of a cache's rows, where those of other heads lie in between.
void calibrate_rows(CalibrationWork& work);

/// What a first request of many at a time takes longer from memory than a ring's further ones do. After calibrate_l2().
void calibrate_first_burst(CalibrationWork& work);

}  // namespace splitwave::studies
