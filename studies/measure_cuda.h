// SPDX-License-Identifier: Apache-2.0
// The CUDA device as an executor. A library of its own, splitwave::studies_cuda, so that splitwave::studies does
// without CUDA; a build without CUDA has it too, and it says so.
#pragma once

#include <cstdint>
#include <string>

#include "studies/batch_invariance.h"
#include "studies/measure.h"

namespace splitwave::studies {

/// Throws MissingError if there is no CUDA device or if the library was built without CUDA.
void require_cuda();

/// Throws as require_cuda(), and MissingError if the kernels do not record (docs/measuring.md).
void require_cuda_timelines();

/// The files of a calibration of the device, to be taken instead of the shipped ones; both or none.
struct DeviceConstants {
  std::string machine;
  std::string kernels;
};

/// The current CUDA device as a target of predictions, with the project's own kernels: as `constants` say, or else the
/// shipped machine that it is, calibrated where that is shipped too; with the SMs of the thread's partition. Throws as
/// require_cuda(), and InputError if `constants` are of other SMs or no such files.
Target device_target(const DeviceConstants& constants = {});

/// The current CUDA device as what runs the batches of studies/batch_invariance.h: plans of device_target(), by the
/// config that the prediction names. Throws as require_cuda().
BatchRunner cuda_batch_runner();

/// The current CUDA device, or a part of its SMs (gpu/sm_partition.h); 0: all. Throws as device_target(), and
/// InputError if it cannot be parted so.
Executor cuda_executor(const TimingBudget& budget, std::int32_t sms = 0, const DeviceConstants& constants = {});

}  // namespace splitwave::studies
