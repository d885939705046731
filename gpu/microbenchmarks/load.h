// SPDX-License-Identifier: Apache-2.0
// The device's state at work, and what its tensor cores give.
#pragma once

#include "gpu/measure.h"

namespace splitwave::gpu {

/// As the driver reports it (device_state()), in the midst of some seconds of the same work.
struct LoadStates {
  DeviceState idle;
  DeviceState reading;      ///< every SM reads memory
  DeviceState multiplying;  ///< every SM multiplies matrices by mma.sync
};
LoadStates states_under_load();

/// FLOP/s of mma.sync m16n8k16 (fp16 into fp32) on all SMs, operands in registers.
double time_multiplications();

}  // namespace splitwave::gpu
