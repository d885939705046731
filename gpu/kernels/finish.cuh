// SPDX-License-Identifier: Apache-2.0
// The end of an item: the warps' results become the CTA's, the cluster's, the output or a partial result.
#pragma once

#include "gpu/kernels/combine.cuh"
#include "gpu/kernels/cta.cuh"
#include "gpu/kernels/items.cuh"
#include "gpu/kernels/packets.cuh"
#include "gpu/kernels/ptx.cuh"
#include "gpu/kernels/tile.cuh"

namespace splitwave::gpu {

/// Makes the receive buffers of a cluster's CTA ready and says so to the others, who wait for it before they send. All
/// threads.
template <class Config>
__device__ __forceinline__ void open_receivers(const Cta<Config>& cta) {
#if __CUDA_ARCH__ >= 900
  if (cta.shift() > 0) {
    if (threadIdx.x == 0) {
      const std::uint32_t barriers = ptx::shared_address(cta.control().barriers);
      ptx::init_barrier(barriers, 1);
      if (!Config::kSingleItem) ptx::init_barrier(barriers + 8, 1);  // single-item kernels have one item and one buffer
      ptx::publish_barriers();
      if (!Config::kSingleItem) {  // ... and say how many bytes they expect when they wait for them
        ptx::expect_bytes(barriers, cta.received_bytes());
        ptx::expect_bytes(barriers + 8, cta.received_bytes());
      }
    }
    __syncwarp();
    ptx::cluster_arrive_relaxed();
  }
#endif
}

/// Leaves the warp's result where the CTA's other warps find it. The caller synchronizes before and after.
template <class Config>
__device__ __forceinline__ void store_warp(const Cta<Config>& cta, const Accumulator<Config>& acc) {
  auto* fragments =
      reinterpret_cast<float4*>(cta.shared + Config::kReduceOffset + cta.warp * Config::kWarpResultStride) + cta.lane;
  auto* sums = reinterpret_cast<float4*>(cta.shared + Config::kWarpSumOffset + cta.warp * Config::kWarpSumStride);
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    float sum[2] = {acc.sum[n][0], acc.sum[n][1]};
#pragma unroll
    for (int lanes = 4; lanes < 32; lanes <<= 1) {
      sum[0] += __shfl_xor_sync(~0U, sum[0], lanes);
      sum[1] += __shfl_xor_sync(~0U, sum[1], lanes);
    }
#pragma unroll
    for (int d = 0; d < Config::kDimTiles; ++d) {
      const float(&o)[4] = acc.o[n][d];
      fragments[(n * Config::kDimTiles + d) * 32] = make_float4(o[0], o[1], o[2], o[3]);
    }
    if (cta.lane < 4) {
      sums[n * 4 + cta.lane] = make_float4(acc.maximum[n][0], sum[0], acc.maximum[n][1], sum[1]);
    }
  }
}

/// Where combined fragments go.
enum class Sink { ranks, partial, packet, output };

/// Sends a fragment to the CTA of the cluster that finishes it. Two receive buffers in turn are enough: whoever sends
/// item i + 2 has all of item i + 1, so every CTA has finished item i.
template <class Config>
__device__ __forceinline__ void send_fragment(const Cta<Config>& cta, int buffer, int fragment, const float4& value,
                                              const float4& sums, bool with_sums) {
#if __CUDA_ARCH__ >= 900
  const int per_rank = cta.fragments_per_rank();
  const std::uint32_t to = (fragment << cta.shift()) / Config::kFragments;
  const std::uint32_t receive =
      ptx::shared_address(cta.shared) + Config::kReceiveOffset + buffer * Config::kReceiveBytes;
  const std::uint32_t barrier = ptx::remote_address(ptx::shared_address(&cta.control().barriers[buffer]), to);
  const std::uint32_t place = cta.rank * per_rank + (fragment & (per_rank - 1));
  ptx::store_remote(ptx::remote_address(receive + place * 512 + cta.lane * 16, to), value, barrier);
  if (with_sums) {
    const std::uint32_t at =
        Config::kReceivedBytes + cta.rank * Config::kSumBytes + (fragment / Config::kDimTiles * 4 + cta.lane) * 16;
    ptx::store_remote(ptx::remote_address(receive + at, to), sums, barrier);
  }
#endif
}

