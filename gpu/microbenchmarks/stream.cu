// SPDX-License-Identifier: Apache-2.0
// Reading with nothing else to do: rings as the decode kernels have them (gpu/kernels/loader.cuh), without arithmetic.
#include <stdexcept>

#include "gpu/kernels/params.h"
#include "gpu/kernels/ptx.cuh"
#include "gpu/microbenchmarks/kernels.h"

namespace splitwave::gpu {

/// Each warp waits for its oldest stage and refills it at once.
template <int kCopies, bool kRows = false>
__global__ void __launch_bounds__(kStreamWarps * 32) stream(const __grid_constant__ StreamParams params) {
  constexpr int kStageBytes = kCopies * 512;
  constexpr int kBytes = kStreamWarps * kStageBytes;  // that the warps read at once
  extern __shared__ __align__(128) unsigned char shared[];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const std::uint32_t sm = ptx::sm();
  StreamCount count{0, 0, 0, sm, 0};
  if (params.active == nullptr || (params.active[sm / 32] >> (sm % 32) & 1U) != 0) {
    const std::uint32_t ring =
        ptx::shared_address(shared) + warp * (kStreamStages * kStageBytes) + static_cast<std::uint32_t>(lane) * 16;
    const std::int64_t row_bytes = kRows ? 1 << params.row_shift : 0;
    const std::int64_t row_stride = row_bytes * params.heads;
    const char* const region =
        kRows ? params.data + blockIdx.x / params.heads * params.region_stride + blockIdx.x % params.heads * row_bytes
              : params.data + blockIdx.x * params.region_stride;
    std::int64_t start = params.offset;
    // Where all share a region, each reads at a place of its own.
    if (params.region_stride == 0 || kRows) start += params.region_bytes / kBytes * blockIdx.x / gridDim.x * kBytes;
    std::int64_t position = start % params.region_bytes + warp * kStageBytes + lane * 16;
    const auto fill = [&](int stage) {
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        const std::int64_t byte = position + i * 512;
        const std::int64_t place = kRows ? (byte >> params.row_shift) * row_stride + (byte & (row_bytes - 1)) : byte;
        ptx::copy_16(ring + stage * kStageBytes + i * 512, region + place, true, params.l2_policy);
      }
      ptx::commit_copies();
      position += params.step;
      if (position >= params.region_bytes) position -= params.region_bytes;
    };
#pragma unroll
    for (int stage = 0; stage < kStreamStages; ++stage) fill(stage);
    ptx::wait_copies<kStreamStages - 1>();
    count.begin_nanoseconds = ptx::nanoseconds();
    const long long begin = clock64();
    do {
#pragma unroll
      for (int stage = 0; stage < kStreamStages; ++stage) {
        fill(stage);
        ptx::wait_copies<kStreamStages - 1>();
      }
      count.bytes += kStreamStages * kStageBytes;
    } while (clock64() - begin < params.clocks);
    count.end_nanoseconds = ptx::nanoseconds();
    ptx::wait_copies<0>();
  } else {
    // No CTA that comes later may find this SM free.
    const std::uint64_t begin = ptx::nanoseconds();
    while (ptx::nanoseconds() - begin < 10'000) __nanosleep(500);
  }
  if (lane == 0) params.counts[blockIdx.x * kStreamWarps + warp] = count;
}

__global__ void scramble(const __grid_constant__ ScrambleParams params) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < params.words;
       i += stride) {
    auto key = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15U;
    key ^= key >> 29;
    static_cast<ulonglong2*>(params.data)[i] = make_ulonglong2(key * 0xBF58476D1CE4E5B9U, key * 0x94D049BB133111EBU);
  }
}

__global__ void __launch_bounds__(512) read_words(const __grid_constant__ ReadWordsParams params) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const auto* const words = static_cast<const uint4*>(params.data);
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  std::uint32_t sum = 0;
  for (; i + (kReadWordsLoads - 1) * stride < params.words; i += kReadWordsLoads * stride) {
    uint4 batch[kReadWordsLoads];
#pragma unroll
    for (int j = 0; j < kReadWordsLoads; ++j) batch[j] = __ldcs(words + i + j * stride);
#pragma unroll
    for (const uint4& word : batch) sum += word.x ^ word.y ^ word.z ^ word.w;
  }
  for (; i < params.words; i += stride) sum += __ldcs(words + i).x;
  if (sum == 0x12345678U) *params.sink = sum;
}

__global__ void chase(const __grid_constant__ ChaseParams params) {
  const char* at = params.data;
  const std::uint64_t begin = ptx::nanoseconds();
  for (std::uint32_t i = 0; i < params.reads; ++i) {
    at += params.step + (__ldcg(reinterpret_cast<const std::uint32_t*>(at)) & params.zero);
  }
  const std::uint64_t end = ptx::nanoseconds() + (at == params.data ? 1 : 0);  // after the last word has come
  *params.nanoseconds = end - begin;
}

const void* stream_kernel(std::int64_t bytes_in_flight) {
  switch (bytes_in_flight / (kStreamWarps * kStreamStages * 512)) {
    case 2:
      return reinterpret_cast<const void*>(&stream<2>);
    case 4:
      return reinterpret_cast<const void*>(&stream<4>);
    case 8:
      return reinterpret_cast<const void*>(&stream<8>);
    case 16:
      return reinterpret_cast<const void*>(&stream<16>);
    case 28:
      return reinterpret_cast<const void*>(&stream<28>);
    default:
      throw std::logic_error("stream_kernel: no ring of so many bytes");
  }
}
const void* stream_rows_kernel() {
  return reinterpret_cast<const void*>(&stream<8, true>);
}
const void* scramble_kernel() {
  return reinterpret_cast<const void*>(&scramble);
}
const void* read_words_kernel() {
  return reinterpret_cast<const void*>(&read_words);
}
const void* chase_kernel() {
  return reinterpret_cast<const void*>(&chase);
}

}  // namespace splitwave::gpu
