// SPDX-License-Identifier: Apache-2.0
// The warpgroup's matrix instruction of sm_90a, both operands in shared memory. PTX ISA 9.0, "wgmma".
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace splitwave::gpu::wgmma {

/// Place of 16-byte chunk `column` of row `row` of an operand in rows of 32, 64 or 128 bytes: of 128 bytes eight chunks
/// lie exclusive-ored with the row, of shorter rows as many bytes.
template <int kRowBytes = 128>
__device__ __forceinline__ int swizzled(int row, int column) {
  static_assert(kRowBytes == 32 || kRowBytes == 64 || kRowBytes == 128);
  constexpr int kShift = kRowBytes == 128 ? 0 : kRowBytes == 64 ? 1 : 2;
  return row * kRowBytes + ((column ^ (row >> kShift & (kRowBytes / 16 - 1))) << 4);
}

/// The value, which all lanes of the warp have. The instruction takes descriptors from uniform registers: where the
/// compiler cannot see that they are alike, it brings each of them there by itself, three times as long as a product of
/// 16 columns takes.
__device__ __forceinline__ std::uint32_t uniform(std::uint32_t value) {
  return __shfl_sync(~0U, value, 0);
}

/// Where such an operand begins, aligned to eight rows but for whole steps of 16 elements along them. kBlockBytes: from
/// 64 elements to the next 64, where the contiguous dimension is not that of the sum and has more.
template <int kRowBytes = 128, int kBlockBytes = kRowBytes * 8>
__device__ __forceinline__ std::uint64_t descriptor(std::uint32_t shared) {
  constexpr std::uint64_t kEightRows = kRowBytes * 8 / 16;
  constexpr std::uint64_t kBlock = kBlockBytes / 16;
  constexpr std::uint64_t kSwizzle = kRowBytes == 128 ? 1 : kRowBytes == 64 ? 2 : 3;
  return kSwizzle << 62 | kEightRows << 32 | kBlock << 16 | (uniform(shared) & 0x3ffffU) >> 4;
}

/// The operand that begins `bytes` later: one addition, where a descriptor from scratch takes several instructions.
__device__ __forceinline__ std::uint64_t advance(std::uint64_t descriptor, int bytes) {
  return descriptor + static_cast<std::uint64_t>(bytes >> 4);
}

/// Which dimension of the operands is contiguous: that of the sum (K^T Q: the head dimension), or the other one.
enum class Major : int { k = 0, mn = 1 };

/// Registers of the accumulators are the instructions' from here to wait(). All lanes of the warp must execute it and
/// what follows it together.
__device__ __forceinline__ void fence() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  __syncwarp();
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

/// Ends a group of instructions.
__device__ __forceinline__ void commit() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/// Waits until at most so many groups are under way.
template <int kPending>
__device__ __forceinline__ void wait() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
#endif
}

/// Ends a group of instructions and waits for all of them.
__device__ __forceinline__ void commit_and_wait() {
  commit();
  wait<0>();
}

/// What this thread wrote to shared memory becomes visible to matrix instructions of threads that it meets at a barrier
/// after this.
__device__ __forceinline__ void publish() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// The accumulators of 8 columns.
#define SPLITWAVE_TILE(n) "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3])
#define SPLITWAVE_16 "%0, %1, %2, %3, %4, %5, %6, %7"
#define SPLITWAVE_32 SPLITWAVE_16 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define SPLITWAVE_64                                          \
  SPLITWAVE_32                                                \
  ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, " \
  "%27, %28, %29, %30, %31"
#define SPLITWAVE_WGMMA(columns, type, registers, a, b, scale, major, ...)                                        \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " scale                                                      \
               ", 0;\n"                                                                                           \
               "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type " {" registers "}, " a ", " b \
               ", add, 1, 1, " major ", " major ";\n}"                                                            \
               : __VA_ARGS__                                                                                      \
               : "l"(desc_a), "l"(desc_b), "r"(add), "n"(static_cast<int>(kMajor)))

