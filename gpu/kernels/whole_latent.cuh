// SPDX-License-Identifier: Apache-2.0
// Small items of a latent cache by a cluster that holds all of their keys: each CTA has the scores and weights of 64
// tokens and, over all tokens, a part of the value's elements, which it asks for by itself. So what the CTAs send each
// other are weights, 2 bytes a token and row, and not results, and what each ends with is finished.
#pragma once

#include "gpu/kernels/alone_latent.cuh"
#include "gpu/kernels/finish.cuh"
#include "gpu/kernels/group.cuh"
#include "gpu/kernels/whole_latent_finish.cuh"
#include "gpu/kernels/whole_latent_loader.cuh"
#include "gpu/kernels/whole_latent_weights.cuh"

namespace splitwave::gpu {

/// O^T = V^T P^T of each CTA's tokens apart, as their maxima differ: [peer_of()][block of 64 elements][row tile]. Of
/// CTAs without tokens it is what the first one's give: conditions between the instructions would make each wait for
/// the one before.
template <class Config>
using WholeLatentProducts = float[Config::kSingleItemCluster][Config::kCtaBlocks][Config::kRowTiles][4];

/// Of the CTAs kFirst to kLast, without that, in the order of peer_of().
template <int kFirst, int kLast, class Config>
__device__ __forceinline__ void start_whole_latent_values(const Cta<Config>& cta, int ctas,
                                                          WholeLatentProducts<Config>& o) {
  const std::uint32_t shared = ptx::shared_address(cta.shared);
  wgmma::fence();
#pragma unroll
  for (int i = kFirst; i < kLast; ++i) {
    const int tile = peer_of(cta, i) < ctas ? peer_of(cta, i) : 0;
    const std::uint64_t first_a = wgmma::descriptor(shared + value_place(cta, tile));
    const std::uint64_t first_b =
        wgmma::descriptor<Config::kWeightRowBytes>(shared + Config::kWeightOffset + tile * Config::kWeightBytes);
#pragma unroll
    for (int d = 0; d < Config::kCtaBlocks; ++d) {
#pragma unroll
      for (int k = 0; k < Config::kGroupTokens / 16; ++k) {
        const std::uint64_t a = wgmma::advance(first_a, d * Config::kBlockBytes + k * 2048);
        const std::uint64_t b = wgmma::advance(first_b, k * 16 * Config::kWeightRowBytes);
        wgmma::multiply<typename Config::Element, wgmma::Major::mn>(o[i][d], a, b, k > 0 ? 1 : 0);
      }
    }
  }
  wgmma::commit();
}

/// Finds by what factor each CTA's products of a row count, and the row's maximum and sum over all: a thread for a row
/// of a CTA.
template <class Config>
__device__ __forceinline__ void find_factors(const Cta<Config>& cta, int ctas) {
  constexpr int kCluster = Config::kSingleItemCluster;
  auto* factors = reinterpret_cast<float*>(cta.shared + Config::kFactorsOffset);
  auto* totals = reinterpret_cast<float2*>(cta.shared + Config::kTotalsOffset);
#pragma unroll
  for (int first = 0; first < kCluster * Config::kRows; first += Config::kThreads) {
    const int index = first + static_cast<int>(threadIdx.x);
    if (kCluster * Config::kRows < Config::kThreads && index >= kCluster * Config::kRows) return;
    const int from = index % kCluster;
    const int row = index / kCluster;
    float2 x = make_float2(kNothingSeen, 0);
    if (from < ctas) {
      x = *reinterpret_cast<const float2*>(cta.shared + Config::kSumsOffset + from * Config::kSumBytes + row * 8);
    }
    float maximum = x.x;
#pragma unroll
    for (int lanes = 1; lanes < kCluster; lanes <<= 1) {
      maximum = fmaxf(maximum, __shfl_xor_sync(~0U, maximum, lanes));
    }
    const float factor = from < ctas ? ptx::exp2_approximate(x.x - maximum) : 0.0F;
    float sum = factor * x.y;
#pragma unroll
    for (int lanes = 1; lanes < kCluster; lanes <<= 1) sum += __shfl_xor_sync(~0U, sum, lanes);
    factors[from * Config::kRows + row] = factor;
    if (from == 0) totals[row] = make_float2(maximum, sum);
  }
}

/// Weighs the products and hands them on: to the output, or as packets of its part. Those of CTAs without tokens count
/// for nothing as well: asking which they are would be a branch for each, eight clocks' work in seventy.
template <class Config>
__device__ __forceinline__ void put_whole_latent(const Cta<Config>& cta, const DeviceItem& item, const Rows& rows,
                                                 const WholeLatentProducts<Config>& o) {
  const auto* factors = reinterpret_cast<const float2*>(cta.shared + Config::kFactorsOffset) + (cta.lane & 3);
  const auto* totals = reinterpret_cast<const float4*>(cta.shared + Config::kTotalsOffset) + (cta.lane & 3);
  const int first = cta.rank * Config::kCtaBlocks * 4 + cta.warp;  // of the warp's dimension tiles
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    const float4 total = totals[n * 4];
    float2 factor[Config::kSingleItemCluster];
#pragma unroll
    for (int i = 0; i < Config::kSingleItemCluster; ++i) {
      factor[i] = factors[peer_of(cta, i) * (Config::kRows / 2) + n * 4];
    }
    const auto fragment = [&](int d) {
      float4 all = make_float4(0, 0, 0, 0);
#pragma unroll
      for (int i = 0; i < Config::kSingleItemCluster; ++i) {
        const float(&part)[4] = o[i][d][n];
        all.x += factor[i].x * part[0];
        all.y += factor[i].y * part[1];
        all.z += factor[i].x * part[2];
        all.w += factor[i].y * part[3];
      }
      return all;
    };
    put_row_tile(cta, item, rows, n, first, total, fragment);
  }
}

