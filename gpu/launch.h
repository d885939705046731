// SPDX-License-Identifier: Apache-2.0
// Private to gpu/.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace splitwave::gpu {

/// A kernel launch with everything that can be set.
struct Launch {
  const void* function = nullptr;
  dim3 grid;
  std::int32_t threads = 0;
  std::int32_t shared_bytes = 0;
  std::int32_t cluster = 1;
  bool overlaps = false;
  const void* box_function = nullptr;  ///< what to launch with a map of the keys: DecodeKernel::box_function
};

/// Queues the kernel with its one parameter, a struct that `params` points to.
void launch_kernel(const Launch& launch, void* params, cudaStream_t stream);

/// The same for a kernel that has a second one.
void launch_kernel(const Launch& launch, void* params, void* second, cudaStream_t stream);

}  // namespace splitwave::gpu
