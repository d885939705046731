// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernels/single_item_instances.cuh"

namespace splitwave::gpu {

std::span<const DecodeKernel> f16_d64_single_item_kernels() {
  return d64_single_item_kernels<__half>();
}

}  // namespace splitwave::gpu
