// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/kernels/simd_avx2.h"
//
#include "cpu_reference/kernels/tile_kernel.h"

namespace splitwave::cpu_reference {

TileKernels avx2_kernels() {
  return {kernel_of<F16>(), kernel_of<Bf16>(), kernel_of<F32>()};
}

}  // namespace splitwave::cpu_reference
