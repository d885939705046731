// SPDX-License-Identifier: Apache-2.0
// Kernels that do next to nothing: where CTAs run, how long a launch, a flag and an atomic take.
#include "gpu/kernels/ptx.cuh"
#include "gpu/microbenchmarks/kernels.h"

namespace splitwave::gpu {

__global__ void empty(const __grid_constant__ EmptyParams params) {
  if (params.overlaps == 0) return;
  ptx::let_next_kernel_start();
  ptx::wait_for_previous_kernel();
}

__global__ void place(const __grid_constant__ PlaceParams params) {
  const std::uint32_t sm = ptx::sm();
  if (threadIdx.x == 0) params.sms[blockIdx.x] = sm;
  const std::uint64_t begin = ptx::nanoseconds();
  while (ptx::nanoseconds() - begin < params.hold_nanoseconds) __nanosleep(200);
}

template <bool kOrdered>
__device__ __forceinline__ void raise(std::uint32_t* flag, std::uint32_t value) {
  if constexpr (kOrdered) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
  } else {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
  }
}

/// False if the flag has not come after some milliseconds.
template <bool kOrdered>
__device__ __forceinline__ bool wait_for(const std::uint32_t* flag, std::uint32_t value) {
  for (int polls = 0; polls < 100'000; ++polls) {
    std::uint32_t seen = 0;
    if constexpr (kOrdered) {
      seen = ptx::load_acquire(flag);
    } else {
      asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    }
    if (seen == value) return true;
  }
  return false;
}

template <bool kOrdered>
__device__ __forceinline__ void exchange_flags(const FlagParams& params) {
  std::uint32_t* const ping = params.flags;
  std::uint32_t* const pong = params.flags + 32;
  bool good = true;
  if (blockIdx.x != 0) {
    for (std::uint32_t round = 1; round <= params.rounds && good; ++round) {
      good = wait_for<kOrdered>(ping, round);
      raise<kOrdered>(pong, round);
    }
    return;
  }
  // The first round waits for the peer's start too.
  raise<kOrdered>(ping, 1);
  good = wait_for<kOrdered>(pong, 1);
  const std::uint64_t begin = ptx::nanoseconds();
  for (std::uint32_t round = 2; round <= params.rounds && good; ++round) {
    raise<kOrdered>(ping, round);
    good = wait_for<kOrdered>(pong, round);
  }
  *params.nanoseconds = good ? ptx::nanoseconds() - begin : ~std::uint64_t{0};
}

__global__ void flag(const __grid_constant__ FlagParams params) {
  if (threadIdx.x != 0 || (blockIdx.x != 0 && blockIdx.x != params.peer)) return;
  if (params.ordered != 0) {
    exchange_flags<true>(params);
  } else {
    exchange_flags<false>(params);
  }
}

__global__ void count_atomically(const __grid_constant__ AtomicParams params) {
  if (threadIdx.x != 0) return;
  std::uint32_t* counter = params.counter;
  const std::uint64_t begin = ptx::nanoseconds();
  for (std::uint32_t round = 0; round < params.rounds; ++round) {
    std::uint32_t old = 0;
    if (params.ordered != 0) {
      old = ptx::increment(counter, 0x7fffffffU);
    } else {
      asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;"
                   : "=r"(old)
                   : "l"(counter), "r"(0x7fffffffU)
                   : "memory");
    }
    counter += old >> 31;  // 0, which only the hardware knows: the next one waits for this one
  }
  *params.nanoseconds = ptx::nanoseconds() - begin + (counter - params.counter);
}

const void* place_kernel() {
  return reinterpret_cast<const void*>(&place);
}
const void* flag_kernel() {
  return reinterpret_cast<const void*>(&flag);
}
const void* atomic_kernel() {
  return reinterpret_cast<const void*>(&count_atomically);
}
const void* empty_kernel() {
  return reinterpret_cast<const void*>(&empty);
}

}  // namespace splitwave::gpu
