// SPDX-License-Identifier: Apache-2.0
// The CUDA device as an executor. A library of its own, splitwave::studies_cuda, so that splitwave::studies does
// without CUDA; a build without CUDA has it too, and it says so.
#pragma once

#include "studies/measure.h"

namespace splitwave::studies {

/// Throws MissingError if there is no CUDA device or if the library was built without CUDA.
void require_cuda();

/// Throws as require_cuda(), and MissingError if the kernels do not record (docs/measuring.md).
void require_cuda_timelines();

/// The current CUDA device as a target of predictions, with the project's own kernels: the shipped machine that it is,
/// calibrated where that is shipped too. Throws as require_cuda().
Target device_target();

/// The current CUDA device. Throws as require_cuda().
Executor cuda_executor(const TimingBudget& budget);

}  // namespace splitwave::studies
