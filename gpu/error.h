// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include "base/error.h"

namespace splitwave::gpu {

/// A CUDA call or a kernel failed, or a kernel reported that it could not finish. Never bad input: see
/// base::InputError, and base::MissingError for a machine without a device.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace splitwave::gpu