/// d (64 x 8 kTiles) = A B, added to it if `add`; A of 64 x 16 and B of 16 x 8 kTiles elements. Lane l of warp w holds
/// rows 16 w + l / 4 and + 8 of columns 2 (l % 4) and + 1 of each tile of 8, as mma.sync's accumulators do.
template <class Element, Major kMajor, int kTiles>
__device__ __forceinline__ void multiply(float (&d)[kTiles][4], std::uint64_t desc_a, std::uint64_t desc_b, int add) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  static_assert(kTiles == 2 || kTiles == 4 || kTiles == 8);
  constexpr bool kHalf = std::is_same_v<Element, __half>;
  if constexpr (kTiles == 2) {
    if constexpr (kHalf) {
      SPLITWAVE_WGMMA("16", "f16", SPLITWAVE_16, "%8", "%9", "%10", "%11", SPLITWAVE_TILE(0), SPLITWAVE_TILE(1));
    } else {
      SPLITWAVE_WGMMA("16", "bf16", SPLITWAVE_16, "%8", "%9", "%10", "%11", SPLITWAVE_TILE(0), SPLITWAVE_TILE(1));
    }
  } else if constexpr (kTiles == 4) {
    if constexpr (kHalf) {
      SPLITWAVE_WGMMA("32", "f16", SPLITWAVE_32, "%16", "%17", "%18", "%19", SPLITWAVE_TILE(0), SPLITWAVE_TILE(1),
                      SPLITWAVE_TILE(2), SPLITWAVE_TILE(3));
    } else {
      SPLITWAVE_WGMMA("32", "bf16", SPLITWAVE_32, "%16", "%17", "%18", "%19", SPLITWAVE_TILE(0), SPLITWAVE_TILE(1),
                      SPLITWAVE_TILE(2), SPLITWAVE_TILE(3));
    }
  } else {
    if constexpr (kHalf) {
      SPLITWAVE_WGMMA("64", "f16", SPLITWAVE_64, "%32", "%33", "%34", "%35", SPLITWAVE_TILE(0), SPLITWAVE_TILE(1),
                      SPLITWAVE_TILE(2), SPLITWAVE_TILE(3), SPLITWAVE_TILE(4), SPLITWAVE_TILE(5), SPLITWAVE_TILE(6),
                      SPLITWAVE_TILE(7));
    } else {
      SPLITWAVE_WGMMA("64", "bf16", SPLITWAVE_64, "%32", "%33", "%34", "%35", SPLITWAVE_TILE(0), SPLITWAVE_TILE(1),
                      SPLITWAVE_TILE(2), SPLITWAVE_TILE(3), SPLITWAVE_TILE(4), SPLITWAVE_TILE(5), SPLITWAVE_TILE(6),
                      SPLITWAVE_TILE(7));
    }
  }
#endif
}

#define SPLITWAVE_128                                                                                              \
  SPLITWAVE_64                                                                                                     \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53" \
  ", %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SPLITWAVE_256                                                                                                \
  SPLITWAVE_128                                                                                                      \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85"   \
  ", %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106" \
  ", %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124"     \
  ", %125, %126, %127"
#define SPLITWAVE_TILES(n)                                                                                       \
  SPLITWAVE_TILE(n), SPLITWAVE_TILE(n + 1), SPLITWAVE_TILE(n + 2), SPLITWAVE_TILE(n + 3), SPLITWAVE_TILE(n + 4), \
      SPLITWAVE_TILE(n + 5), SPLITWAVE_TILE(n + 6), SPLITWAVE_TILE(n + 7)
#define SPLITWAVE_WIDE(type, a, b, majors, ...)                                                      \
  asm volatile(                                                                                      \
      "{\n.reg .pred add;\nsetp.ne.b32 add, 1, 0;\n"                                                 \
      "wgmma.mma_async.sync.aligned.m64n256k16.f32." type "." type " {" SPLITWAVE_256 "}, " a ", " b \
      ", add, 1, 1, " majors ";\n}"                                                                  \
      : SPLITWAVE_TILES(0), SPLITWAVE_TILES(8), SPLITWAVE_TILES(16), SPLITWAVE_TILES(24)             \
      : __VA_ARGS__)

/// d (64 x 256) += A B as above, B with its 256 columns contiguous, in blocks of 64; A K-major in shared memory, or, of
/// this lane, in registers: rows l / 4 and + 8 of elements 2 (l % 4) and + 1, then the same of 8 elements later.
template <class Element>
__device__ __forceinline__ void multiply_wide(float (&d)[32][4], std::uint64_t desc_a, std::uint64_t desc_b) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  if constexpr (std::is_same_v<Element, __half>) {
    SPLITWAVE_WIDE("f16", "%128", "%129", "0, 1", "l"(desc_a), "l"(desc_b));
  } else {
    SPLITWAVE_WIDE("bf16", "%128", "%129", "0, 1", "l"(desc_a), "l"(desc_b));
  }
#endif
}
template <class Element>
__device__ __forceinline__ void multiply_wide(float (&d)[32][4], const std::uint32_t (&a)[4], std::uint64_t desc_b) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  if constexpr (std::is_same_v<Element, __half>) {
    SPLITWAVE_WIDE("f16", "{%128, %129, %130, %131}", "%132", "1", "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]),
                   "l"(desc_b));
  } else {
    SPLITWAVE_WIDE("bf16", "{%128, %129, %130, %131}", "%132", "1", "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]),
                   "l"(desc_b));
  }
#endif
}

#undef SPLITWAVE_WIDE
#undef SPLITWAVE_TILES
#undef SPLITWAVE_256
#undef SPLITWAVE_128
#undef SPLITWAVE_WGMMA
#undef SPLITWAVE_64
#undef SPLITWAVE_32
#undef SPLITWAVE_16
#undef SPLITWAVE_TILE

/// Keeps the compiler from moving uses of the accumulators to before this.
template <int kTiles>
__device__ __forceinline__ void hold(float (&d)[kTiles][4]) {
#pragma unroll
  for (int n = 0; n < kTiles; ++n) {
#pragma unroll
    for (int j = 0; j < 4; ++j) asm volatile("" : "+f"(d[n][j])::"memory");
  }
}

}  // namespace splitwave::gpu::wgmma
