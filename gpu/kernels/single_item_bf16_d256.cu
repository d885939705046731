// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/single_item_instances.cuh"

namespace splitwave::gpu {

std::span<const DecodeKernel> bf16_d256_single_item_kernels() {
  return d256_single_item_kernels<__nv_bfloat16>();
}

}  // namespace splitwave::gpu
