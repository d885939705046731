// SPDX-License-Identifier: Apache-2.0
// Small problems: a CTA holds all its tokens at once and has no loop. The warps share the tokens for S^T = K Q^T, and
// the head dimension for O^T = V^T P^T, so that each ends with finished fragments of the CTA's result, and there is
// nothing to combine but clusters.
#pragma once

#include "gpu/kernels/cta.cuh"
#include "gpu/kernels/finish.cuh"
#include "gpu/kernels/items.cuh"
#include "gpu/kernels/loader.cuh"
#include "gpu/kernels/packets.cuh"
#include "gpu/kernels/params.h"
#include "gpu/kernels/ptx.cuh"
#include "gpu/kernels/recorder.cuh"
#include "gpu/kernels/tile.cuh"

namespace splitwave::gpu {

/// The CTA's maxima of each row: a warp's lanes agree, leave theirs, and take the greatest of all warps'.
template <class Config>
__device__ __forceinline__ void share_maxima(const Cta<Config>& cta, const Scores<Config>& s,
                                             float (&maximum)[Config::kRowTiles][2]) {
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float& x = maximum[n][j];
      x = fmaxf(s[n][0][j], s[n][0][j + 2]);
#pragma unroll
      for (int i = 1; i < Config::kTokenTiles; ++i) x = fmaxf(x, fmaxf(s[n][i][j], s[n][i][j + 2]));
    }
  }
  maxima_of_warps<Config>(cta, reinterpret_cast<float2*>(cta.shared + Config::kMaximaOffset), maximum);
}

/// Leaves the softmax's weights of the warp's tokens where all warps find them, as B operands, and their sums.
template <class Config>
__device__ __forceinline__ void share_weights(const Cta<Config>& cta, const Scores<Config>& s,
                                              const float (&maximum)[Config::kRowTiles][2]) {
  Accumulator<Config> acc;
  Probabilities<Config> p;
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      acc.maximum[n][j] = maximum[n][j];
      acc.sum[n][j] = 0;
    }
  }
  exponentiate<Config>(s, acc, p);
  auto* weights = reinterpret_cast<uint2*>(cta.shared + Config::kReduceOffset) + cta.lane;
  auto* sums = reinterpret_cast<float2*>(cta.shared + Config::kSumsOffset);
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
#pragma unroll
    for (int i = 0; i < Config::kTokenTiles; ++i) {
      weights[((cta.warp * Config::kTokenTiles + i) * Config::kRowTiles + n) * 32] = {p[n][i][0], p[n][i][1]};
    }
#pragma unroll
    for (int lanes = 4; lanes < 32; lanes <<= 1) {
      acc.sum[n][0] += __shfl_xor_sync(~0U, acc.sum[n][0], lanes);
      acc.sum[n][1] += __shfl_xor_sync(~0U, acc.sum[n][1], lanes);
    }
    if (cta.lane < 4) sums[(cta.warp * Config::kRowTiles + n) * 4 + cta.lane] = {acc.sum[n][0], acc.sum[n][1]};
  }
}