/// The threads that work on the CTA's item.
template <class Config>
__device__ __forceinline__ void run_whole_latent(const Cta<Config>& cta, const DeviceItem& item, int ctas,
                                                 const Rows& rows) {
  const DecodeParams& params = cta.params;
  const bool has_tokens = cta.rank < ctas;
  WholeLatentProducts<Config> o;
  if (has_tokens) {
    const Peers<Config> peers(cta);
#if __CUDA_ARCH__ >= 900
    ptx::cluster_wait();
#endif
    ptx::wait_copies<0>();
    wgmma::publish();
    cta.sync();
    weigh_whole_latent(cta, item, peers);
    if (cta.rank + 1 == ctas) clear_values_behind(cta, item, ctas, value_place(cta, ctas - 1));
    wgmma::publish();
    meet_sender<Config>();
    start_whole_latent_values<0, 1>(cta, ctas, o);
  }
  ptx::wait_own_barrier(values_filled(cta), 0);
  if ((params.dependent_launch & kTriggerLate) != 0) ptx::let_next_kernel_start();
  ptx::wait_barrier(weights_received(cta), 0);
  if (cta.rank + 1 != ctas) clear_values_behind(cta, item, ctas, value_place(cta, ctas - 1));
  wgmma::publish();
  cta.sync();
  if (!has_tokens) start_whole_latent_values<0, 1>(cta, ctas, o);
  start_whole_latent_values<1, Config::kSingleItemCluster>(cta, ctas, o);
  ptx::wait_barrier(sums_received(cta), 0);
  if (has_tokens) meet_sender<Config>();
  find_factors(cta, ctas);
  cta.sync();
  wgmma::wait<0>();
#pragma unroll
  for (auto& of_cta : o) {
#pragma unroll
    for (auto& block : of_cta) wgmma::hold(block);
  }
  put_whole_latent(cta, item, rows, o);
  if constexpr (kRecords) end_item(cta);
}