/// Hands a fragment that is not finished to the CTA that finishes it, or leaves it as a partial result. sums: maximum
/// and sum of the lane's first row, then of the second.
template <class Config>
__device__ __forceinline__ void hand_on_fragment(const Cta<Config>& cta, int fragment, const float4& value,
                                                 const float4& sums, Sink sink, int buffer, int slot) {
  // Whoever has fragments of a row tile gets the tile's sums with the first of them.
  const bool with_sums =
      cta.lane < 4 && (fragment % Config::kDimTiles == 0 || (fragment & (cta.fragments_per_rank() - 1)) == 0);
  if (sink == Sink::ranks) {
    send_fragment(cta, buffer, fragment, value, sums, with_sums);
  } else if (Config::kWaits || (kLeavesPackets<Config> && sink == Sink::packet)) {
    put_packet(cta, slot, fragment, value, sums);
  } else {
    __stcg(reinterpret_cast<float4*>(cta.partial(slot)) + fragment * 32 + cta.lane, value);
    if (with_sums) {
      __stcg(reinterpret_cast<float4*>(cta.partial_sum(slot)) + fragment / Config::kDimTiles * 4 + cta.lane, sums);
    }
  }
}

/// Hands a combined fragment to its sink.
template <class Config>
__device__ __forceinline__ void put_fragment(const Cta<Config>& cta, int fragment, const Running& run, Sink sink,
                                             int buffer, const Rows& rows, int slot) {
  if (sink == Sink::output) {
    write_output<Config>(cta.params.output, cta.params.lse, rows, fragment, cta.lane, run);
    return;
  }
  hand_on_fragment(cta, fragment, make_float4(run.o[0], run.o[1], run.o[2], run.o[3]),
                   make_float4(run.maximum[0], run.sum[0], run.maximum[1], run.sum[1]), sink, buffer, slot);
}

/// Hands kCount fragments of row tile n to their sink, dimension tiles first, first + kStep, ...: `fragment(i)` is the
/// i-th. maximum, sum: of the lane's pair of rows.
template <int kCount, int kStep, class Config, class Fragment>
__device__ __forceinline__ void put_tile(const Cta<Config>& cta, int n, int first, const float (&maximum)[2],
                                         const float (&sum)[2], Sink sink, int buffer, const Rows& rows, int slot,
                                         const Fragment& fragment) {
  if (sink == Sink::output) {
    float4 o[kCount];  // all asked for before the first is used
#pragma unroll
    for (int i = 0; i < kCount; ++i) o[i] = fragment(i);
    const RowTileWriter<Config> writer(cta.params.output, rows, n, first, cta.lane, sum);
#pragma unroll
    for (int i = 0; i < kCount; ++i) writer.write(i * kStep, o[i]);
    if (first == 0) write_lse(cta.params.lse, rows, n, cta.lane, maximum, sum);
    return;
  }
  const float4 sums = make_float4(maximum[0], sum[0], maximum[1], sum[1]);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    hand_on_fragment(cta, n * Config::kDimTiles + first + i * kStep, fragment(i), sums, sink, buffer, slot);
  }
}

