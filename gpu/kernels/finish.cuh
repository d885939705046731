// SPDX-License-Identifier: Apache-2.0
// The end of an item: the warps' results become the CTA's, the cluster's, the output or a partial result; and the
// merges across items that fall to this CTA.
#pragma once

#include "gpu/kernels/combine.cuh"
#include "gpu/kernels/cta.cuh"
#include "gpu/kernels/items.cuh"
#include "gpu/kernels/ptx.cuh"
#include "gpu/kernels/recorder.cuh"
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
      reinterpret_cast<float4*>(cta.shared + Config::kReduceOffset + cta.warp * Config::kFragmentBytes) + cta.lane;
  auto* sums = reinterpret_cast<float4*>(cta.shared + Config::kWarpSumOffset + cta.warp * Config::kSumBytes);
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
enum class Sink { ranks, partial, output };

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

/// Parts of an output times the turns in which a CTA's warps take its fragments, from which on CTAs share a merge: a
/// turn of a part takes some 40 ns, and that the host reports its own part too, and all see it, up to a microsecond.
inline constexpr int kSharedTurns = 16;

/// CTAs of the item's output that merge it, each some of its fragments: where its first part's waits for the others,
/// those of its first parts that end their lists, for nobody waits for what they do next.
template <class Config>
__device__ __forceinline__ int mergers(const Cta<Config>& cta, const DeviceItem& item) {
  if (Config::kSingleItem || cta.params.merge != InKernelMerge::host_cta) return 1;
  const int fragments = cta.fragments_per_rank();
  const int turns = (fragments + Config::kWarps - 1) / Config::kWarps;
  return item.parts * turns < kSharedTurns ? 1 : min(item.mergers, fragments);
}

/// Combines an output's many items: several warps share a fragment. At the end of a list, when its ring is free.
template <class Config>
__device__ __forceinline__ void combine_many(const Cta<Config>& cta, const Source& source, int first, int end,
                                             const Rows& rows) {
  int shift = 0;
  while (2 << shift <= Config::kWarps && source.count > kPartsPerMergeWarp << shift) ++shift;
  const int place = cta.warp & ((1 << shift) - 1);
  const Source share = share_of(source, place, shift);
#pragma unroll 1
  for (int next = first; next < end; next += Config::kWarps >> shift) {
    if (next > first) cta.sync();
    const int fragment = next + (cta.warp >> shift);
    const bool active = fragment < end;
    const Place places[1] = {
        {fragment * 512 + cta.lane * 16, (fragment / Config::kDimTiles * 4 + (cta.lane & 3)) * 16}};
    Running runs[1];
    if (active) combine<kFarBatch>(share, places, runs);
    add_warps(reinterpret_cast<Running*>(cta.shared), runs[0], cta.warp, cta.lane, shift, active, [&] { cta.sync(); });
    if (active && place == 0) {
      write_output<Config>(cta.params.output, cta.params.lse, rows, fragment, cta.lane, runs[0]);
    }
  }
}

/// Combines an output's items: as many loads at a time as registers allow beside what a list keeps in them.
template <class Config>
__device__ __forceinline__ void merge_output(const Cta<Config>& cta, const DeviceItem& item) {
  constexpr int kOfWarp = Config::kFragments / Config::kWarps;
  constexpr bool kRoom = (Config::kGroup || (Config::kRowTiles == 1 && Config::kHeadDim <= 128)) &&
                         Config::kResident * Config::kWarps <= 8;
  const Source source = slots_source(cta, item);
  const Rows rows = rows_of<Config>(cta.params, item, cta.row_block);
  int count = cta.fragments_per_rank();
  int first = cta.rank * count;
  if (const int sharing = mergers(cta, item); sharing > 1) {
    const int before = count * item.part / sharing;
    count = count * (item.part + 1) / sharing - before;
    first += before;
    if (item.parts > kPartsPerMergeWarp) {
      combine_many(cta, source, first, first + count, rows);
      return;
    }
  }
  if (kOfWarp >= 4 && item.parts <= kFewItems) {
    combine_fragments<kFewItems, (kRoom ? 4 : 2)>(cta, source, first, count, Sink::output, 0, rows, -1);
  } else {
    combine_fragments<kFarBatch, (kRoom && kOfWarp >= 2 ? 2 : 1)>(cta, source, first, count, Sink::output, 0, rows, -1);
  }
}

