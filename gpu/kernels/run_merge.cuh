// SPDX-License-Identifier: Apache-2.0
// Partial results of fragments that lie side by side, a run, by one warp: their rows are the same, so that maxima and
// sums, and what each part counts for, are found once for all of them.
#pragma once

#include "gpu/kernels/combine.cuh"
#include "gpu/kernels/params.h"

namespace splitwave::gpu {

/// Fragments of a warp of a merge kernel that has more of them than warps.
inline constexpr int kMergeRun = 4;

/// A lane's parts of a run, unnormalised, with the maxima and sums of its two rows.
template <int kRun>
struct RunningRun {
  float4 o[kRun] = {};
  float maximum[2] = {kNothingSeen, kNothingSeen};
  float sum[2] = {};
};

/// What the parts of a batch of kFarBatch count for. Lane l knows it of part l / 4 and the pair of rows l % 4, and
/// hands it round: held by each lane for all parts it would take the registers of what is asked for.
struct BatchFactors {
  float factor[2];
  float sum[2];

  /// Goes on with the maxima of the next batch. sums: maximum and sum of the part's first row, then of its second.
  template <int kRun>
  __device__ __forceinline__ void begin(const float4& sums, RunningRun<kRun>& run) {
    const float maximum[2] = {sums.x, sums.z};
    float before[2];
    sum[0] = sums.y;
    sum[1] = sums.w;
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float raised = maximum[j];
#pragma unroll
      for (int lanes = 4; lanes < 32; lanes <<= 1) raised = fmaxf(raised, __shfl_xor_sync(~0U, raised, lanes));
      raised = fmaxf(raised, run.maximum[j]);
      factor[j] = ptx::exp2_approximate(maximum[j] - raised);
      before[j] = ptx::exp2_approximate(run.maximum[j] - raised);
      run.sum[j] *= before[j];
      run.maximum[j] = raised;
    }
#pragma unroll
    for (float4& o : run.o) o = make_float4(o.x * before[0], o.y * before[1], o.z * before[0], o.w * before[1]);
  }

  /// Adds part i of the batch. In order, the bits are those of add_batch().
  template <int kRun>
  __device__ __forceinline__ void add(int i, int lane, const float4 (&o)[kRun], RunningRun<kRun>& run) const {
    const int from = i * 4 + (lane & 3);
    const float of_part[2] = {__shfl_sync(~0U, factor[0], from), __shfl_sync(~0U, factor[1], from)};
#pragma unroll
    for (int j = 0; j < 2; ++j) run.sum[j] += of_part[j] * __shfl_sync(~0U, sum[j], from);
#pragma unroll
    for (int r = 0; r < kRun; ++r) {
      run.o[r].x += of_part[0] * o[r].x;
      run.o[r].y += of_part[1] * o[r].y;
      run.o[r].z += of_part[0] * o[r].z;
      run.o[r].w += of_part[1] * o[r].w;
    }
  }
};

/// Adds the source's partial results of a run. at: bytes from a partial result's begin to the lane's part of the run's
/// first fragment; sums_at: from its sums' begin to those of the run's rows.
template <int kRun>
__device__ __forceinline__ void combine_run(const Source& source, int at, int sums_at, int lane,
                                            RunningRun<kRun>& run) {
  constexpr int kTurn = kPartsPerMergeWarp;
  constexpr int kAsked = 16 / kRun;  // parts that are asked for at a time
  static_assert(kTurn % kAsked == 0 && kTurn % kFarBatch == 0);
#pragma unroll 1
  for (int first = 0; first < source.count; first += kTurn) {
    float4 sums[kTurn / kFarBatch];
#pragma unroll
    for (int batch = 0; batch < kTurn / kFarBatch; ++batch) {
      sums[batch] = make_float4(kNothingSeen, 0, kNothingSeen, 0);
      const int part = first + batch * kFarBatch + (lane >> 2);
      if (part >= source.count) continue;
      sums[batch] =
          *reinterpret_cast<const float4*>(source.sums + part * source.sum_stride + sums_at + (lane & 3) * 16);
    }
    BatchFactors factors;
#pragma unroll
    for (int asked = 0; asked < kTurn; asked += kAsked) {
      if (first + asked >= source.count) break;
      float4 o[kAsked][kRun];
#pragma unroll
      for (int i = 0; i < kAsked; ++i) {
        const int part = first + asked + i;
        const auto* from = reinterpret_cast<const float4*>(source.fragments + part * source.fragment_stride + at);
#pragma unroll
        for (int r = 0; r < kRun; ++r) o[i][r] = part < source.count ? from[r * 32] : make_float4(0, 0, 0, 0);
      }
#pragma unroll
      for (int i = 0; i < kAsked; ++i) {
        const int part = asked + i;
        if (part % kFarBatch == 0) {
          if (first + part >= source.count) break;
          factors.begin(sums[part / kFarBatch], run);
        }
        factors.add(part % kFarBatch, lane, o[i], run);
      }
    }
  }
}

/// Writes the elements of a run, the first of a row tile with the LSE. fragment: its first. maximum, sum: of the lane's
/// pair of rows.
template <class Config, int kRun>
__device__ __forceinline__ void write_run(void* output, float* lse, const Rows& rows, int fragment, int lane,
                                          const float4 (&o)[kRun], const float (&maximum)[2], const float (&sum)[2]) {
  const int n = fragment / Config::kDimTiles;
  const int first = fragment % Config::kDimTiles;
  const RowTileWriter<Config> writer(output, rows, n, first, lane, sum);
  if constexpr (kRun == 1) {
    writer.write(0, o[0]);
  } else {
#pragma unroll
    for (int r = 0; r < kRun; r += 2) writer.write_two(r, o[r], o[r + 1], lane);
  }
  if (first == 0) write_lse(lse, rows, n, lane, maximum, sum);
}

}  // namespace splitwave::gpu