/// Combines `source` for fragments [first, first + count), kTogether of a warp's at a time, and hands them to the sink.
template <int kBatch, int kTogether, class Config>
__device__ __forceinline__ void combine_fragments(const Cta<Config>& cta, const Source& source, int first, int count,
                                                  Sink sink, int buffer, const Rows& rows, int slot) {
#pragma unroll 1
  for (int next = first + cta.warp; next < first + count; next += Config::kWarps * kTogether) {
    Place places[kTogether];
#pragma unroll
    for (int t = 0; t < kTogether; ++t) {
      const int fragment = next + t * Config::kWarps < first + count ? next + t * Config::kWarps : next;
      places[t] = {fragment * 512 + cta.lane * 16, (fragment / Config::kDimTiles * 4 + (cta.lane & 3)) * 16};
    }
    Running runs[kTogether];
    combine<kBatch>(source, places, runs);
#pragma unroll
    for (int t = 0; t < kTogether; ++t) {
      const int fragment = next + t * Config::kWarps;
      if (fragment < first + count) put_fragment(cta, fragment, runs[t], sink, buffer, rows, slot);
    }
  }
}

/// Combines the results of the warps: all loops unrolled, each weight computed once.
template <class Config>
__device__ __forceinline__ void combine_warps(const Cta<Config>& cta, Sink sink, int buffer, const Rows& rows,
                                              int slot) {
  const auto* fragments = reinterpret_cast<const float4*>(cta.shared + Config::kReduceOffset) + cta.lane;
  const auto* sums = reinterpret_cast<const float4*>(cta.shared + Config::kWarpSumOffset) + (cta.lane & 3);
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    if (Config::kDimTiles < Config::kWarps && cta.warp >= Config::kDimTiles) return;
    constexpr int kOfWarp = Config::kDimTiles < Config::kWarps ? 1 : Config::kDimTiles / Config::kWarps;
    const auto weights = weigh<Config::kWarps>(sums + n * 4, Config::kWarpSumStride / 16);
    const float4* mine = fragments + (n * Config::kDimTiles + cta.warp) * 32;
    const auto fragment = [&](int i) {
      return gather(mine + i * Config::kWarps * 32, Config::kWarpResultStride / 16, weights);
    };
    if constexpr (Config::kSingleItemCluster > 1 || Config::kKvHeads > 1) {
      // As parts of a tile they made clusters of eight 3 % slower; and tiles of two KV heads belong to other rows each.
#pragma unroll
      for (int i = 0; i < kOfWarp; ++i) {
        put_fragment(cta, n * Config::kDimTiles + cta.warp + i * Config::kWarps,
                     running(fragment(i), weights.maximum, weights.sum), sink, buffer, rows, slot);
      }
    } else {
      put_tile<kOfWarp, Config::kWarps>(cta, n, cta.warp, weights.maximum, weights.sum, sink, buffer, rows, slot,
                                        fragment);
    }
  }
}

/// Where the result of a list's item goes.
template <class Config>
__device__ __forceinline__ Sink sink_of(const Cta<Config>& cta, const DeviceItem& item) {
  return item.parts == 1 ? Sink::output : Config::kWaits ? Sink::packet : Sink::partial;
}

/// Whether a test lets the item get lost.
template <class Config>
__device__ __forceinline__ bool dropped(const Cta<Config>& cta, const DeviceItem& item) {
  return (cta.params.test_hooks & kDrop) != 0 && cta.params.injection.drop_slot == 1U + item.slot_begin + item.part;
}

/// The slot of the item's result, if it is a partial one; which of the packets it is, if it is one, or -1 if it is to
/// get lost.
template <class Config>
__device__ __forceinline__ int slot_of(const Cta<Config>& cta, const DeviceItem& item) {
  if constexpr (Config::kWaits) {
    if (dropped(cta, item)) return -1;
    return packet_index(cta, item, item.part) | (merged_by_quarters(item) ? kSumsOfQuarters : 0);
  }
  return item.slot_begin + item.part;
}

