// SPDX-License-Identifier: Apache-2.0
// Merges across items by CTAs that wait at the ends of their lists, by packets: nobody reports anything, whoever merges
// looks whether the parts are there.
#pragma once

#include "gpu/kernels/bounded_wait.cuh"
#include "gpu/kernels/combine.cuh"
#include "gpu/kernels/cta.cuh"
#include "gpu/kernels/items.cuh"
#include "gpu/kernels/owed_merges.cuh"
#include "gpu/kernels/packets.cuh"
#include "gpu/kernels/recorder.cuh"

namespace splitwave::gpu {

/// Whether the CTA merges the output of the item, which has rows for it, or some of its fragments.
template <class Config>
__device__ __forceinline__ bool owes_merge(const Cta<Config>& cta, const DeviceItem& item) {
  return item.parts > 1 && item.part < mergers(cta, item);
}

/// Fragments side by side that a warp takes together, if all have as many.
template <class Config>
inline constexpr int kWaitingRun = Config::kFragments >= 4 * Config::kWarps   ? 4
                                   : Config::kFragments >= 2 * Config::kWarps ? 2
                                                                              : 1;

/// Merges the warp's runs of fragments of the item's output.
template <int kRun, class Config>
__device__ __forceinline__ void merge_runs(const Cta<Config>& cta, const DeviceItem& item, const Rows& rows,
                                           const FragmentRange& range) {
#pragma unroll 1
  for (int fragment = range.first + cta.warp * kRun; fragment < range.end; fragment += Config::kWarps * kRun) {
    if (!merge_packet_run<kRun>(cta, item, rows, fragment)) return;
  }
}

/// Adds what lanes at this distance have of other parts of the same rows and elements.
__device__ __forceinline__ void add_other_lanes(Running& run, int distance) {
  const auto other = [&](float of_lane) { return __shfl_xor_sync(~0U, of_lane, distance); };
  const float4 sums[2] = {
      make_float4(run.maximum[0], run.sum[0], run.maximum[1], run.sum[1]),
      make_float4(other(run.maximum[0]), other(run.sum[0]), other(run.maximum[1]), other(run.sum[1]))};
  const float4 o[2] = {make_float4(run.o[0], run.o[1], run.o[2], run.o[3]),
                       make_float4(other(run.o[0]), other(run.o[1]), other(run.o[2]), other(run.o[3]))};
  run = Running();
  add_batch<2>(sums, o, run);
}

/// Merges the CTA's quarters of fragments of an output of many parts: of all rows two elements in eight. It takes up to
/// four at a time, and each 8 lanes of the warps that it has for one take parts side by side. To ask for more than
/// kAhead parts at a time needs registers, for which lists of other outputs took 1 to 4 % longer.
template <class Config>
__device__ __forceinline__ void merge_quarters(const Cta<Config>& cta, const DeviceItem& item, const Rows& rows,
                                               int sharing) {
  constexpr int kAhead = 4;
  constexpr int kPlacesShift = 2;  // log2 of the places of eight lanes in a warp
  const int all = kQuarters * cta.fragments_per_rank();
  const int end = min(all * (item.part + 1) / sharing, kQuarters * cta.fragments_with_rows(rows.count));
  const int together = min(all / sharing, Config::kWarps < kQuarters ? Config::kWarps : kQuarters);
  const int shift = __ffs(Config::kWarps / together) - 1;  // log2 of the warps of a quarter
#pragma unroll 1
  for (int next = all * item.part / sharing; next < end; next += together) {
    const int quarter = (next + (cta.warp >> shift)) % kQuarters;
    const int fragment = cta.first_fragment() + (next + (cta.warp >> shift)) / kQuarters;
    const bool active = next + (cta.warp >> shift) < end;
    const int warp = cta.warp & ((1 << shift) - 1);
    const int place = (warp << kPlacesShift) + (cta.lane >> 3);
    const int begin = item.parts * place >> (shift + kPlacesShift);
    const int count = active ? (item.parts * (place + 1) >> (shift + kPlacesShift)) - begin : 0;
    const int at = (quarter * 8 + (cta.lane & 7)) * 16;
    const int sums_at = kPacketSums + quarter * 64 + (cta.lane & 3) * 16;
    char* const packets = packet(cta, packet_index(cta, item, begin), fragment);
    Running run;
#pragma unroll 1
    for (int first = 0; first <= item.parts >> (shift + kPlacesShift); first += kAhead) {
      float4 sums[kAhead];
      float4 o[kAhead];
      if (!take_packets<kAhead>(cta, packets + first * kPacketStride<Config>, count - first, at, sums_at, sums, o)) {
        give_up(cta, item);
        break;
      }
      add_batch<kAhead>(sums, o, run);
    }
    const uint4 nothing = {kNotThere, kNotThere, kNotThere, kNotThere};
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      ptx::store_whole(packets + i * kPacketStride<Config> + at, nothing);
      if ((cta.lane & 4) == 0) ptx::store_whole(packets + i * kPacketStride<Config> + sums_at, nothing);
    }
    add_other_lanes(run, 8);
    add_other_lanes(run, 16);
    add_warps(reinterpret_cast<Running*>(cta.shared), run, cta.warp, cta.lane, shift, active, [&] { cta.sync(); });
    if (active && warp == 0) {
      const int n = fragment / Config::kDimTiles;
      const int d = fragment % Config::kDimTiles;
      const RowTileWriter<Config> writer(cta.params.output, rows, n, d, cta.lane, run.sum);
      writer.write(0, make_float4(run.o[0], run.o[1], run.o[2], run.o[3]), (cta.lane & 3) == quarter);
      if (d == 0 && quarter == 0) write_lse(cta.params.lse, rows, n, cta.lane, run.maximum, run.sum);
    }
    cta.sync();
  }
}

/// Merges what falls to the CTA of an item's output. All of its warps, whose rings are free.
template <class Config>
__device__ __forceinline__ void merge_waiting(const Cta<Config>& cta, const DeviceItem& item) {
  const Rows rows = rows_of<Config>(cta.params, item, cta.row_block);
  const int sharing = mergers(cta, item);
  const FragmentRange range = fragments_to_merge(cta, item, rows, sharing);
  if (merged_by_quarters(item)) {
    merge_quarters(cta, item, rows, sharing);
  } else if (constexpr int kRun = kWaitingRun<Config>; kRun > 1 && range.end - range.first >= Config::kWarps * kRun) {
    merge_runs<kRun>(cta, item, rows, range);
  } else {
    merge_runs<1>(cta, item, rows, range);
  }
  if constexpr (kRecords) {
    const bool records = !Config::kAlone || cta.warp == 0;
    if (records && (sharing == 1 || item.part == 0)) record_merge(cta, item.slot_begin);
  }
}

/// The same of all items of a chain of the table, with or without its last one.
template <class Config>
__device__ __forceinline__ void merge_chain(const Cta<Config>& cta, int index, bool last_too) {
#pragma unroll 1
  while (index >= 0) {
    const DeviceItem item = load_item(cta.params, index);
    const bool owed = item.piece == 0 && item.rows > cta.row_block * Config::kRows && owes_merge(cta, item);
    if (owed && (last_too || item.next >= 0)) merge_waiting(cta, item);
    index = item.next;
  }
}

}  // namespace splitwave::gpu
