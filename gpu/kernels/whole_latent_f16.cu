// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/whole_latent_instances.cuh"

namespace splitwave::gpu {

std::span<const DecodeKernel> f16_whole_latent_kernels() {
  return whole_latent_kernels<__half>();
}

}  // namespace splitwave::gpu
