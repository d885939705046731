// SPDX-License-Identifier: Apache-2.0
// The decode kernel: runs any plan. docs/kernels.md explains the design.
#pragma once

#include "gpu/kernels/alone.cuh"
#include "gpu/kernels/cta.cuh"
#include "gpu/kernels/finish.cuh"
#include "gpu/kernels/items.cuh"
#include "gpu/kernels/loader.cuh"
#include "gpu/kernels/owed_merges.cuh"
#include "gpu/kernels/packets.cuh"
#include "gpu/kernels/params.h"
#include "gpu/kernels/ptx.cuh"
#include "gpu/kernels/recorder.cuh"
#include "gpu/kernels/tile.cuh"
#include "gpu/kernels/waiting.cuh"
#include "gpu/kernels/whole_item.cuh"

namespace splitwave::gpu {

/// Counts an execution of the item, for tests. index: of the item in the table, or its part.
template <class Cta>
__device__ __forceinline__ void count_visit(const Cta& cta, const DeviceItem& item, int index) {
  if ((cta.params.test_hooks & kCountVisits) == 0) return;
  if ((Cta::kAlone ? cta.lane != 0 || item.piece > 0 : threadIdx.x != 0) || cta.rank != 0) return;
  if (cta.row_block != 0 || item.rows == 0) return;
  index = table_index(cta, index);
  atomicAdd(reinterpret_cast<unsigned long long*>(cta.params.visits) + index, 1ULL);
}

/// The loop over this warp's chunks of the item, `range`: wait for a stage, use it, request the next chunk into it.
/// `priming` counts down the stages that are filled before the first use.
template <class Config>
__device__ __forceinline__ void stream_item(const Cta<Config>& cta, const DeviceItem& item, const ChunkRange& range,
                                            const Rows& rows, QueryFragments<Config>& q, std::uint32_t ring,
                                            Loader<Config>& loader, int& priming, bool& wait_after_fill, int& stage,
                                            Accumulator<Config>& acc) {
  const RowMask mask = row_mask(cta.params, item, rows);
  int position = item.kv_begin + range.first * Config::kTokens;
  const int end = range.end > range.first ? item.kv_begin + range.end * Config::kTokens : position;
#pragma unroll 1
  while (true) {
    if (priming == 0) {
      if (position >= end) break;
      ptx::wait_copies<Config::kStages - 1>();
      __syncwarp();
      add_chunk<Config>(ring + stage * Config::kStageBytes, q, cta.params.scale_log2, position, item.kv_end - position,
                        mask, second_head_row<Config>(rows), cta.lane, acc);
      __syncwarp();
      position += Config::kChunks * Config::kTokens;
    }
    loader.fill(stage * Config::kStageBytes);
    if (++stage == Config::kStages) stage = 0;
    if (priming == 0) continue;
    --priming;
    if (Config::kSingleItem && loader.item_done()) {  // a small item: the other stages stay empty
#pragma unroll
      for (int i = 1; i < Config::kStages; ++i) {
        if (i <= priming) ptx::commit_copies();
      }
      priming = 0;
      stage = 0;
    }
    if (priming > 0) continue;
    if constexpr (Config::kSingleItem) open_receivers(cta);  // while the data are on their way
    if (wait_after_fill) {
      ptx::wait_for_previous_kernel();
      if (Config::kSingleItem) {
        request_queries(cta, rows);
        ptx::wait_copies<0>();
      } else {
        load_queries<Config>(cta.params, rows, cta.lane, q);
      }
      wait_after_fill = false;
    }
    if constexpr (Config::kSingleItem) {
      ptx::wait_copies<Config::kStages>();  // the queries came before the stages
      __syncthreads();
      take_queries(cta, q);
    }
  }
}

/// Test hook: a pseudo-random pause of up to some 65 microseconds, different in every CTA.
__device__ __forceinline__ void pause(std::uint32_t seed) {
  std::uint32_t x = seed + 0x9e3779b9U * (blockIdx.x + 1) + 0x85ebca6bU * (blockIdx.y + 1) + 0xc2b2ae35U * blockIdx.z;
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  const std::uint64_t start = ptx::nanoseconds();
  while (ptx::nanoseconds() - start < (x & 0xffff)) {
  }
}

/// Row blocks of a list are neighbours in the order in which CTAs start, so that what one reads of K and V the others
/// find in L2, also where lists come in several waves.
template <class Config>
__device__ __forceinline__ Cta<Config> place(const DecodeParams& params, unsigned char* shared) {
  Cta<Config> cta{params,
                  shared,
                  static_cast<int>(threadIdx.x & 31),
                  static_cast<int>(threadIdx.x >> 5),
                  0,
                  static_cast<int>(blockIdx.x),
                  0};
  cta.rank = static_cast<int>(blockIdx.x) & ((1 << cta.shift()) - 1);
  cta.worker = static_cast<int>(blockIdx.x) >> cta.shift();
  if (!Config::kSingleItem && cta.row_blocks() > 1) {
    const unsigned number = blockIdx.y * (gridDim.x >> cta.shift()) + static_cast<unsigned>(cta.worker);
    cta.worker = static_cast<int>(number / gridDim.y);
    cta.row_block = static_cast<int>(number % gridDim.y);
  }
  return cta;
}

/// Runs the items of a list. The queries of the next item are requested before the last one is finished, which is
/// finish(item, accumulator).
template <class Config, class Finish>
__device__ __forceinline__ void run_list(const Cta<Config>& cta, int index, std::uint32_t ring, Loader<Config>& loader,
                                         bool& wait_after_fill, int& stage, const Finish& finish) {
  const DecodeParams& params = cta.params;
  DeviceItem item = params.uniform.parts > 0 ? uniform_item<Config>(params, index) : load_item(params, index);
  DeviceItem done = item;
  QueryFragments<Config> q;
  Accumulator<Config> acc;
  int priming = Config::kStages;
  bool more = true;
  bool begun = false;
#pragma unroll 1
  while (true) {
    const Rows rows = rows_of<Config>(params, item, cta.row_block);
    const ChunkRange range = chunk_range<Config>(item, cta.shift(), cta.rank, cta.warp, cta.row_block);
    if (more && !wait_after_fill) load_queries<Config>(params, rows, cta.lane, q);
    if (begun) {
      if (!more && (params.dependent_launch & kTriggerLate) != 0) ptx::let_next_kernel_start();
      finish(done, acc);
      if (!more) return;
    } else {
      loader.start(item, range);
      begun = true;
    }
    count_visit(cta, item, index);
    if constexpr (kRecords) begin_item(cta, index);
    acc.clear();
    stream_item<Config>(cta, item, range, rows, q, ring, loader, priming, wait_after_fill, stage, acc);
    done = item;
    more = item.next >= 0;
    if (more) {
      index = item.next;
      item = load_item(params, index);
    }
  }
}

/// The same of a list that the CTA's warps share.
template <class Config>
__device__ __forceinline__ void run_shared_list(const Cta<Config>& cta, int list, std::uint32_t ring,
                                                Loader<Config>& loader, bool& wait_after_fill, int& stage,
                                                int& item_count) {
  Pending pending;
  bool owes_earlier = false;  // a CTA that waits: a merge of an item before the last one
  DeviceItem last = {};       // ... the one whose merge it owes, if it has parts
  run_list(cta, list, ring, loader, wait_after_fill, stage, [&](const DeviceItem& done, Accumulator<Config>& acc) {
    const bool active = done.rows > cta.row_block * Config::kRows;
    if (active) {
      combine_item(cta, rows_of<Config>(cta.params, done, cta.row_block), sink_of(cta, done), slot_of(cta, done),
                   item_count++, acc);
      if constexpr (kRecords) end_item(cta);
    }
    if constexpr (!Config::kWaits) {
      report_item(cta, done, active, pending);
    } else if (active && owes_merge(cta, done)) {
      if (done.next >= 0) {
        owes_earlier = true;
      } else {
        last = done;
      }
    }
  });
  if constexpr (!Config::kWaits) {
    merge_rest(cta, pending);
  } else {
    if (owes_earlier) merge_chain(cta, list, false);
    if (last.parts > 1) merge_waiting(cta, last);
  }
}

/// The same of the warps' parts of a list, then what its CTA owes.
template <class Config>
__device__ __forceinline__ void run_warp_lists(const Cta<Config>& cta, int list, std::uint32_t ring,
                                               Loader<Config>& loader, bool& wait_after_fill, int& stage) {
  run_list(cta, list * Config::kWarps + cta.warp, ring, loader, wait_after_fill, stage,
           [&](const DeviceItem& done, Accumulator<Config>& acc) {
             if (done.rows <= cta.row_block * Config::kRows) return;
             finish_piece(cta, done, acc);
             if constexpr (kRecords) end_item(cta);
           });
  merge_owed(cta, list);
}

/// The one item of a CTA.
template <class Config>
__device__ __forceinline__ void run_single_item(const Cta<Config>& cta, std::uint32_t ring, Loader<Config>& loader,
                                                bool wait_after_fill) {
  const DecodeParams& params = cta.params;
  const DeviceItem item = only_item(cta);
  const Rows rows = rows_of<Config>(params, item, 0);
  const ChunkRange range = chunk_range<Config>(item, cta.shift(), cta.rank, cta.warp, 0);
  QueryFragments<Config> q = {};
  Accumulator<Config> acc;
  int priming = Config::kStages;
  int stage = 0;
  if (!wait_after_fill) request_queries(cta, rows);
  loader.start(item, range);
  acc.clear();
  if constexpr (kRecords) begin_item(cta, cta.worker);
  stream_item<Config>(cta, item, range, rows, q, ring, loader, priming, wait_after_fill, stage, acc);
  if ((params.dependent_launch & kTriggerLate) != 0) ptx::let_next_kernel_start();
  const bool split = item.parts > 1;
  const bool by_packets = split && merges_packets(cta);
  const std::uint32_t ticket = by_packets ? take_ticket(cta, item) : 0;
  combine_single_item(cta, rows, split ? item.slot_begin + item.part : -1, acc);
  if constexpr (kRecords) end_item(cta);
  if constexpr (kLeavesPackets<Config>) {
    if (by_packets) merge_if_last(cta, item, rows, ticket);
  } else {
    Pending pending;
    report_item(cta, item, true, pending);
    merge_rest(cta, pending);
  }
}

/// List after list: the worker's own, or what the queue gives it, which has none for CTAs that wait.
template <class Config, class Run>
__device__ __forceinline__ void for_each_list(const Cta<Config>& cta, const Run& run) {
  const DecodeParams& params = cta.params;
  if constexpr (Config::kWaits) {
    run(cta.worker);
    return;
  }
  int list = cta.worker;
#pragma unroll 1
  while (params.workers == 0 || list < params.lists) {
    run(list);
    if (params.workers == 0) break;
    cta.sync_all();
    if (threadIdx.x == 0) {
      cta.control().next_list = params.workers + ptx::increment_relaxed(params.queue, params.lists - 1);
    }
    cta.sync_all();
    list = static_cast<int>(cta.control().next_list);
  }
}

template <class Config>
__global__ void __launch_bounds__(Config::kThreads, Config::kResident)
    decode_kernel(const __grid_constant__ DecodeParams params) {
#if __CUDA_ARCH__ < 900
  if constexpr (Config::kSingleItemCluster > 1) return;  // never launched: there are no clusters
#endif
  extern __shared__ __align__(1024) unsigned char shared[];
  const Cta<Config> cta = place<Config>(params, shared);
  if constexpr (kRecords) begin_recording(cta);
  if ((params.dependent_launch & kTriggerFirst) != 0) ptx::let_next_kernel_start();
  if ((params.dependent_launch & kWaitFirst) != 0) ptx::wait_for_previous_kernel();
  if (!Config::kSingleItem) open_receivers(cta);
  if (!Config::kSingleItem && (params.test_hooks & kDelay) != 0) pause(params.injection.delay_seed);

  const bool wait_after_fill = (params.dependent_launch & kWaitAfterFill) != 0;
  const std::uint32_t ring = ptx::shared_address(shared) + cta.warp * (Config::kStages * Config::kStageBytes);
  Loader<Config> loader(params, ring, cta.rank, cta.warp, cta.row_block, cta.lane);
  if constexpr (Config::kWholeItem) {
    run_whole_item(cta, ring, loader, wait_after_fill);
  } else if constexpr (Config::kSingleItem) {
    run_single_item(cta, ring, loader, wait_after_fill);
  } else {
    int stage = 0;
    bool wait = wait_after_fill;
    if constexpr (Config::kAlone) {
      open_lists(cta);
      for_each_list(cta, [&](int list) { run_warp_lists(cta, list, ring, loader, wait, stage); });
    } else {
      int item_count = 0;
      for_each_list(cta, [&](int list) { run_shared_list(cta, list, ring, loader, wait, stage, item_count); });
    }
  }
  if constexpr (kRecords) end_recording(cta);
}

}  // namespace splitwave::gpu
