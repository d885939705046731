// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/group_instances.cuh"

namespace splitwave::gpu {

std::span<const DecodeKernel> f16_latent_kernels() {
  return latent_group_kernels<__half>();
}

}  // namespace splitwave::gpu
