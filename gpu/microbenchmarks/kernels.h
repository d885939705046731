// SPDX-License-Identifier: Apache-2.0
// The kernels of the microbenchmarks and what the host hands them. Plain structs, the same for g++ and nvcc. Private to
// gpu/microbenchmarks/.
#pragma once

#include <cstdint>

namespace splitwave::gpu {

inline constexpr int kStreamWarps = 4;
inline constexpr int kStreamStages = 4;  ///< of each warp's ring

/// What one warp of a stream read, between its first data and its last.
struct StreamCount {
  std::uint64_t begin_nanoseconds;
  std::uint64_t end_nanoseconds;
  std::uint64_t bytes;
  std::uint32_t sm;
  std::uint32_t unused;
};

/// CTA i reads the bytes [i * region_stride, + region_bytes) of `data` in a circle for a given time. By rows: it reads
/// those of head i % heads of region i / heads, in which so many rows lie side by side.
struct StreamParams {
  const char* data = nullptr;
  std::int64_t step = 0;                  ///< bytes from what the CTA's warps read at once to what they read next
  std::int64_t region_stride = 0;         ///< 0: all read the same, each from a place of its own
  std::int64_t region_bytes = 0;          ///< a multiple of `step`
  std::int64_t offset = 0;                ///< into the region, where reading begins; a multiple of `step`
  std::int64_t clocks = 0;                ///< that a warp reads for
  std::int32_t heads = 1;                 ///< by rows
  std::int32_t row_shift = 0;             ///< by rows: each has 1 << row_shift bytes
  std::uint64_t l2_policy = 0;            ///< gpu/kernels/params.h
  const std::uint32_t* active = nullptr;  ///< bit mask of SM ids whose CTAs read; null: all
  StreamCount* counts = nullptr;          ///< [CTA][warp]
};

/// Fills memory with 16-byte words that do not repeat.
struct ScrambleParams {
  void* data = nullptr;
  std::int64_t words = 0;
};

/// All threads together read the words once, eight 16-byte loads of a thread at a time.
struct ReadWordsParams {
  const void* data = nullptr;
  std::int64_t words = 0;  ///< of 16 bytes
  std::uint32_t* sink = nullptr;
};
inline constexpr int kReadWordsLoads = 8;

/// One thread reads the words at data, data + step, ..., each after the one before has come.
struct ChaseParams {
  const char* data = nullptr;
  std::int64_t step = 0;
  std::uint32_t reads = 0;
  std::uint32_t zero = 0;  ///< 0, which the compiler does not know
  std::uint64_t* nanoseconds = nullptr;
};

/// Notes where each CTA runs, and holds its SM until all have come.
struct PlaceParams {
  std::uint32_t* sms = nullptr;  ///< [CTA]
  std::uint32_t hold_nanoseconds = 0;
};

/// CTA 0 and CTA `peer` write each other flags in turn.
struct FlagParams {
  std::uint32_t ordered = 0;       ///< 1: acquire and release, so that what was written before is seen with the flag
  std::uint32_t* flags = nullptr;  ///< two, 128 bytes apart, both 0; they end as `rounds`
  std::uint32_t peer = 0;
  std::uint32_t rounds = 0;
  std::uint64_t* nanoseconds = nullptr;  ///< of all rounds; all ones if a flag never came
};

/// One thread adds 1 `rounds` times, each time after the sum of the time before has come back.
struct AtomicParams {
  std::uint32_t* counter = nullptr;
  std::uint32_t rounds = 0;
  std::uint32_t ordered = 0;  ///< 1: acquire and release, as the decode kernels count arrivals
  std::uint64_t* nanoseconds = nullptr;
};

/// Warps that multiply matrices (mma.sync m16n8k16, fp16 into fp32) in registers, or from shared memory.
struct MultiplyParams {
  std::int64_t rounds = 0;  ///< of kMultiplyChains instructions a warp
  float* sink = nullptr;
};
inline constexpr int kMultiplyThreads = 256;
inline constexpr int kMultiplyChains = 8;
inline constexpr double kMultiplyFlops = 2.0 * 16 * 8 * 16;    ///< of one instruction
inline constexpr double kMultiplySharedBytes = 2.0 * 16 * 16;  ///< that it reads where operands are in shared memory

struct EmptyParams {
  std::uint32_t overlaps = 0;  ///< 1: lets the next kernel start at once, then waits for the one before
};

/// The stream with so many bytes in flight per CTA: 16, 32, 64, 128 or 224 KiB; throws std::logic_error for others.
/// Dynamic shared memory: at least the bytes in flight.
const void* stream_kernel(std::int64_t bytes_in_flight);
/// The same with heads; 64 KiB in flight.
const void* stream_rows_kernel();
const void* scramble_kernel();
const void* read_words_kernel();
const void* chase_kernel();
const void* place_kernel();
const void* flag_kernel();
const void* atomic_kernel();
const void* multiply_kernel();
const void* multiply_shared_kernel();
const void* empty_kernel();

}  // namespace splitwave::gpu