/// What is left to the loaders once they have asked for all: the first warp sends the sums, as soon as those that work
/// have them.
template <class Config>
__device__ __forceinline__ void send_whole_latent_sums(const Cta<Config>& cta, int ctas) {
  if (cta.warp > Config::kWarps || cta.rank >= ctas) return;
  const Peers<Config> peers(cta);
#if __CUDA_ARCH__ >= 900
  ptx::cluster_wait();
#endif
  meet_sender<Config>();
  send_sums(cta, peers);
  __syncwarp();
  meet_sender<Config>();
}

/// keys: where Config::kBoxes.
template <class Config>
__device__ __forceinline__ void run_whole_latent_cta(const DecodeParams& params, unsigned char* shared,
                                                     const KeyMap* keys) {
  const Cta<Config> cta = place<Config>(params, shared);
  if constexpr (kRecords) begin_recording(cta);
  if ((params.dependent_launch & kTriggerFirst) != 0) ptx::let_next_kernel_start();
  if ((params.dependent_launch & kWaitFirst) != 0) ptx::wait_for_previous_kernel();
  const DeviceItem item = only_item(cta);
  const Rows rows = rows_of<Config>(params, item, cta.row_block);
  const int ctas = ctas_with_tokens<Config>(item);
  const bool works = cta.warp < Config::kWarps;
  if constexpr (kRecords) begin_item(cta, cta.worker);
  const auto ask_for_queries = [&] {
    if (works && cta.rank < ctas) request_latent_queries(cta, rows);
  };
  const bool wait_after_fill = (params.dependent_launch & kWaitAfterFill) != 0;
  if (threadIdx.x == Config::kThreads) {
    if constexpr (Config::kBoxes) {
      const BoxProducer<Config> producer(cta, item, *keys);  // pages come while the barriers are made
      open_whole_latent(cta, ctas);
      producer.ask_for_keys();
      producer.ask_for_values();
    } else {
      open_whole_latent(cta, ctas);
    }
  }
  if (!wait_after_fill) ask_for_queries();
  if constexpr (!Config::kBoxes) {
    if (works && cta.rank < ctas) copy_own_keys(cta, item);
  }
  __syncthreads();
#if __CUDA_ARCH__ >= 900
  ptx::cluster_arrive_relaxed();
#endif
  if (works) {
    if (wait_after_fill) {
      ptx::wait_for_previous_kernel();
      ask_for_queries();
    }
    ptx::commit_copies();
    run_whole_latent(cta, item, ctas, rows);
  } else {
    if constexpr (!Config::kBoxes) copy_peer_values(cta, item);
    if (Config::kParts && wait_after_fill) ptx::wait_for_previous_kernel();  // it may still merge
    send_whole_latent_sums(cta, ctas);
  }
  if constexpr (Config::kParts) merge_whole_latent(cta, item, rows);
  if constexpr (kRecords) end_recording(cta);
}

/// By a cluster, or by a CTA alone.
template <class Config>
__device__ __forceinline__ void run_held_latent(const DecodeParams& params, unsigned char* shared,
                                                const KeyMap* keys = nullptr) {
  if constexpr (Config::kSingleItemCluster == 1) {
    run_alone_latent_cta<Config>(params, shared, keys);
  } else {
    run_whole_latent_cta<Config>(params, shared, keys);
  }
}

template <class Config>
__global__ void __launch_bounds__(Config::kAllThreads, 1)
    whole_latent_kernel(const __grid_constant__ DecodeParams params) {
  extern __shared__ __align__(1024) unsigned char shared[];
  if constexpr (has_instructions<Config>()) run_held_latent<Config>(params, shared);
}

/// The same with keys in boxes.
template <class Config>
__global__ void __launch_bounds__(Config::kAllThreads, 1)
    whole_latent_box_kernel(const __grid_constant__ DecodeParams params, const __grid_constant__ KeyMap keys) {
  extern __shared__ __align__(1024) unsigned char shared[];
  if (threadIdx.x == Config::kThreads) ptx::prefetch_map(&keys);
  if constexpr (has_instructions<Config>()) run_held_latent<Config>(params, shared, &keys);
}

}  // namespace splitwave::gpu
