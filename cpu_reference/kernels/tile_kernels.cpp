// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/kernels/tile_kernels.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace splitwave::cpu_reference {
namespace {

TileKernels kernels_of(Isa isa) {
#if defined(SPLITWAVE_X86)
  if (isa == Isa::avx512) return avx512_kernels();
  if (isa == Isa::avx2) return avx2_kernels();
#endif
  return baseline_kernels();
}

}  // namespace

TileKernel tile_kernel(workloads::Dtype dtype, Isa isa) {
  const std::vector<Isa> supported = supported_isas();
  if (std::find(supported.begin(), supported.end(), isa) == supported.end()) {
    throw std::logic_error("tile_kernel: this CPU or binary has no " + to_string(isa));
  }
  const TileKernels kernels = kernels_of(isa);
  switch (dtype) {
    case workloads::Dtype::f16:
      return kernels.f16;
    case workloads::Dtype::bf16:
      return kernels.bf16;
    case workloads::Dtype::f32:
      return kernels.f32;
    default:
      throw std::logic_error("tile_kernel: no kernel for " + workloads::to_string(dtype));
  }
}

}  // namespace splitwave::cpu_reference
