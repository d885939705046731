// SPDX-License-Identifier: Apache-2.0
// The first half of what a cluster or a CTA does that holds all keys of an item (whole_latent.cuh, alone_latent.cuh):
// each warpgroup's scores of its tile become weights, in a cluster here and in all of the CTA's peers.
#pragma once

#include "gpu/kernels/group_tile.cuh"
#include "gpu/kernels/whole_latent_loader.cuh"

namespace splitwave::gpu {

/// Barriers for the weights that peers send, and for their maxima and sums, which come later.
template <class Config>
__device__ __forceinline__ std::uint32_t weights_received(const Cta<Config>& cta) {
  return ptx::shared_address(&cta.control().barriers[0]);
}
template <class Config>
__device__ __forceinline__ std::uint32_t sums_received(const Cta<Config>& cta) {
  return ptx::shared_address(&cta.control().barriers[1]);
}

/// Makes the barriers of keys ready, to be published. One thread.
template <class Config>
__device__ __forceinline__ void open_keys(const Cta<Config>& cta) {
#pragma unroll
  for (int tile = 0; tile < Config::kCtaTiles; ++tile) {
#pragma unroll
    for (int part = 0; part < Config::kKeyParts; ++part) ptx::init_barrier(keys_filled(cta, part, tile), 1);
  }
}

/// Makes the barriers of a CTA alone ready. One thread.
template <class Config>
__device__ __forceinline__ void open_alone_latent(const Cta<Config>& cta) {
#if __CUDA_ARCH__ >= 900
  open_keys(cta);
  ptx::publish_barriers();
  wgmma::publish();  // boxes report to them
#endif
}

/// Makes a cluster's barriers ready. One thread.
template <class Config>
__device__ __forceinline__ void open_whole_latent(const Cta<Config>& cta, int ctas) {
#if __CUDA_ARCH__ >= 900
  open_keys(cta);
  ptx::init_barrier(values_filled(cta), Config::kBoxes ? 1 : Config::kLoaderThreads);
  ptx::init_barrier(weights_received(cta), 1);
  ptx::init_barrier(sums_received(cta), 1);
  ptx::publish_barriers();
  wgmma::publish();  // boxes report to them
  const int senders = ctas - (cta.rank < ctas ? 1 : 0);
  ptx::expect_bytes(weights_received(cta), senders * Config::kWeightBytes);
  ptx::expect_bytes(sums_received(cta), senders * Config::kSumBytes);
#endif
}

/// Where a CTA's shared memory begins in each of its peers.
template <class Config>
class Peers {
 public:
  __device__ __forceinline__ explicit Peers(const Cta<Config>& cta) : own_(ptx::shared_address(cta.shared)) {
#if __CUDA_ARCH__ >= 900
#pragma unroll
    for (int i = 1; i < Config::kSingleItemCluster; ++i) {
      first_[i - 1] = ptx::remote_address(own_, static_cast<std::uint32_t>(peer_of(cta, i)));
    }
#endif
  }

  /// Sends 16 bytes to the same place in all peers, and reports them to their barriers.
  __device__ __forceinline__ void send(std::uint32_t offset, const float4& value, std::uint32_t barrier) const {
#if __CUDA_ARCH__ >= 900
#pragma unroll
    for (const std::uint32_t first : first_) ptx::store_remote(first + offset, value, first + (barrier - own_));
#endif
  }

 private:
  std::uint32_t own_;
  std::uint32_t first_[Config::kSingleItemCluster - 1];
};

/// The threads that work and the first warp of loaders meet.
template <class Config>
__device__ __forceinline__ void meet_sender() {
  ptx::sync_all<Config::kThreads + 32>();
}

/// The scores of the CTA's tile, part of the keys by part, masked behind the item's end. Returns what they are still to
/// be scaled by.
template <class Config>
__device__ __forceinline__ float multiply_whole_latent_keys(const Cta<Config>& cta, const DeviceItem& item, int tile,
                                                            GroupScores<Config>& s) {
  const std::uint32_t shared = ptx::shared_address(cta.shared);
  const std::uint32_t keys = shared + tile * Config::kTileBytes;
  constexpr int kSteps = Config::kKeyBlocksAtOnce * 4;
#pragma unroll
  for (int part = 0; part < Config::kKeyParts; ++part) {
    if constexpr (Config::kBoxes) ptx::wait_own_barrier(keys_filled(cta, part, tile), 0);
    wgmma::fence();
    start_keys<Config>(keys, shared + Config::kQueryOffset, s, part * kSteps, (part + 1) * kSteps);
    wgmma::commit();
  }
  wgmma::wait<0>();
  wgmma::hold(s);
  const float scale = cta.params.scale_log2;
  const int of_cluster = cta.rank + tile;
  if (item.kv_end - item.kv_begin >= (of_cluster + 1) * Config::kGroupTokens) return scale;
  // What is masked must be -inf after it is scaled, by whatever number.
  const int token = cta.warp % 4 * Config::kTokens + (cta.lane >> 2);
  const int first = item.kv_begin + of_cluster * Config::kGroupTokens + token;
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
#pragma unroll
    for (int j = 0; j < 4; ++j) s[n][j] = first + (j >> 1) * 8 < item.kv_end ? s[n][j] * scale : -INFINITY;
  }
  return 1;
}

