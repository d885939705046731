// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/whole_latent_instances.cuh"

namespace splitwave::gpu {

std::span<const DecodeKernel> bf16_whole_latent_kernels() {
  return whole_latent_kernels<__nv_bfloat16>();
}

}  // namespace splitwave::gpu
