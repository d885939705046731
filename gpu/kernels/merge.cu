// SPDX-License-Identifier: Apache-2.0
// The merge as a kernel of its own: a warp takes a fragment of a split output and row block, which several share where
// it has many parts, or, where there are more fragments than warps, some that lie side by side.
#include "gpu/kernels/combine.cuh"
#include "gpu/kernels/recorder.cuh"
#include "gpu/kernels/run_merge.cuh"
#include "gpu/kernels/table.h"

namespace splitwave::gpu {

/// Of a row block: those that have rows.
template <class Config>
__device__ __forceinline__ int fragments_of(int rows) {
  return min((rows + 7) / 8, Config::kRowTiles) * Config::kDimTiles;
}

/// kRun: fragments of a warp. With more than one, no other warps share them. An SM holds two CTAs: with the registers
/// that the compiler takes of itself it may be one, and merges take up to 1.2 times as long.
template <class Config, int kRun>
__global__ void __launch_bounds__(Config::kThreads, 2) merge_kernel(const __grid_constant__ MergeParams params) {
  if ((params.dependent_launch & kTriggerFirst) != 0) ptx::let_next_kernel_start();
  const int lane = threadIdx.x & 31;
  const int warp = threadIdx.x >> 5;
  const int row_blocks = gridDim.y;
  const int row_block = blockIdx.y;
  const DeviceMerge merge = params.merges[blockIdx.x];  // the host's, not the previous kernel's
  const int first_row = row_block * Config::kRows;
  const Rows rows{merge.query_row, merge.row_begin + first_row, merge.head_count,
                  min(merge.rows - first_row, Config::kRows), params.query_heads};
  // Warps of a fragment lie side by side, as many as this output needs.
  const int shift = kRun > 1 ? 0 : merge.warps_shift;
  const int first_fragment = (static_cast<int>(blockIdx.z * Config::kWarps) >> shift) * kRun;
  const bool idle = merge.parts == 0 || first_fragment >= fragments_of<Config>(rows.count);
  // CTAs without work leave their place at once. The first one stays: the next kernel may begin when all have ended,
  // which must not be before the previous one has.
  if (idle && (blockIdx.x | blockIdx.y | blockIdx.z) != 0) return;
  if ((params.dependent_launch & kWaitFirst) != 0) ptx::wait_for_previous_kernel();
  if (idle) return;
  const std::uint64_t began = kRecords ? time_stamp() : 0;
  const std::int64_t block = static_cast<std::int64_t>(merge.slot_begin) * row_blocks + row_block;
  const char* sums =
      reinterpret_cast<const char*>(params.partial_sums) + (block << params.cluster_shift) * Config::kSumBytes;
  Source slots{reinterpret_cast<const char*>(params.partials) + block * Config::kFragmentBytes,
               static_cast<std::int64_t>(row_blocks) * Config::kFragmentBytes, sums,
               static_cast<std::int64_t>(row_blocks * Config::kSumBytes) << params.cluster_shift, merge.parts};
  const int place = warp & ((1 << shift) - 1);
  const int fragment = (static_cast<int>(blockIdx.z * Config::kWarps + warp) >> shift) * kRun;
  const int row_tile = fragment / Config::kDimTiles;
  const bool active = fragment < fragments_of<Config>(rows.count);
  const int rank = (fragment << params.cluster_shift) / Config::kFragments;  // whose CTA wrote it and its sums
  slots = share_of(slots, place, shift);
  if (!active) slots.count = 0;
  RunningRun<kRun> run;
  combine_run(slots, fragment * 512 + lane * 16, rank * Config::kSumBytes + row_tile * 64, lane, run);
  if constexpr (kRun > 1) {
    if (active) {
      write_run<Config>(params.output, params.lse, rows, fragment, lane, run.o, run.maximum, run.sum);
    }
  } else {
    Running one = running(run.o[0], run.maximum, run.sum);
    if (shift > 0) {
      __shared__ Running shared[Config::kThreads];
      add_warps(shared, one, warp, lane, shift, active, [] { __syncthreads(); });
    }
    if (place == 0 && active) write_output<Config>(params.output, params.lse, rows, fragment, lane, one);
  }
  if (kRecords && threadIdx.x == 0 && blockIdx.z == 0 && params.merges_recorded != nullptr) {
    params.merges_recorded[block << params.cluster_shift] = {began, time_stamp(), cta_number(),
                                                             static_cast<std::int32_t>(ptx::sm())};
  }
}

template <class Element, int kValueDim, int kRowTiles>
MergeKernel entry() {
  // Stages and tokens mean nothing here.
  using Shape = Config<Element, kValueDim, kRowTiles, 8, 1, 16, false>;
  return {kValueDim,
          kRowTiles,
          std::is_same_v<Element, __nv_bfloat16>,
          Shape::kThreads,
          Shape::kFragments,
          reinterpret_cast<const void*>(&merge_kernel<Shape, 1>),
          kMergeRun,
          reinterpret_cast<const void*>(&merge_kernel<Shape, kMergeRun>)};
}

std::span<const MergeKernel> merge_kernels() {
  static const MergeKernel all[] = {
      entry<__half, 64, 1>(),         entry<__half, 64, 2>(),         entry<__half, 64, 4>(),
      entry<__half, 64, 8>(),         entry<__half, 128, 1>(),        entry<__half, 128, 2>(),
      entry<__half, 128, 4>(),        entry<__half, 128, 8>(),        entry<__half, 256, 1>(),
      entry<__half, 256, 2>(),        entry<__half, 256, 4>(),        entry<__half, 256, 8>(),
      entry<__half, 512, 2>(),        entry<__half, 512, 4>(),        entry<__half, 512, 8>(),
      entry<__nv_bfloat16, 64, 1>(),  entry<__nv_bfloat16, 64, 2>(),  entry<__nv_bfloat16, 64, 4>(),
      entry<__nv_bfloat16, 64, 8>(),  entry<__nv_bfloat16, 128, 1>(), entry<__nv_bfloat16, 128, 2>(),
      entry<__nv_bfloat16, 128, 4>(), entry<__nv_bfloat16, 128, 8>(), entry<__nv_bfloat16, 256, 1>(),
      entry<__nv_bfloat16, 256, 2>(), entry<__nv_bfloat16, 256, 4>(), entry<__nv_bfloat16, 256, 8>(),
      entry<__nv_bfloat16, 512, 2>(), entry<__nv_bfloat16, 512, 4>(), entry<__nv_bfloat16, 512, 8>(),
  };
  return all;
}

}  // namespace splitwave::gpu
