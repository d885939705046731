// SPDX-License-Identifier: Apache-2.0
// What the driver's management library says of the current device. It comes with the driver and is loaded when it is
// asked for the first time, so that binaries start without one; then nothing is known. Nothing is ever set.
#pragma once

#include <cstdint>
#include <optional>

namespace splitwave::gpu {

/// Of the device right now.
struct DeviceState {
  std::optional<double> sm_clock_mhz;
  std::optional<double> power_watts;        ///< the driver's average over the last second, on recent devices
  std::optional<double> power_limit_watts;  ///< that is enforced: above it clocks go down
};

/// Throws MissingError if there is no device.
DeviceState device_state();

/// Energy that the device has taken since its driver was loaded, in joules. The driver counts on every 20 to 100 ms.
/// Nothing before Volta. Throws MissingError if there is no device.
std::optional<double> energy_joules();

}  // namespace splitwave::gpu
