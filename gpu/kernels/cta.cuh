// SPDX-License-Identifier: Apache-2.0
// What a CTA is: its place in the grid, its shared memory, and where its partial results lie.
#pragma once

#include "gpu/kernels/combine.cuh"
#include "gpu/kernels/config.cuh"
#include "gpu/kernels/loader.cuh"
#include "gpu/kernels/params.h"
#include "gpu/kernels/ptx.cuh"

namespace splitwave::gpu {

/// What a CTA keeps in shared memory beside its data.
struct Control {
  std::uint64_t barriers[2];  ///< of the receive buffers
  std::uint64_t queries;      ///< barrier of the item's queries (group.cuh)
  std::uint64_t filled[4];    ///< barriers of a latent cache's stages, or their halves: keys are there
  std::uint64_t freed[4];     ///< ... and may be overwritten
  std::uint64_t weighed[2];   ///< ... and a stage's weights are there (seesaw.cuh)
  std::uint32_t next_list;    ///< of a queue
  // Of alone.cuh.
  std::uint32_t owed;              ///< merges that fall to the CTA, of which `pending` has the first ones
  std::uint32_t ended[kMaxWarps];  ///< pieces that are there of the item whose first one a warp has

  std::uint32_t ours[kMaxPending];  ///< 1: this CTA merges pending[i]
  DeviceItem pending[kMaxPending];
  // Of recorder.cuh. Warps that have no list of their own share the first one's places.
  std::uint64_t began[kMaxWarps];
  std::uint64_t recorded_until[kMaxWarps];  ///< the end of what a warp recorded last
  std::int32_t item[kMaxWarps];             ///< in the table: what it works on
};
static_assert(sizeof(Control) <= 1024);

/// The fixed facts of a CTA.
template <class Config>
struct Cta {
  static constexpr bool kAlone = Config::kAlone;
  static constexpr int kWarps = Config::kWarps;

  const DecodeParams& params;
  unsigned char* shared;
  int lane;
  int warp;
  int rank;       ///< in its cluster
  int worker;     ///< index of the cluster, or of the CTA where there are none
  int row_block;  ///< which kRows of an item's rows

  __device__ __forceinline__ Control& control() const {
    return *reinterpret_cast<Control*>(shared + Config::kControlOffset);
  }
  /// The threads that work on items meet.
  __device__ __forceinline__ void sync() const {
    if constexpr (Config::kLoaderThreads > 0) {
      ptx::sync_first<Config::kThreads>();
    } else {
      __syncthreads();
    }
  }
  /// All threads meet, those that only load too, which come from elsewhere in the code.
  __device__ __forceinline__ void sync_all() const {
    if constexpr (Config::kLoaderThreads > 0) {
      ptx::sync_all<Config::kThreads + Config::kLoaderThreads>();
    } else {
      __syncthreads();
    }
  }
  /// Whether `mine` is true for any of the threads that work on items, which meet.
  __device__ __forceinline__ bool any(bool mine) const {
    if constexpr (Config::kLoaderThreads > 0) return ptx::any_of_first<Config::kThreads>(mine);
    return __syncthreads_or(mine ? 1 : 0) != 0;
  }
  __device__ __forceinline__ int shift() const { return cluster_shift<Config>(params); }
  __device__ __forceinline__ int row_blocks() const {
    return Config::kSingleItem || params.uniform.parts > 0 ? 1 : gridDim.y;
  }
  /// Fragments that this CTA of the cluster finishes. In clusters with more CTAs than fragments only some finish any.
  __device__ __forceinline__ int fragments_per_rank() const { return max(1, Config::kFragments >> shift()); }
  /// The first of them, and how many: those of row tiles that have rows. Nobody writes or reads the others' partials.
  __device__ __forceinline__ int first_fragment() const {
    if constexpr (Config::kWholeItem) return rank / Config::kRanksPerFragment * Config::kFragmentsPerRank;
    return rank * fragments_per_rank();
  }
  __device__ __forceinline__ int fragments_with_rows(int rows) const {
    const int all = fragments_per_rank();
    if (Config::kRowTiles == 1) return all;
    return max(0, min(all, (rows + 7) / 8 * Config::kDimTiles - first_fragment()));
  }
  /// Row tiles that those fragments belong to.
  __device__ __forceinline__ int row_tiles_per_rank() const { return max(1, Config::kRowTiles >> shift()); }
  __device__ __forceinline__ std::int64_t slot_block(int slot) const {
    return static_cast<std::int64_t>(slot) * row_blocks() + row_block;
  }
  __device__ __forceinline__ char* partial(int slot) const {
    return reinterpret_cast<char*>(params.partials) + slot_block(slot) * Config::kFragmentBytes;
  }
  /// Each rank keeps the sums of its own row tiles.
  __device__ __forceinline__ char* partial_sum(int slot) const {
    return reinterpret_cast<char*>(params.partial_sums) + ((slot_block(slot) << shift()) + rank) * Config::kSumBytes;
  }
  __device__ __forceinline__ std::uint32_t* arrivals(int slot) const {
    return params.arrivals + (slot_block(slot) << shift()) + rank;
  }
  /// Bytes that the cluster's CTAs send to each of them for one item.
  __device__ __forceinline__ std::uint32_t received_bytes() const {
    return (fragments_per_rank() * 512 + row_tiles_per_rank() * 64) << shift();
  }
};

/// The partial results of the CTA's warps.
template <class Config>
__device__ __forceinline__ Source warps_source(const Cta<Config>& cta) {
  const auto* shared = reinterpret_cast<const char*>(cta.shared);
  return {shared + Config::kReduceOffset, Config::kWarpResultStride, shared + Config::kWarpSumOffset,
          Config::kWarpSumStride, Config::kWarps};
}

/// Those of the cluster's CTAs, for the fragments of this one: [rank][fragment of the rank].
template <class Config>
__device__ __forceinline__ Source ranks_source(const Cta<Config>& cta, int buffer) {
  const auto* receive =
      reinterpret_cast<const char*>(cta.shared) + Config::kReceiveOffset + buffer * Config::kReceiveBytes;
  // Fragments are counted over all ranks everywhere else: step back to where the first one would lie.
  return {receive - cta.rank * cta.fragments_per_rank() * 512, cta.fragments_per_rank() * 512,
          receive + Config::kReceivedBytes, Config::kSumBytes, 1 << cta.shift()};
}

/// Those of an output's items.
template <class Config>
__device__ __forceinline__ Source slots_source(const Cta<Config>& cta, const DeviceItem& item) {
  return {cta.partial(item.slot_begin), static_cast<std::int64_t>(cta.row_blocks()) * Config::kFragmentBytes,
          cta.partial_sum(item.slot_begin),
          static_cast<std::int64_t>(cta.row_blocks() * Config::kSumBytes) << cta.shift(), item.parts};
}

}  // namespace splitwave::gpu
