// SPDX-License-Identifier: Apache-2.0
// Kernels that keep the tensor cores busy, with operands in registers and from shared memory.
#include "gpu/kernels/ptx.cuh"
#include "gpu/microbenchmarks/kernels.h"

namespace splitwave::gpu {

using Accumulators = float[kMultiplyChains][4];

/// Two pseudo-random halves of a size around 1: all-zero operands draw less power.
__device__ __forceinline__ std::uint32_t random_pair(std::uint32_t i) {
  return 0x38003800U | (i * 2654435761U & 0x83ff83ffU);
}

/// Keeps the compiler from leaving the products out.
__device__ __forceinline__ void use(const Accumulators& sums, float* sink) {
  float sum = 0;
  for (const auto& chain : sums) {
    for (const float value : chain) sum += value;
  }
  if (sum == 0.12345678F) *sink = sum;
}

__global__ void __launch_bounds__(kMultiplyThreads) multiply(const __grid_constant__ MultiplyParams params) {
  const auto random = [](std::uint32_t i) { return random_pair(threadIdx.x * 6 + i); };
  const std::uint32_t a[4] = {random(0), random(1), random(2), random(3)};
  const std::uint32_t b[2] = {random(4), random(5)};
  Accumulators sums = {};
  for (std::int64_t round = 0; round < params.rounds; ++round) {
#pragma unroll
    for (int chain = 0; chain < kMultiplyChains; ++chain) {
      ptx::Traits<__half>::mma(sums[chain], a, b[0], b[1]);
    }
  }
  use(sums, params.sink);
}

/// As the decode kernels multiply K and V: every instruction's 16 x 16 matrix comes from shared memory.
__global__ void __launch_bounds__(kMultiplyThreads) multiply_shared(const __grid_constant__ MultiplyParams params) {
  constexpr int kWords = kMultiplyThreads / 32 * kMultiplyChains * 128;  // 512 bytes a matrix
  __shared__ __align__(128) std::uint32_t matrices[kWords];
  for (int i = threadIdx.x; i < kWords; i += kMultiplyThreads) matrices[i] = random_pair(i);
  __syncthreads();
  const std::uint32_t own =
      ptx::shared_address(matrices) + threadIdx.x / 32 * (kMultiplyChains * 512) + threadIdx.x % 32 * 16;
  const std::uint32_t b[2] = {random_pair(threadIdx.x * 2), random_pair(threadIdx.x * 2 + 1)};
  Accumulators sums = {};
  for (std::int64_t round = 0; round < params.rounds; ++round) {
#pragma unroll
    for (int chain = 0; chain < kMultiplyChains; ++chain) {
      std::uint32_t a[4];
      ptx::load_matrices(a, own + chain * 512);
      ptx::Traits<__half>::mma(sums[chain], a, b[0], b[1]);
    }
  }
  use(sums, params.sink);
}

const void* multiply_kernel() {
  return reinterpret_cast<const void*>(&multiply);
}
const void* multiply_shared_kernel() {
  return reinterpret_cast<const void*>(&multiply_shared);
}

}  // namespace splitwave::gpu
