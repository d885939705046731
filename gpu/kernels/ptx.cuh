// SPDX-License-Identifier: Apache-2.0
// The PTX instructions that CUDA C++ has no name for, one function each. PTX ISA 9.0.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace splitwave::gpu::ptx {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// ---- asynchronous copies -------------------------------------------------------------------------------------------

/// Copies 16 bytes to shared memory, or writes 16 zero bytes and reads nothing if !valid.
__device__ __forceinline__ void copy_16(std::uint32_t shared, const void* global, bool valid, std::uint64_t policy) {
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(shared), "l"(global),
               "r"(valid ? 16 : 0), "l"(policy)
               : "memory");
}

/// The same number, of which the compiler knows nothing.
__device__ __forceinline__ std::uint32_t opaque(std::uint32_t x) {
  asm volatile("mov.b32 %0, %0;" : "+r"(x));
  return x;
}

__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most `kPending` of this thread's groups of copies are under way.
template <int kPending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// ---- barriers of some of a CTA's threads
// -----------------------------------------------------------------------------

/// The CTA's first kThreads threads meet.
template <int kThreads>
__device__ __forceinline__ void sync_first() {
  asm volatile("barrier.cta.sync.aligned 1, %0;" ::"n"(kThreads) : "memory");
}

/// The same; whether `mine` is true for any of them.
template <int kThreads>
__device__ __forceinline__ bool any_of_first(bool mine) {
  std::uint32_t any = 0;
  asm volatile(
      "{\n.reg .pred p, q;\nsetp.ne.u32 p, %1, 0;\nbarrier.cta.red.or.pred.aligned q, 1, %2, p;\n"
      "selp.u32 %0, 1, 0, q;\n}"
      : "=r"(any)
      : "r"(mine ? 1 : 0), "n"(kThreads)
      : "memory");
  return any != 0;
}

/// All kThreads of a CTA meet, whose warps come from different places of the code.
template <int kThreads>
__device__ __forceinline__ void sync_all() {
  asm volatile("barrier.cta.sync.aligned 4, %0;" ::"n"(kThreads) : "memory");
}

/// The same for 128 threads that name a barrier of their own, 2 or 3.
__device__ __forceinline__ void sync_warpgroup(int barrier) {
  asm volatile("barrier.cta.sync.aligned %0, 128;" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ bool any_of_warpgroup(int barrier, bool mine) {
  std::uint32_t any = 0;
  asm volatile(
      "{\n.reg .pred p, q;\nsetp.ne.u32 p, %1, 0;\nbarrier.cta.red.or.pred.aligned q, %2, 128, p;\n"
      "selp.u32 %0, 1, 0, q;\n}"
      : "=r"(any)
      : "r"(mine ? 1 : 0), "r"(barrier)
      : "memory");
  return any != 0;
}

/// Gives registers of this warpgroup to others, or takes them.
template <int kCount>
__device__ __forceinline__ void keep_registers() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
#endif
}
template <int kCount>
__device__ __forceinline__ void take_registers() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
#endif
}

// ---- matrices ------------------------------------------------------------------------------------------------------

/// Four 8x8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void load_matrices(std::uint32_t (&a)[4], std::uint32_t shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(shared)
               : "memory");
}

__device__ __forceinline__ void load_matrices_transposed(std::uint32_t (&a)[4], std::uint32_t shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(shared)
               : "memory");
}

/// Transposes an 8x8 matrix of 16-bit elements that the warp holds.
__device__ __forceinline__ std::uint32_t transpose(std::uint32_t a) {
  std::uint32_t result = 0;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(a));
  return result;
}

__device__ __forceinline__ float exp2_approximate(float x) {
  float y = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ float reciprocal_approximate(float x) {
  float y = 0;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// ---- dependent launch ----------------------------------------------------------------------------------------------

__device__ __forceinline__ void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// ---- between CTAs --------------------------------------------------------------------------------------------------

/// Adds 1, wrapping to 0 after `last`. What came before is visible to all later increments, and what came before
/// earlier ones to this thread.
__device__ __forceinline__ std::uint32_t increment(std::uint32_t* counter, std::uint32_t last) {
  std::uint32_t old = 0;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(old) : "l"(counter), "r"(last) : "memory");
  return old;
}

/// The same where nobody needs to know the number or what came before it: the thread goes on at once.
__device__ __forceinline__ void report(std::uint32_t* counter, std::uint32_t last) {
  asm volatile("red.release.gpu.global.inc.u32 [%0], %1;" ::"l"(counter), "r"(last) : "memory");
}

/// increment() without any order.
__device__ __forceinline__ std::uint32_t increment_relaxed(std::uint32_t* counter, std::uint32_t last) {
  std::uint32_t old = 0;
  asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(old) : "l"(counter), "r"(last) : "memory");
  return old;
}

