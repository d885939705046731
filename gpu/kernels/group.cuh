// SPDX-License-Identifier: Apache-2.0
// The decode kernel for many packed rows: as decode.cuh, with the CTA's warps at one tile together (group_stream.cuh).
#pragma once

#include "gpu/kernels/box_loader.cuh"
#include "gpu/kernels/decode.cuh"
#include "gpu/kernels/group_finish.cuh"
#include "gpu/kernels/latent.cuh"
#include "gpu/kernels/owed_merges.cuh"
#include "gpu/kernels/seesaw_finish.cuh"

namespace splitwave::gpu {

/// What a kernel keeps of an item, and from item to item.
template <class Config>
using ItemAccumulator = std::conditional_t<Config::kSeesaw, SeesawAccumulator<Config>, GroupAccumulator<Config>>;
template <class Config>
using ListState = std::conditional_t<Config::kSeesaw, SeesawState<Config>,
                                     std::conditional_t<Config::kLatent, LatentState<Config>, GroupState<Config>>>;

/// Reports the item if its output is split, and does the merges that fall to this CTA if the list ends or there is no
/// room for more of them: in one place, since what is there twice makes an item's end up to 0.3 us longer.
template <class Config>
__device__ __forceinline__ void merge_if_due(const Cta<Config>& cta, const DeviceItem& item, bool active,
                                             Pending& pending) {
  const bool in_kernel = cta.params.merge != InKernelMerge::none;
  if (active && item.parts > 1 && in_kernel) pending.arrive(cta, item);
  if (pending.count == 0 || (item.next >= 0 && pending.count < kMaxPending)) return;
  // Loaders may have asked for the next list's keys.
  const bool ring_is_free = item.next < 0 && (Config::kLoaderThreads == 0 || cta.params.workers == 0);
  merge_pending<Moment::at_end>(cta, pending, ring_is_free);
}

/// Runs the items of a list.
template <class Config>
__device__ __forceinline__ void run_group_list(const Cta<Config>& cta, int index, std::uint32_t ring,
                                               bool& wait_after_fill, ListState<Config>& state) {
  const DecodeParams& params = cta.params;
  const auto range_of = [&](const DeviceItem& item) {
    return chunk_range<Config>(item, cta.shift(), cta.rank, member(cta), cta.row_block);
  };
  DeviceItem item = params.uniform.parts > 0 ? uniform_item<Config>(params, index) : load_item(params, index);
  state.start(cta, item, range_of(item), wait_after_fill);
  wait_after_fill = false;
  ItemAccumulator<Config> acc;
  Pending pending;
#pragma unroll 1
  while (true) {
    const Rows rows = rows_of<Config>(params, item, cta.row_block);
    const ChunkRange range = range_of(item);
    const bool active = rows.count > 0;
    const bool more = item.next >= 0;
    count_visit(cta, item, index);
    if constexpr (kRecords) begin_item(cta, index);
    acc.clear();
    state.take_queries(cta, active);
    if (active) {
      if constexpr (Config::kLatent) {
        stream_latent_item(cta, item, range, rows, ring, state, acc);
      } else {
        stream_group_item(cta, item, range, rows, ring, state, acc);
      }
    }
    if (!more && (params.dependent_launch & kTriggerLate) != 0) ptx::let_next_kernel_start();
    const auto go_on = [&] { state.end_item(cta, item, range); };
    if (active) {
      const int slot = item.parts > 1 ? item.slot_begin + item.part : -1;
      finish_group_item(cta, rows, slot, state.item_count++, acc, go_on);
      if constexpr (kRecords) end_item(cta);
    } else {
      go_on();
    }
    merge_if_due(cta, item, active, pending);
    if (!more) return;
    index = item.next;
    item = state.following(cta, item, range);
  }
}

/// The loaders' part of the kernel.
template <class Config>
__device__ __forceinline__ void load_lists(const Cta<Config>& cta, std::uint32_t ring, const KeyMap* keys) {
  if constexpr (Config::kWorkRegisters > 0) ptx::keep_registers<Config::kLoaderRegisters>();
  const int warp = cta.warp - Config::kWarps;
  LatentStage<Config> next;
  if constexpr (Config::kBoxes) {
    BoxLoader<Config> loader(cta.params, *keys, ring, cta.row_block);
    for_each_list(cta, [&](int list) {
      if (warp == 0 && cta.lane == 0) load_boxes(cta, list, loader, next);
      __syncwarp();
    });
  } else {
    Loader<Config> loader(cta.params, ring + warp * Config::kTokens * 128, Config::kClusters ? cta.rank : 0, warp,
                          cta.row_block, cta.lane);
    loader.rewind();
    for_each_list(cta, [&](int list) { load_list(cta, list, loader, next); });
  }
}

/// keys: where Config::kBoxes.
template <class Config>
__device__ __forceinline__ void run_group_cta(const DecodeParams& params, unsigned char* shared,
                                              const KeyMap* keys = nullptr) {
  const Cta<Config> cta = place<Config>(params, shared);
  if constexpr (kRecords) begin_recording(cta);
  if ((params.dependent_launch & kTriggerFirst) != 0) ptx::let_next_kernel_start();
  if ((params.dependent_launch & kWaitFirst) != 0) ptx::wait_for_previous_kernel();
  open_receivers(cta);
  if (threadIdx.x == 0) {
    if constexpr (Config::kLatent) open_stages(cta);
  }
  __syncthreads();
  if ((params.test_hooks & kDelay) != 0) pause(params.injection.delay_seed);

  bool wait_after_fill = (params.dependent_launch & kWaitAfterFill) != 0;
  const std::uint32_t ring = ptx::shared_address(shared);
  if constexpr (Config::kLatent) {
    if (cta.warp >= Config::kWarps) {
      load_lists(cta, ring, keys);
      return;
    }
    if constexpr (Config::kWorkRegisters > 0) ptx::take_registers<Config::kWorkRegisters>();
  }
  ListState<Config> state(cta, ring);
  for_each_list(cta, [&](int list) { run_group_list(cta, list, ring, wait_after_fill, state); });
  if constexpr (kRecords) end_recording(cta);
}

/// Whether the device that code is compiled for has what the config's kernel needs.
template <class Config>
__device__ constexpr bool has_instructions() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  return true;
#else
  return Config::kPortable;
#endif
}

template <class Config>
__global__ void __launch_bounds__(Config::kAllThreads, Config::kResident)
    group_kernel(const __grid_constant__ DecodeParams params) {
  extern __shared__ __align__(1024) unsigned char shared[];
  if constexpr (has_instructions<Config>()) run_group_cta<Config>(params, shared);
}

/// The same with keys in boxes.
template <class Config>
__global__ void __launch_bounds__(Config::kAllThreads, Config::kResident)
    box_kernel(const __grid_constant__ DecodeParams params, const __grid_constant__ KeyMap keys) {
  extern __shared__ __align__(1024) unsigned char shared[];
  if (threadIdx.x == Config::kThreads) ptx::prefetch_map(&keys);
  if constexpr (has_instructions<Config>()) run_group_cta<Config>(params, shared, &keys);
}

}  // namespace splitwave::gpu