/// Waits, not for ever, until all items of the output have arrived, but that of a CTA which merges it alone. Thread 0
/// only.
template <class Config>
__device__ __forceinline__ bool wait_for_arrivals(const Cta<Config>& cta, const DeviceItem& item) {
  std::uint32_t* arrivals = cta.arrivals(item.slot_begin);
  const std::uint32_t sharing = mergers(cta, item);
  const std::uint32_t all = sharing > 1 ? item.parts : item.parts - 1;
  const std::uint64_t start = ptx::nanoseconds();
  while (ptx::load_acquire(arrivals) < all) {
    if (ptx::nanoseconds() - start > cta.params.wait_nanoseconds) {
      atomicCAS(cta.params.error, 0U, 1U + item.slot_begin);
      return false;
    }
  }
  if (sharing > 1) {
    ptx::increment(arrivals, item.parts + sharing - 1);  // back to 0 when the last of them has seen it
  } else {
    *arrivals = 0;
  }
  return true;
}

/// What a CTA still owes: the merges it may have to do. Thread 0 keeps the last arrival's answer in a register so that
/// nobody waits for it before the next one.
struct Pending {
  int count = 0;
  std::uint32_t ours = 0;

  __device__ __forceinline__ void settle(Control& control) {
    if (count > 0 && threadIdx.x == 0) control.ours[count - 1] = ours;
  }

  /// The item's partial result is written: report it. All threads of the CTA call this; count < kMaxPending.
  template <class Config>
  __device__ __forceinline__ void arrive(const Cta<Config>& cta, const DeviceItem& item) {
    const bool host = cta.params.merge == InKernelMerge::host_cta;
    const int sharing = mergers(cta, item);
    const bool may_merge = !host || item.part < sharing;
    cta.sync();
    if (threadIdx.x == 0) {
      if (may_merge) {
        settle(cta.control());
        cta.control().pending[count] = item;
        ours = 0;
      }
      const bool dropped =
          cta.params.test_hooks != 0 && cta.params.injection.drop_slot == 1U + item.slot_begin + item.part;
      if (!dropped && !(host && sharing == 1 && item.part == 0)) {
        const std::uint32_t last = host ? item.parts + sharing - 1U : item.parts - 1U;
        const std::uint32_t old = ptx::increment(cta.arrivals(item.slot_begin), last);
        if (may_merge) ours = old == last ? 1 : 0;
      }
    }
    if (may_merge) ++count;
  }

  /// Learns which of the pending merges fall to this CTA: those whose last arrival was its own, or, as a host, all.
  template <class Config>
  __device__ __forceinline__ void collect(const Cta<Config>& cta) {
    Control& control = cta.control();
    settle(control);
    if (threadIdx.x == 0 && cta.params.merge == InKernelMerge::host_cta) {
      for (int i = 0; i < count; ++i) control.ours[i] = wait_for_arrivals(cta, control.pending[i]) ? 1 : 0;
    }
    cta.sync();
  }
};

/// Reports the item if its output is split, and at the end of a list does the merges that fall to this CTA. active:
/// the item has rows of this CTA's row block.
template <class Config>
__device__ __forceinline__ void merge_items(const Cta<Config>& cta, const DeviceItem& item, bool active,
                                            Pending& pending) {
  const bool in_kernel = cta.params.merge != InKernelMerge::none;
  if (active && item.parts > 1 && in_kernel) pending.arrive(cta, item);
  if (pending.count == 0 || (item.next >= 0 && pending.count < kMaxPending)) return;
  pending.collect(cta);
  if constexpr (kRecords) skip_waiting(cta);
#pragma unroll 1
  for (int i = 0; i < pending.count; ++i) {
    if (cta.control().ours[i] == 0) continue;
    const DeviceItem merged = cta.control().pending[i];
    merge_output(cta, merged);
    if constexpr (kRecords) {
      if (mergers(cta, merged) == 1 || merged.part == 0) record_merge(cta, merged.slot_begin);
    }
  }
  pending.count = 0;
}

