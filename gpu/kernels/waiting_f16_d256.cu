// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/instances.cuh"

namespace splitwave::gpu {

std::span<const DecodeKernel> f16_d256_waiting_kernels() {
  return d256_kernels<__half, true>();
}

}  // namespace splitwave::gpu
