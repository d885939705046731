// SPDX-License-Identifier: Apache-2.0
// Every call of the CUDA runtime is checked. Private to gpu/ and its tests.
#pragma once

#include <cuda_runtime_api.h>

#include "gpu/error.h"

namespace splitwave::gpu {

/// Throws MissingError if `status` says that there is no device or driver, else DeviceError with file, line and call.
void throw_cuda_error(cudaError_t status, const char* call, const char* file, int line);

}  // namespace splitwave::gpu

#define SPLITWAVE_CUDA_CHECK(call)                                                     \
  do {                                                                                 \
    const cudaError_t splitwave_status = (call);                                       \
    if (splitwave_status != cudaSuccess) {                                             \
      ::splitwave::gpu::throw_cuda_error(splitwave_status, #call, __FILE__, __LINE__); \
    }                                                                                  \
  } while (false)
