// SPDX-License-Identifier: Apache-2.0
// Small items of a latent cache by a CTA alone that holds all of their keys, two tiles of 64 tokens: each warpgroup has
// the scores and weights of one, and half of the value's elements over both. Without peers each byte is read once, and
// there are twice as many tokens on the device as in clusters.
#pragma once

#include "gpu/kernels/group.cuh"
#include "gpu/kernels/whole_latent_finish.cuh"
#include "gpu/kernels/whole_latent_loader.cuh"
#include "gpu/kernels/whole_latent_weights.cuh"

namespace splitwave::gpu {

/// O^T = V^T P^T of the warpgroup's elements: [block of 64][row tile].
template <class Config>
using AloneLatentProducts = float[Config::kGroupBlocks][Config::kRowTiles][4];

template <class Config>
__device__ __forceinline__ void start_alone_values(const Cta<Config>& cta, int tile, AloneLatentProducts<Config>& o) {
  const std::uint32_t shared = ptx::shared_address(cta.shared);
  const std::uint32_t values = tile * Config::kTileBytes + cta.warp / 4 * Config::kGroupBlocks * Config::kBlockBytes;
  const std::uint64_t first_a = wgmma::descriptor(shared + values);
  const std::uint64_t first_b =
      wgmma::descriptor<Config::kWeightRowBytes>(shared + Config::kWeightOffset + tile * Config::kWeightBytes);
#pragma unroll
  for (int d = 0; d < Config::kGroupBlocks; ++d) {
#pragma unroll
    for (int k = 0; k < Config::kGroupTokens / 16; ++k) {
      const std::uint64_t a = wgmma::advance(first_a, d * Config::kBlockBytes + k * 2048);
      const std::uint64_t b = wgmma::advance(first_b, k * 16 * Config::kWeightRowBytes);
      wgmma::multiply<typename Config::Element, wgmma::Major::mn>(o[d], a, b, tile > 0 || k > 0 ? 1 : 0);
    }
  }
}

/// The weights of the warpgroup's tile by the maxima of all, and each warp's sums. Nothing of a tile without tokens.
template <class Config>
__device__ __forceinline__ void weigh_alone_latent(const Cta<Config>& cta, const DeviceItem& item, int tiles,
                                                   float (&maximum)[Config::kRowTiles][2]) {
  const int tile = cta.warp / 4;
  GroupScores<Config> s;
  float scale = 1;
  if (tile < tiles) {
    scale = multiply_whole_latent_keys(cta, item, tile, s);
    if (tile + 1 == tiles) clear_values_behind(cta, item, tiles, tile * Config::kTileBytes);
  } else {
#pragma unroll
    for (auto& of_row_tile : s) {
#pragma unroll
      for (float& x : of_row_tile) x = -INFINITY;
    }
  }
  lane_maxima<Config>(s, scale, maximum);
  maxima_of_warps<Config>(cta, reinterpret_cast<float2*>(cta.shared + Config::kWarpMaximaOffset), maximum);
  make_weights(cta, Config::kWeightOffset + tile * Config::kWeightBytes, s, scale, maximum, [](int) {});
}

/// The threads that work on the CTA's item.
template <class Config>
__device__ __forceinline__ void run_alone_latent(const Cta<Config>& cta, const DeviceItem& item, const Rows& rows) {
  const int tiles = ctas_with_tokens<Config>(item);
  ptx::wait_copies<0>();
  wgmma::publish();
  cta.sync();
  float maximum[Config::kRowTiles][2];
  weigh_alone_latent(cta, item, tiles, maximum);
  if constexpr (Config::kBoxes) {  // each warpgroup waited for its own tile's
#pragma unroll
    for (int part = 0; part < Config::kKeyParts; ++part) {
      ptx::wait_own_barrier(keys_filled(cta, part), 0);
      if (tiles > 1) ptx::wait_own_barrier(keys_filled(cta, part, 1), 0);
    }
  }
  if ((cta.params.dependent_launch & kTriggerLate) != 0) ptx::let_next_kernel_start();
  wgmma::publish();
  cta.sync();
  AloneLatentProducts<Config> o;
  wgmma::fence();
  start_alone_values(cta, 0, o);
  if (tiles > 1) start_alone_values(cta, 1, o);
  wgmma::commit_and_wait();
#pragma unroll
  for (auto& block : o) wgmma::hold(block);
  const auto* sums = reinterpret_cast<const float2*>(cta.shared + Config::kWarpSumsOffset) + (cta.lane & 3);
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    float4 total = make_float4(maximum[n][0], 0, maximum[n][1], 0);
#pragma unroll
    for (int warp = 0; warp < Config::kWarps; ++warp) {
      const float2 of_warp = sums[(warp * Config::kRowTiles + n) * 4];
      total.y += of_warp.x;
      total.w += of_warp.y;
    }
    const int first = cta.warp / 4 * Config::kGroupBlocks * 4 + cta.warp % 4;
    put_row_tile(cta, item, rows, n, first, total, [&](int d) {
      const float(&part)[4] = o[d][n];
      return make_float4(part[0], part[1], part[2], part[3]);
    });
  }
  if constexpr (kRecords) end_item(cta);
  if constexpr (Config::kParts) merge_whole_latent(cta, item, rows);
}

/// keys: where Config::kBoxes.
template <class Config>
__device__ __forceinline__ void run_alone_latent_cta(const DecodeParams& params, unsigned char* shared,
                                                     const KeyMap* keys) {
  const Cta<Config> cta = place<Config>(params, shared);
  if constexpr (kRecords) begin_recording(cta);
  if ((params.dependent_launch & kTriggerFirst) != 0) ptx::let_next_kernel_start();
  if ((params.dependent_launch & kWaitFirst) != 0) ptx::wait_for_previous_kernel();
  const DeviceItem item = only_item(cta);
  const Rows rows = rows_of<Config>(params, item, cta.row_block);
  const bool works = cta.warp < Config::kWarps;
  if constexpr (kRecords) begin_item(cta, cta.worker);
  const bool wait_after_fill = (params.dependent_launch & kWaitAfterFill) != 0;
  if (Config::kBoxes && threadIdx.x == Config::kThreads) {
    const BoxProducer<Config> producer(cta, item, *keys);  // pages come while the barriers are made
    open_alone_latent(cta);
    producer.ask_for_keys();
  }
  if (works && !wait_after_fill) request_latent_queries(cta, rows);
  if constexpr (!Config::kBoxes) {
    if (works) copy_own_keys(cta, item);
  }
  __syncthreads();
  if (works) {
    if (wait_after_fill) {
      ptx::wait_for_previous_kernel();
      request_latent_queries(cta, rows);
    }
    ptx::commit_copies();
    run_alone_latent(cta, item, rows);
  }
  if constexpr (kRecords) end_recording(cta);
}

}  // namespace splitwave::gpu