/// Combines the results of the warps, and with clusters those of the CTAs. item_count: items that the CTA has finished.
template <class Config>
__device__ __forceinline__ void combine_item(const Cta<Config>& cta, const Rows& rows, Sink sink, int slot,
                                             int item_count, const Accumulator<Config>& acc) {
  if (item_count > 0) __syncthreads();  // the last item's results may still be read
  store_warp(cta, acc);
  __syncthreads();
  if (cta.shift() == 0) {
    if constexpr (Config::kRowTiles == 1) {
      combine_warps(cta, sink, 0, rows, slot);
    } else {
      combine_fragments<kNearBatch, 1>(cta, warps_source(cta), 0, cta.fragments_with_rows(rows.count), sink, 0, rows,
                                       slot);
    }
    return;
  }
#if __CUDA_ARCH__ >= 900
  const int buffer = item_count & 1;
  const std::uint32_t barrier = ptx::shared_address(&cta.control().barriers[buffer]);
  if (item_count == 0) ptx::cluster_wait();
  combine_fragments<kNearBatch, 1>(cta, warps_source(cta), 0, Config::kFragments, Sink::ranks, buffer, rows, slot);
  __syncwarp();
  ptx::wait_barrier(barrier, (item_count >> 1) & 1);
  if (threadIdx.x == 0) ptx::expect_bytes(barrier, cta.received_bytes());
  combine_fragments<kNearBatch, 1>(cta, ranks_source(cta, buffer), cta.first_fragment(),
                                   cta.fragments_with_rows(rows.count), sink, buffer, rows, slot);
#endif
}

/// The second half for clusters: each CTA finishes the fragments that the others have sent it.
template <class Config>
__device__ __forceinline__ void combine_ranks(const Cta<Config>& cta, const Rows& rows, int slot) {
#if __CUDA_ARCH__ >= 900
  constexpr int kCluster = Config::kSingleItemCluster;
  if constexpr (kCluster > 1) {
    constexpr int kPerRank = Config::kFragmentsPerRank;
    if (cta.rank % Config::kRanksPerFragment != 0) return;
    const std::uint32_t barrier = ptx::shared_address(cta.control().barriers);
    if (threadIdx.x == 0) ptx::expect_bytes(barrier, cta.received_bytes());
    __syncwarp();
    ptx::wait_barrier(barrier, 0);
    const auto* received = reinterpret_cast<const float4*>(cta.shared + Config::kReceiveOffset) + cta.lane;
    const auto* received_sums =
        reinterpret_cast<const float4*>(cta.shared + Config::kReceiveOffset + Config::kReceivedBytes) + (cta.lane & 3);
#pragma unroll
    for (int first = 0; first < kPerRank; first += Config::kWarps) {
      const int local = first + cta.warp;
      if (local >= kPerRank) continue;
      const int fragment = cta.rank / Config::kRanksPerFragment * kPerRank + local;
      const auto weights = weigh<kCluster>(received_sums + fragment / Config::kDimTiles * 4, Config::kSumBytes / 16);
      const Sink sink = slot < 0 ? Sink::output : merges_packets(cta) ? Sink::packet : Sink::partial;
      const auto o = [&](int) { return gather(received + local * 32, kPerRank * 32, weights); };
      if constexpr (Config::kWholeItem) {
        put_tile<1, 1>(cta, fragment / Config::kDimTiles, fragment % Config::kDimTiles, weights.maximum, weights.sum,
                       sink, 0, rows, slot, o);
      } else {  // see combine_warps()
        put_fragment(cta, fragment, running(o(0), weights.maximum, weights.sum), sink, 0, rows, slot);
      }
    }
  }
#endif
}

/// The same for the one item of a single-item kernel: all loops unrolled, each weight computed once.
template <class Config>
__device__ __forceinline__ void combine_single_item(const Cta<Config>& cta, const Rows& rows, int slot,
                                                    const Accumulator<Config>& acc) {
  constexpr int kCluster = Config::kSingleItemCluster;
  const Sink sink = slot < 0 ? Sink::output : Sink::partial;
  store_warp(cta, acc);
  __syncthreads();
#if __CUDA_ARCH__ >= 900
  if (kCluster > 1) ptx::cluster_wait();
#endif
  combine_warps(cta, kCluster > 1 ? Sink::ranks : sink, 0, rows, slot);
  combine_ranks(cta, rows, slot);
}

}  // namespace splitwave::gpu