/// 16 bytes that other CTAs may be writing, as a whole and without any order.
__device__ __forceinline__ float4 load_whole(const char* from) {
  unsigned __int128 value = 0;
  asm volatile("ld.relaxed.gpu.global.b128 %0, [%1];" : "=q"(value) : "l"(from) : "memory");
  return make_float4(__uint_as_float(static_cast<std::uint32_t>(value)),
                     __uint_as_float(static_cast<std::uint32_t>(value >> 32)),
                     __uint_as_float(static_cast<std::uint32_t>(value >> 64)),
                     __uint_as_float(static_cast<std::uint32_t>(value >> 96)));
}

/// Writes 16 bytes that other CTAs may be reading.
__device__ __forceinline__ void store_whole(char* to, const uint4& value) {
  const unsigned __int128 low = value.x | static_cast<unsigned __int128>(value.y) << 32;
  const unsigned __int128 high = value.z | static_cast<unsigned __int128>(value.w) << 32;
  asm volatile("st.relaxed.gpu.global.b128 [%0], %1;" ::"l"(to), "q"(low | high << 64) : "memory");
}

__device__ __forceinline__ std::uint32_t load_acquire(const std::uint32_t* word) {
  std::uint32_t value = 0;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

__device__ __forceinline__ std::uint64_t nanoseconds() {
  std::uint64_t time = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
  return time;
}

/// Number of the SM that the CTA is on.
__device__ __forceinline__ std::uint32_t sm() {
  std::uint32_t number = 0;
  asm volatile("mov.u32 %0, %smid;" : "=r"(number));
  return number;
}

// ---- barriers in shared memory -------------------------------------------------------------------------------------

__device__ __forceinline__ void init_barrier(std::uint32_t barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// An arrival of this thread once all copies that it has asked for so far have come.
__device__ __forceinline__ void arrive_after_copies(std::uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

/// An arrival of this thread. What it read before, others may overwrite.
__device__ __forceinline__ void arrive(std::uint32_t barrier) {
  asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(barrier) : "memory");
}

/// Waits for the end of the phase with this parity. What this CTA's threads did before they arrived is visible then.
__device__ __forceinline__ void wait_own_barrier(std::uint32_t barrier, std::uint32_t parity) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n.reg .pred done;\n"
      "again_%=:\nmbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again_%=;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
#else
  asm volatile(
      "{\n.reg .pred done;\n"
      "again_%=:\nmbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n"
      "@!done bra again_%=;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
#endif
}

/// The same of the cluster's threads. It costs the SM what its L1 holds.
__device__ __forceinline__ void wait_barrier(std::uint32_t barrier, std::uint32_t parity) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n.reg .pred done;\n"
      "again_%=:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again_%=;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
#endif
}

/// An arrival of this thread. The phase does not end before `bytes` have been stored, by st.async or by copies of
/// boxes.
__device__ __forceinline__ void expect_bytes(std::uint32_t barrier, std::uint32_t bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
#endif
}

/// Asks for a tensor map, which a kernel's parameter is.
__device__ __forceinline__ void prefetch_map(const void* map) {
#if __CUDA_ARCH__ >= 900
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
#endif
}

/// Asks for the box of a tensor map of two dimensions that begins there, and reports its bytes to the barrier.
__device__ __forceinline__ void copy_box(std::uint32_t shared, const void* map, int column, int row,
                                         std::uint32_t barrier, std::uint64_t policy) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared),
      "l"(map), "r"(column), "r"(row), "r"(barrier), "l"(policy)
      : "memory");
#endif
}

// ---- clusters (sm_90) ----------------------------------------------------------------------------------------------
#if __CUDA_ARCH__ >= 900

__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// Arrival without release: a release here would wait for the thread's own copies from memory (0.5 us).
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// The address of this CTA's `shared` in CTA `rank` of the cluster.
__device__ __forceinline__ std::uint32_t remote_address(std::uint32_t shared, std::uint32_t rank) {
  std::uint32_t remote = 0;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared), "r"(rank));
  return remote;
}

/// Stores 16 bytes in another CTA of the cluster and reports them to its barrier.
__device__ __forceinline__ void store_remote(std::uint32_t remote, float4 value, std::uint32_t remote_barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(remote),
      "f"(value.x), "f"(value.y), "f"(value.z), "f"(value.w), "r"(remote_barrier)
      : "memory");
}

#endif

// ---- element types -------------------------------------------------------------------------------------------------

template <class Element>
struct Traits;

template <>
struct Traits<__half> {
  static __device__ __forceinline__ std::uint32_t pack(float a, float b) {
    const __half2 pair = __floats2half2_rn(a, b);
    return *reinterpret_cast<const std::uint32_t*>(&pair);
  }
  static __device__ __forceinline__ void mma(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                             std::uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};

template <>
struct Traits<__nv_bfloat16> {
  static __device__ __forceinline__ std::uint32_t pack(float a, float b) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
    return *reinterpret_cast<const std::uint32_t*>(&pair);
  }
  static __device__ __forceinline__ void mma(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                             std::uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};

}  // namespace splitwave::gpu::ptx
