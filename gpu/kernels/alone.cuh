// SPDX-License-Identifier: Apache-2.0
// Kernels whose warps each work on a list of their own: consecutive parts of the CTA's list, cut by the host
// (gpu/warp_lists.h). A warp ends an item by itself while the others go on, so that a further item costs no barrier of
// the CTA. Of an item that crosses the border between warps each has a piece; the one that ends last combines them.
#pragma once

#include "gpu/kernels/combine.cuh"
#include "gpu/kernels/cta.cuh"
#include "gpu/kernels/finish.cuh"
#include "gpu/kernels/items.cuh"
#include "gpu/kernels/owed_merges.cuh"
#include "gpu/kernels/ptx.cuh"
#include "gpu/kernels/recorder.cuh"
#include "gpu/kernels/tile.cuh"
#include "gpu/kernels/waiting.cuh"

namespace splitwave::gpu {

/// Where a warp leaves its piece of an item: the item's first one, the last thing that its warp does, in that warp's
/// ring, which is empty then; others, the first thing that theirs do, in place of the warps' partial results. The
/// fragments, then the sums.
template <class Config>
__device__ __forceinline__ unsigned char* piece_place(const Cta<Config>& cta, int first_warp, int piece) {
  constexpr int kBytes = Config::kFragmentBytes + Config::kSumBytes;
  static_assert(kBytes <= Config::kStages * Config::kStageBytes);
  return cta.shared + (piece == 0 ? first_warp * Config::kStages * Config::kStageBytes
                                  : Config::kReduceOffset + (first_warp + piece) * kBytes);
}

/// Sums over all lanes of the rows' pairs.
__device__ __forceinline__ void add_lanes(float (&sum)[2]) {
#pragma unroll
  for (int lanes = 4; lanes < 32; lanes <<= 1) {
    sum[0] += __shfl_xor_sync(~0U, sum[0], lanes);
    sum[1] += __shfl_xor_sync(~0U, sum[1], lanes);
  }
}

template <class Config>
__device__ __forceinline__ void store_piece(unsigned char* place, int lane, const Accumulator<Config>& acc) {
  auto* fragments = reinterpret_cast<float4*>(place) + lane;
  auto* sums = reinterpret_cast<float4*>(place + Config::kFragmentBytes);
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    float sum[2] = {acc.sum[n][0], acc.sum[n][1]};
    add_lanes(sum);
#pragma unroll
    for (int d = 0; d < Config::kDimTiles; ++d) {
      const float(&o)[4] = acc.o[n][d];
      fragments[(n * Config::kDimTiles + d) * 32] = make_float4(o[0], o[1], o[2], o[3]);
    }
    if (lane < 4) sums[n * 4 + lane] = make_float4(acc.maximum[n][0], sum[0], acc.maximum[n][1], sum[1]);
  }
}

/// Hands on what the warp has all of.
template <class Config>
__device__ __forceinline__ void put_whole(const Cta<Config>& cta, const Rows& rows, Sink sink, int slot,
                                          const Accumulator<Config>& acc) {
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    if (Config::kRowTiles > 1 && n * 8 >= rows.count) break;  // nobody would take such packets
    float sum[2] = {acc.sum[n][0], acc.sum[n][1]};
    add_lanes(sum);
    put_tile<Config::kDimTiles, 1>(cta, n, 0, acc.maximum[n], sum, sink, 0, rows, slot, [&](int d) {
      const float(&o)[4] = acc.o[n][d];
      return make_float4(o[0], o[1], o[2], o[3]);
    });
  }
}

/// Combines the pieces of an item, in order, and hands the result on. One warp.
template <class Config>
__device__ __forceinline__ void put_pieces(const Cta<Config>& cta, const DeviceItem& item, int first_warp,
                                           const Rows& rows, Sink sink, int slot) {
  constexpr int kMost = Config::kWarps;
  const unsigned char* place[kMost];
#pragma unroll
  for (int i = 0; i < kMost; ++i) place[i] = piece_place(cta, first_warp, i);
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    if (Config::kRowTiles > 1 && n * 8 >= rows.count) break;
    float4 sums[kMost];
    Weights<kMost> weights;
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      sums[i] = make_float4(kNothingSeen, 0, kNothingSeen, 0);
      if (i < item.pieces) {
        sums[i] = reinterpret_cast<const float4*>(place[i] + Config::kFragmentBytes)[n * 4 + (cta.lane & 3)];
      }
    }
    weigh_sums(sums, weights);
    put_tile<Config::kDimTiles, 1>(cta, n, 0, weights.maximum, weights.sum, sink, 0, rows, slot, [&](int d) {
      float4 o[kMost];
#pragma unroll
      for (int i = 0; i < kMost; ++i) {
        o[i] = make_float4(0, 0, 0, 0);
        if (i < item.pieces) {
          o[i] = reinterpret_cast<const float4*>(place[i])[(n * Config::kDimTiles + d) * 32 + cta.lane];
        }
      }
      return weighted_sum(o, weights);
    });
  }
}

