// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/instances.cuh"

namespace splitwave::gpu {

std::span<const DecodeKernel> f16_d128_waiting_kernels() {
  return d128_kernels<__half, true>();
}

}  // namespace splitwave::gpu
