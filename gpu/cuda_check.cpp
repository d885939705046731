// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda_check.h"

#include <string>

#include "base/error.h"

namespace splitwave::gpu {

void throw_cuda_error(cudaError_t status, const char* call, const char* file, int line) {
  static_cast<void>(cudaGetLastError());  // a sticky error would otherwise be blamed on the next call
  const std::string message = std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                              cudaGetErrorName(status) + ": " + cudaGetErrorString(status);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver || status == cudaErrorStubLibrary) {
    throw base::MissingError("CUDA device: " + message);
  }
  throw DeviceError(message);
}

}  // namespace splitwave::gpu