/// Whether all pieces of the item are there now, in which case it is this warp that combines them.
template <class Config>
__device__ __forceinline__ bool leave_piece(const Cta<Config>& cta, const DeviceItem& item, int first_warp,
                                            const Accumulator<Config>& acc) {
  store_piece<Config>(piece_place(cta, first_warp, item.piece), cta.lane, acc);
  __threadfence_block();
  __syncwarp();
  std::uint32_t before = 0;
  if (cta.lane == 0) {
    std::uint32_t* ended = &cta.control().ended[first_warp];
    before = atomicAdd(ended, 1U);
    if (before + 1 == item.pieces) *ended = 0;  // for the next list
    __threadfence_block();
  }
  before = __shfl_sync(~0U, before, 0);
  __syncwarp();  // a shuffle orders no memory: the other lanes read what lane 0 knows to be there
  return before + 1 == item.pieces;
}

/// All fragments of the output of a last arriver, by one warp.
template <class Config>
__device__ __forceinline__ void merge_alone(const Cta<Config>& cta, const DeviceItem& item) {
#pragma unroll 1
  for (int warp = 0; warp < Config::kWarps; ++warp) {
    const Cta<Config> part{cta.params, cta.shared, cta.lane, warp, cta.rank, cta.worker, cta.row_block};
    merge_output<Moment::between_items>(part, item, false);
  }
}

/// Notes that the CTA is to merge the item's output when its lists are done. One lane. False: there is no room for it.
template <class Config>
__device__ __forceinline__ bool note_owed(const Cta<Config>& cta, const DeviceItem& item) {
  const std::uint32_t place = atomicAdd(&cta.control().owed, 1U);
  if (place >= kMaxPending) return false;
  cta.control().pending[place] = item;
  return true;
}

/// The item's partial result is written: reports it, and notes it if its merge falls to this CTA. What finds no room is
/// merged at once.
template <class Config>
__device__ __forceinline__ void report_alone(const Cta<Config>& cta, const DeviceItem& item) {
  bool at_once = false;
  __syncwarp();
  if (cta.lane == 0 && !dropped(cta, item)) {
    const std::uint32_t last = item.parts - 1U;
    const bool ours = ptx::increment(cta.arrivals(item.slot_begin), last) == last;
    at_once = ours && !note_owed(cta, item);
  }
  if (__shfl_sync(~0U, at_once ? 1 : 0, 0) == 0) return;
  merge_alone(cta, item);
  if constexpr (kRecords) record_merge(cta, item.slot_begin);
}

/// The warp has read its piece of an item that has rows of this CTA's row block.
template <class Config>
__device__ __forceinline__ void finish_piece(const Cta<Config>& cta, const DeviceItem& item,
                                             const Accumulator<Config>& acc) {
  const Rows rows = rows_of<Config>(cta.params, item, cta.row_block);
  const Sink sink = sink_of(cta, item);
  const int slot = slot_of(cta, item);
  if (item.pieces == 1) {
    put_whole(cta, rows, sink, slot, acc);
  } else {
    const int first_warp = cta.warp - item.piece;
    if (!leave_piece(cta, item, first_warp, acc)) return;
    put_pieces(cta, item, first_warp, rows, sink, slot);
  }
  if constexpr (Config::kWaits) {
    if (cta.lane == 0 && owes_merge(cta, item)) note_owed(cta, item);
  } else if (item.parts > 1 && cta.params.merge != InKernelMerge::none) {
    report_alone(cta, item);
  }
}

/// Before the first list: no piece is there, no merge is owed.
template <class Config>
__device__ __forceinline__ void open_lists(const Cta<Config>& cta) {
  if (threadIdx.x < Config::kWarps) cta.control().ended[threadIdx.x] = 0;
  if (threadIdx.x == 0) cta.control().owed = 0;
  __syncthreads();
}

/// The warps' lists are done: the CTA does the merges that fall to it.
template <class Config>
__device__ __forceinline__ void merge_owed(const Cta<Config>& cta, int list) {
  if (!Config::kWaits && cta.params.merge == InKernelMerge::none) return;
  Control& control = cta.control();
  __syncthreads();
  const int owed = static_cast<int>(control.owed);
  if (owed == 0) return;
  if (Config::kWaits && owed > kMaxPending) {  // which ones found no room is not known
#pragma unroll 1
    for (int warp = 0; warp < Config::kWarps; ++warp) merge_chain(cta, list * Config::kWarps + warp, true);
    return;
  }
  if constexpr (kRecords) skip_waiting(cta);
#pragma unroll 1
  for (int i = 0; i < min(owed, kMaxPending); ++i) {
    const DeviceItem merged = control.pending[i];
    if constexpr (Config::kWaits) {
      merge_waiting(cta, merged);
    } else {
      merge_output<Moment::at_end>(cta, merged, true);
      if (kRecords && cta.warp == 0) record_merge(cta, merged.slot_begin);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) control.owed = 0;
}

}  // namespace splitwave::gpu