/// O^T = V^T P^T over all tokens for the warp's tiles of the head dimension; hands the finished fragments on.
template <class Config>
__device__ __forceinline__ void multiply_values_whole(const Cta<Config>& cta, const Rows& rows,
                                                      const float (&maximum)[Config::kRowTiles][2]) {
  using T = ptx::Traits<typename Config::Element>;
  constexpr int kTiles = (Config::kDimTiles + Config::kWarps - 1) / Config::kWarps;  // of the warp
  constexpr int kChains = kTiles * Config::kRowTiles == 1 ? 4 : kTiles * Config::kRowTiles == 2 ? 2 : 1;
#if __CUDA_ARCH__ >= 900
  if (Config::kSingleItemCluster > 1) ptx::cluster_wait();
#endif
  if (Config::kDimTiles % Config::kWarps != 0 && cta.warp >= Config::kDimTiles) return;
  float o[kChains][kTiles][Config::kRowTiles][4] = {};
  const std::uint32_t base = value_address<Config>(ptx::shared_address(cta.shared), cta.lane);
  const auto* weights = reinterpret_cast<const uint2*>(cta.shared + Config::kReduceOffset) + cta.lane;
#pragma unroll
  for (int w = 0; w < Config::kWarps; ++w) {
#pragma unroll
    for (int i = 0; i < Config::kTokenTiles; ++i) {
      const int step = w * Config::kTokenTiles + i;
      uint2 p[Config::kRowTiles];
#pragma unroll
      for (int n = 0; n < Config::kRowTiles; ++n) p[n] = weights[(step * Config::kRowTiles + n) * 32];
#pragma unroll
      for (int j = 0; j < kTiles; ++j) {
        std::uint32_t a[4];
        ptx::load_matrices_transposed(
            a, value_tile<Config>(base, i, cta.warp + j * Config::kWarps) + w * Config::kStageBytes);
#pragma unroll
        for (int n = 0; n < Config::kRowTiles; ++n) T::mma(o[step % kChains][j][n], a, p[n].x, p[n].y);
      }
    }
  }
  const auto* sums = reinterpret_cast<const float2*>(cta.shared + Config::kSumsOffset) + (cta.lane & 3);
  constexpr Sink kSink = Config::kSingleItemCluster > 1 ? Sink::ranks : Sink::output;
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    float sum[2] = {};
#pragma unroll
    for (int w = 0; w < Config::kWarps; ++w) {
      const float2 of_warp = sums[(w * Config::kRowTiles + n) * 4];
      sum[0] += of_warp.x;
      sum[1] += of_warp.y;
    }
    put_tile<kTiles, Config::kWarps>(cta, n, cta.warp, maximum[n], sum, kSink, 0, rows, -1, [&](int j) {
      float all[4];
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        all[x] = o[0][j][n][x];
#pragma unroll
        for (int chain = 1; chain < kChains; ++chain) all[x] += o[chain][j][n][x];
      }
      return make_float4(all[0], all[1], all[2], all[3]);
    });
  }
}

/// The one item of a CTA of a plan that gives no warp more than one chunk, and splits nothing but for kernels that take
/// parts.
template <class Config>
__device__ __forceinline__ void run_whole_item(const Cta<Config>& cta, std::uint32_t stage, Loader<Config>& loader,
                                               bool wait_after_fill) {
  const DecodeParams& params = cta.params;
  const DeviceItem item = only_item(cta);
  if constexpr (kRecords) begin_item(cta, cta.worker);
  const Rows rows = rows_of<Config>(params, item, 0);
  // Every warp has a chunk, so that all of V is written, though it may hold none of the CTA's tokens.
  const ChunkRange range = chunk_range<Config>(item, cta.shift(), cta.rank, cta.warp, 0);
  DeviceItem mine = item;
  mine.kv_end = min(item.kv_end, item.kv_begin + range.end * Config::kTokens);
  if (!wait_after_fill) request_queries(cta, rows);
  loader.start(mine, {range.first, range.first + 1});
  loader.fill(0);
  open_receivers(cta);  // while the data are on their way
  if (wait_after_fill) {
    ptx::wait_for_previous_kernel();
    request_queries(cta, rows);
  }
  const bool split = Config::kParts && item.parts > 1;
  std::uint32_t ticket = 0;
  if constexpr (Config::kParts) {
    if (split) ticket = take_ticket(cta, item);
  }
  // Without waiting here for V, which comes last where the queries came first.
  if (wait_after_fill || Config::kPaged) {
    ptx::wait_copies<0>();
  } else {
    ptx::wait_copies<1>();
  }
  __syncthreads();
  QueryFragments<Config> q;
  Scores<Config> s;
  float maximum[Config::kRowTiles][2];
  take_queries(cta, q);
  multiply_keys<Config>(stage, q, params.scale_log2, 0, cta.lane, s);
  const int valid = mine.kv_end - item.kv_begin - range.first * Config::kTokens;
  if (valid < Config::kTokens) mask_tail<Config>(valid, cta.lane, s);
  share_maxima(cta, s, maximum);
  share_weights(cta, s, maximum);
  ptx::wait_copies<0>();
  __syncthreads();
  if ((params.dependent_launch & kTriggerLate) != 0) ptx::let_next_kernel_start();
  multiply_values_whole(cta, rows, maximum);
  combine_ranks(cta, rows, split ? item.slot_begin + item.part : -1);
  if constexpr (kRecords) end_item(cta);
  if constexpr (Config::kParts) {
    if (split) merge_if_last(cta, item, rows, ticket);
  }
}

}  // namespace splitwave::gpu
