// SPDX-License-Identifier: Apache-2.0
// How clusters and CTAs that hold all keys of an item of a latent cache (whole_latent.cuh, alone_latent.cuh) hand on
// what they have: outputs as they are, partial results as packets (packets.cuh), which all parts' clusters merge
// together.
#pragma once

#include "gpu/kernels/finish.cuh"
#include "gpu/kernels/packets.cuh"
#include "gpu/kernels/run_merge.cuh"
#include "gpu/kernels/whole_latent_config.cuh"

namespace splitwave::gpu {

/// Fragments of a CTA, and the clusters that share the merge of an output in so many parts: each part's, as far as
/// there is a fragment for it.
template <class Config>
inline constexpr int kWholeLatentFragments = Config::kRowTiles* Config::kCtaBlocks * 4;
template <class Config>
__device__ __forceinline__ int sharing_parts(const DeviceItem& item) {
  return min(static_cast<int>(item.parts), kWholeLatentFragments<Config>);
}

/// Whether a warp takes two fragments side by side: of few parts, so that it has more than one anyway.
template <class Config>
__device__ __forceinline__ bool merges_pairs(const DeviceItem& item) {
  return kWholeLatentFragments<Config> >= 2 * Config::kMergeWarps * sharing_parts<Config>(item);
}

/// Hands on what a warp has of a row tile: of each of its warpgroup's blocks of 64 elements a fragment, fragment(d).
/// first: the first of them among the row tile's. total: maximum and sum of the first row of the lane's, then of the
/// second.
template <class Config, class Fragment>
__device__ __forceinline__ void put_row_tile(const Cta<Config>& cta, const DeviceItem& item, const Rows& rows, int n,
                                             int first, const float4& total, const Fragment& fragment) {
  if (Config::kParts && item.parts > 1) {
    if (dropped(cta, item)) return;
    const int index = packet_index(cta, item, item.part);
    const bool first_of_run = !merges_pairs<Config>(item) || cta.warp % 2 == 0;
#pragma unroll
    for (int d = 0; d < Config::kGroupBlocks; ++d) {
      put_packet(cta, index, n * Config::kDimTiles + first + d * 4, fragment(d), total, first_of_run);
    }
  } else {
    const float maximum[2] = {total.x, total.z};
    const float sum[2] = {total.y, total.w};
    const RowTileWriter<Config> writer(cta.params.output, rows, n, first, cta.lane, sum);
#pragma unroll
    for (int d = 0; d < Config::kGroupBlocks; ++d) writer.write(d * 4, fragment(d));
    if (first == 0) write_lse(cta.params.lse, rows, n, cta.lane, maximum, sum);
  }
}

/// The warps that merge meet.
template <class Config>
__device__ __forceinline__ void sync_merging(const Cta<Config>& cta) {
  if constexpr (Config::kMergeWarps * 32 == Config::kAllThreads) {
    __syncthreads();
  } else {
    cta.sync();
  }
}

/// Merges a fragment of the item's output, of which 1 << shift warps have a share of the parts each. False: not all of
/// these have come in time. All of the CTA's warps that merge, active or not.
template <class Config>
__device__ __forceinline__ bool merge_shares(const Cta<Config>& cta, const DeviceItem& item, const Rows& rows,
                                             int fragment, int shift, bool active) {
  if (shift == 0) return !active || merge_packet_run<1, 8>(cta, item, rows, fragment);
  const int share = cta.warp & ((1 << shift) - 1);
  const int begin = item.parts * share >> shift;
  const int count = active ? (item.parts * (share + 1) >> shift) - begin : 0;
  char* const first = packet(cta, packet_index(cta, item, begin), fragment);
  RunningRun<1> run;
  const bool come = add_packets<8>(cta, first, count, run);
  if (!come) give_up(cta, item);
  Running all = running(run.o[0], run.maximum, run.sum);
  sync_merging(cta);  // nobody needs the keys any more
  add_warps(reinterpret_cast<Running*>(cta.shared), all, cta.warp, cta.lane, shift, active, [&] { sync_merging(cta); });
  if (active && share == 0) write_output<Config>(cta.params.output, cta.params.lse, rows, fragment, cta.lane, all);
  forget_packets(cta, first, come ? count : 0);
  return come;
}

/// Parts of an output from which on twice as many warps have a share of each fragment.
inline constexpr int kPartsOfShare = 8;

/// Merges what falls to the CTA of an output in parts: in clusters also the warps that load. Each part's cluster waits
/// for the others, so that none has more to add up than it has left itself.
template <class Config>
__device__ __forceinline__ void merge_whole_latent(const Cta<Config>& cta, const DeviceItem& item, const Rows& rows) {
  constexpr int kWarps = Config::kMergeWarps;
  constexpr int kOfRowTile = Config::kCtaBlocks * 4;
  const int sharing = sharing_parts<Config>(item);
  if (item.parts == 1 || item.part >= sharing) return;
  const int run = merges_pairs<Config>(item) ? 2 : 1;
  const int runs = kWholeLatentFragments<Config> / run;
  const int first = runs * item.part / sharing * run;
  const int end = runs * (item.part + 1) / sharing * run;
  int shift = 0;
  while ((2 << shift) * (end - first) <= kWarps && item.parts > kPartsOfShare << shift) ++shift;
#pragma unroll 1
  for (int at = first; at < end; at += kWarps * run >> shift) {
    const int mine = at + (cta.warp >> shift) * run;
    const int fragment = mine / kOfRowTile * Config::kDimTiles + cta.rank * kOfRowTile + mine % kOfRowTile;
    if (run == 1) {
      if (!merge_shares(cta, item, rows, fragment, shift, mine < end)) return;
    } else if (kWholeLatentFragments<Config> >= 4 * kWarps && mine < end) {  // of two parts at least: else never
      if (!merge_packet_run<2>(cta, item, rows, fragment)) return;
    }
  }
  if constexpr (kRecords) {
    if (item.part == 0) record_merge(cta, item.slot_begin);
  }
}

}  // namespace splitwave::gpu
