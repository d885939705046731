// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace splitwave::gpu {

/// The current CUDA device.
struct Device {
  std::string name;
  std::int32_t sms = 0;  ///< of the thread's partition, if it has one (gpu/sm_partition.h)
  /// 10 * major + minor, 90 for Hopper: what the kernels can use, which is the device's, or that of the code that they
  /// were compiled from if it is older (a driver compiles code for 8.0 for any later device).
  std::int32_t compute_capability = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t shared_bytes_per_cta = 0;
  std::string cuda;    ///< highest CUDA version that the driver knows, "13.0"
  std::string driver;  ///< version of the driver, "580.159.04"; empty if the system does not say
  std::string uuid;    ///< of the chip, as nvidia-smi writes it: "GPU-01234567-89ab-..."
};

/// True if a CUDA device can be used. Throws DeviceError if there is one and it is broken.
bool has_device();

/// Throws MissingError if there is no device.
Device current_device();

}  // namespace splitwave::gpu