/// P of the warp's tokens; then its sums. place: of the tile's P. made: is told of each row tile.
template <class Config, class Made>
__device__ __forceinline__ void make_weights(const Cta<Config>& cta, std::uint32_t place, const GroupScores<Config>& s,
                                             float scale, const float (&maximum)[Config::kRowTiles][2],
                                             const Made& made) {
  using T = ptx::Traits<typename Config::Element>;
  const int token = cta.warp % 4 * Config::kTokens + (cta.lane >> 2);
  float sum[Config::kRowTiles][2];
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    float p[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) p[j] = ptx::exp2_approximate(__fmaf_rn(s[n][j], scale, -maximum[n][j & 1]));
    unsigned char* at = cta.shared + place + wgmma::swizzled<Config::kWeightRowBytes>(token, n) + (cta.lane & 3) * 4;
    *reinterpret_cast<std::uint32_t*>(at) = T::pack(p[0], p[1]);
    *reinterpret_cast<std::uint32_t*>(at + 8 * Config::kWeightRowBytes) = T::pack(p[2], p[3]);
    sum[n][0] = p[0] + p[2];
    sum[n][1] = p[1] + p[3];
    made(n);
  }
  auto* sums = reinterpret_cast<float2*>(cta.shared + Config::kWarpSumsOffset);
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
#pragma unroll
    for (int lanes = 4; lanes < 32; lanes <<= 1) {
#pragma unroll
      for (float& value : sum[n]) value += __shfl_xor_sync(~0U, value, lanes);
    }
    if (cta.lane < 4) sums[(cta.warp * Config::kRowTiles + n) * 4 + cta.lane] = {sum[n][0], sum[n][1]};
  }
}

/// P of the warp's tokens, here and in all peers; then its sums, for send_sums().
template <class Config>
__device__ __forceinline__ void send_weights(const Cta<Config>& cta, const Peers<Config>& peers,
                                             const GroupScores<Config>& s, float scale,
                                             const float (&maximum)[Config::kRowTiles][2]) {
  static_assert(Config::kRowTiles % 2 == 0);
  const std::uint32_t place = Config::kWeightOffset + cta.rank * Config::kWeightBytes;
  make_weights(cta, place, s, scale, maximum, [&](int n) {
    if (n % 2 == 0) return;
    __syncwarp();  // two row tiles of 16 tokens are 16 bytes for each lane
    const std::uint32_t offset = place + wgmma::swizzled<Config::kWeightRowBytes>(
                                             cta.warp * Config::kTokens + (cta.lane >> 1), n - 1 + (cta.lane & 1));
    peers.send(offset, *reinterpret_cast<const float4*>(cta.shared + offset), weights_received(cta));
  });
}

/// The CTA's maxima and sums, here and in all peers. The first warp of loaders.
template <class Config>
__device__ __forceinline__ void send_sums(const Cta<Config>& cta, const Peers<Config>& peers) {
  constexpr int kPairs = Config::kRows / 2;
  if (cta.lane >= kPairs) return;
  const auto* maxima = reinterpret_cast<const float2*>(cta.shared + Config::kWarpMaximaOffset) + cta.lane;
  const auto* sums = reinterpret_cast<const float2*>(cta.shared + Config::kWarpSumsOffset) + cta.lane;
  float4 all = make_float4(kNothingSeen, 0, kNothingSeen, 0);
#pragma unroll
  for (int warp = 0; warp < Config::kWarps; ++warp) {
    all.x = fmaxf(all.x, maxima[warp * kPairs].x);
    all.z = fmaxf(all.z, maxima[warp * kPairs].y);
    all.y += sums[warp * kPairs].x;
    all.w += sums[warp * kPairs].y;
  }
  const std::uint32_t offset = Config::kSumsOffset + cta.rank * Config::kSumBytes + cta.lane * 16;
  *reinterpret_cast<float4*>(cta.shared + offset) = all;
  peers.send(offset, all, sums_received(cta));
}

/// The scores of the CTA's tokens become weights. The threads that work, once the queries are there, and where keys do
/// not come in boxes these.
template <class Config>
__device__ __forceinline__ void weigh_whole_latent(const Cta<Config>& cta, const DeviceItem& item,
                                                   const Peers<Config>& peers) {
  GroupScores<Config> s;
  const float scale = multiply_whole_latent_keys(cta, item, 0, s);
  float maximum[Config::kRowTiles][2];
  lane_maxima<Config>(s, scale, maximum);
  maxima_of_warps<Config>(cta, reinterpret_cast<float2*>(cta.shared + Config::kWarpMaximaOffset), maximum);
  send_weights(cta, peers, s, scale, maximum);
}

}  // namespace splitwave::gpu
