// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/instances.cuh"

namespace splitwave::gpu {

std::span<const DecodeKernel> bf16_d256_waiting_kernels() {
  return d256_kernels<__nv_bfloat16, true>();
}

}  // namespace splitwave::gpu