/// Combines the results of the warps: all loops unrolled, each weight computed once.
template <class Config>
__device__ __forceinline__ void combine_warps(const Cta<Config>& cta, Sink sink, int buffer, const Rows& rows,
                                              int slot) {
  const auto* fragments = reinterpret_cast<const float4*>(cta.shared + Config::kReduceOffset) + cta.lane;
  const auto* sums = reinterpret_cast<const float4*>(cta.shared + Config::kWarpSumOffset) + (cta.lane & 3);
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    const auto weights = weigh<Config::kWarps>(sums + n * 4, Config::kSumBytes / 16);
#pragma unroll
    for (int first = 0; first < Config::kDimTiles; first += Config::kWarps) {
      const int fragment = n * Config::kDimTiles + first + cta.warp;
      if (first + cta.warp >= Config::kDimTiles) continue;
      put_fragment(cta, fragment, gather(fragments + fragment * 32, Config::kFragmentBytes / 16, weights), sink, buffer,
                   rows, slot);
    }
  }
}

/// Combines the results of the warps, and with clusters those of the CTAs. item_count: items that the CTA has finished.
template <class Config>
__device__ __forceinline__ void combine_item(const Cta<Config>& cta, const Rows& rows, int slot, int item_count,
                                             const Accumulator<Config>& acc) {
  const Sink sink = slot < 0 ? Sink::output : Sink::partial;
  if (item_count > 0) __syncthreads();  // the last item's results may still be read
  store_warp(cta, acc);
  __syncthreads();
  if (cta.shift() == 0) {
    if constexpr (Config::kRowTiles == 1) {
      combine_warps(cta, sink, 0, rows, slot);
    } else {
      combine_fragments<kNearBatch, 1>(cta, warps_source(cta), 0, Config::kFragments, sink, 0, rows, slot);
    }
    return;
  }
#if __CUDA_ARCH__ >= 900
  const int per_rank = cta.fragments_per_rank();
  const int buffer = item_count & 1;
  const std::uint32_t barrier = ptx::shared_address(&cta.control().barriers[buffer]);
  if (item_count == 0) ptx::cluster_wait();
  combine_fragments<kNearBatch, 1>(cta, warps_source(cta), 0, Config::kFragments, Sink::ranks, buffer, rows, slot);
  __syncwarp();
  ptx::wait_barrier(barrier, (item_count >> 1) & 1);
  if (threadIdx.x == 0) ptx::expect_bytes(barrier, cta.received_bytes());
  combine_fragments<kNearBatch, 1>(cta, ranks_source(cta, buffer), cta.rank * per_rank, per_rank, sink, buffer, rows,
                                   slot);
#endif
}

/// The second half for clusters: each CTA finishes the fragments that the others have sent it.
template <class Config>
__device__ __forceinline__ void combine_ranks(const Cta<Config>& cta, const Rows& rows, int slot) {
#if __CUDA_ARCH__ >= 900
  constexpr int kCluster = Config::kSingleItemCluster;
  if constexpr (kCluster > 1) {
    constexpr int kPerRank = Config::kFragments < kCluster ? 1 : Config::kFragments / kCluster;
    constexpr int kRanksPerFragment = Config::kFragments < kCluster ? kCluster / Config::kFragments : 1;
    if (cta.rank % kRanksPerFragment != 0) return;
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
      const int fragment = cta.rank / kRanksPerFragment * kPerRank + local;
      const auto weights = weigh<kCluster>(received_sums + fragment / Config::kDimTiles * 4, Config::kSumBytes / 16);
      put_fragment(cta, fragment, gather(received + local * 32, kPerRank * 32, weights),
                   slot < 0 ? Sink::output : Sink::partial, 0, rows, slot);
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
