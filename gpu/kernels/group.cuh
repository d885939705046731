// SPDX-License-Identifier: Apache-2.0
// The decode kernel for many packed rows: as decode.cuh, with the CTA's warps at one tile together (group_stream.cuh).
#pragma once

#include "gpu/kernels/decode.cuh"
#include "gpu/kernels/latent.cuh"

namespace splitwave::gpu {

/// Place of a packed row in [query token][query head].
__device__ __forceinline__ std::int64_t row_index(const Rows& rows, const HeadDivisor& heads, int row) {
  const int head = rows.row_begin + row;
  return rows.query_row + std::int64_t{heads.divide(head)} * (rows.query_heads - rows.head_count) + head;
}

/// Requests the item's query rows, in blocks of 64 elements. Rows that do not exist repeat the last one: what they give
/// is not written.
template <class Config>
__device__ __forceinline__ void request_group_queries(const Cta<Config>& cta, const Rows& rows) {
#if __CUDA_ARCH__ >= 900
  if (rows.count <= 0) return;
  constexpr int kColumns = Config::kHeadDim / 8;
  const HeadDivisor heads(rows.head_count);
  // Unrolled, a latent cache's wide rows took registers for every place of theirs throughout the kernel.
#pragma unroll(Config::kLatent ? 1 : Config::kRows* kColumns / Config::kThreads)
  for (int first = 0; first < Config::kRows * kColumns; first += Config::kThreads) {
    const int index = first + static_cast<int>(threadIdx.x);
    const int row = index / kColumns;
    const int column = index % kColumns;
    const char* from = static_cast<const char*>(cta.params.q) +
                       row_index(rows, heads, min(row, rows.count - 1)) * (Config::kHeadDim * 2) + column * 16;
    const std::uint32_t to = ptx::shared_address(cta.shared) + Config::kQueryOffset +
                             (column >> 3) * Config::kQueryBlockBytes + row * 128 + (((column & 7) ^ (row & 7)) << 4);
    ptx::copy_16(to, from, true, kEvictNormal);
  }
  ptx::arrive_after_copies(ptx::shared_address(&cta.control().queries));
#endif
}

/// What the end of an item needs of each row.
template <class Config>
struct RowEnds {
  float sums[Config::kRows];  ///< over all tokens; of outputs 1 over them
  int places[Config::kRows];  ///< in [query token][query head], from the item's first query on
};

/// Adds up the rows' sums and writes the LSE of outputs: a thread a row. All threads, which are together afterwards.
/// meanwhile: called when no thread needs the item's last stage and its queries any more.
template <class Config, class Meanwhile>
__device__ __forceinline__ const RowEnds<Config>& end_rows(const Cta<Config>& cta, const Rows& rows, bool output,
                                                           const GroupAccumulator<Config>& acc,
                                                           const Meanwhile& meanwhile) {
  auto* sums = reinterpret_cast<float2*>(cta.shared + Config::kSumsOffset);
  auto* maxima = reinterpret_cast<float2*>(cta.shared + Config::kMaximaOffset);
  auto& ends = *reinterpret_cast<RowEnds<Config>*>(cta.shared + Config::kRowEndsOffset);
  float sum_of_rows[Config::kScoreTiles][2];
#pragma unroll
  for (int n = 0; n < Config::kScoreTiles; ++n) {
#pragma unroll
    for (int j = 0; j < 2; ++j) sum_of_rows[n][j] = acc.sum[n][j];
  }
  reduce_rows<Config::kScoreTiles>(sum_of_rows, cta.lane, [](float a, float b) { return a + b; });
  sums[member(cta) * (Config::kRows / 2) + tile_of_lane(cta) * 4 + (cta.lane & 3)] =
      make_float2(sum_of_rows[0][0], sum_of_rows[0][1]);
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {  // all lanes that have them write the same: no branch to come back from
    maxima[n * 4 + (cta.lane & 3)] = make_float2(acc.maximum[n][0], acc.maximum[n][1]);
  }
  cta.sync();
  const int row = static_cast<int>(threadIdx.x);
  if (row < Config::kRows) {
    float sum = 0;
#pragma unroll
    for (int warp = 0; warp < 4; ++warp) {
      sum += reinterpret_cast<const float*>(sums)[warp * Config::kRows + row];
    }
    const std::int64_t index = row_index(rows, HeadDivisor(rows.head_count), row);
    ends.places[row] = static_cast<int>(index - rows.query_row);
    ends.sums[row] = !output ? sum : sum == 0 ? 0.0F : ptx::reciprocal_approximate(sum);
    if (output && cta.params.lse != nullptr && row < rows.count) {
      cta.params.lse[index] = log_sum_exp(reinterpret_cast<const float*>(maxima)[row], sum);
    }
  }
  meanwhile();
  cta.sync();
  return ends;
}

/// Writes the CTA's elements of a row tile, normalised and rounded.
template <class Config>
__device__ __forceinline__ void write_group_rows(const Cta<Config>& cta, const Rows& rows, int n,
                                                 const GroupAccumulator<Config>& acc, const RowEnds<Config>& ends) {
  using T = ptx::Traits<typename Config::Element>;
  const float2 inverse = *reinterpret_cast<const float2*>(&ends.sums[n * 8 + 2 * (cta.lane & 3)]);
  const int row = n * 8 + (cta.lane >> 2);
  char* to = static_cast<char*>(cta.params.output) +
             (std::int64_t{rows.query_row} + ends.places[row]) * (Config::kValueDim * 2) +
             warpgroup(cta) * (Config::kDimBlocks * 128) + member(cta) * 32 + (cta.lane & 3) * 4;
#pragma unroll
  for (int d = 0; d < Config::kDimBlocks; ++d) {
    const float(&o)[4] = acc.o[d][n];
    const std::uint32_t low = ptx::transpose(T::pack(o[0] * inverse.x, o[1] * inverse.y));
    const std::uint32_t high = ptx::transpose(T::pack(o[2] * inverse.x, o[3] * inverse.y));
    if (row < rows.count) {
      *reinterpret_cast<std::uint32_t*>(to + d * 128) = low;
      *reinterpret_cast<std::uint32_t*>(to + d * 128 + 16) = high;
    }
  }
}

/// Hands the item's result to its sink: there is nothing to combine but the warps' sums, and with clusters the CTAs'
/// results. meanwhile: as end_rows() calls it.
template <class Config, class Meanwhile>
__device__ __forceinline__ void finish_group_item(const Cta<Config>& cta, const Rows& rows, int slot, int item_count,
                                                  const GroupAccumulator<Config>& acc, const Meanwhile& meanwhile) {
  const Sink own = slot < 0 ? Sink::output : Sink::partial;
  const Sink sink = cta.shift() > 0 ? Sink::ranks : own;
  const RowEnds<Config>& ends = end_rows(cta, rows, sink == Sink::output, acc, meanwhile);
  const int buffer = item_count & 1;
#if __CUDA_ARCH__ >= 900
  if (cta.shift() > 0 && item_count == 0) ptx::cluster_wait();
#endif
  if (sink == Sink::output) {
#pragma unroll
    for (int n = 0; n < Config::kRowTiles; ++n) write_group_rows(cta, rows, n, acc, ends);
  } else {
#pragma unroll
    for (int n = 0; n < Config::kRowTiles; ++n) {
      const float2 sum = *reinterpret_cast<const float2*>(&ends.sums[n * 8 + 2 * (cta.lane & 3)]);
      const float4 total = make_float4(acc.maximum[n][0], sum.x, acc.maximum[n][1], sum.y);
#pragma unroll
      for (int d = 0; d < Config::kDimBlocks; ++d) {
        const float(&o)[4] = acc.o[d][n];
        const int tile = (warpgroup(cta) * Config::kDimBlocks + d) * 4 + member(cta);
        hand_on_fragment(cta, n * Config::kDimTiles + tile, make_float4(o[0], o[1], o[2], o[3]), total, sink, buffer,
                         slot);
      }
    }
  }
#if __CUDA_ARCH__ >= 900
  if (cta.shift() > 0) {
    const int per_rank = cta.fragments_per_rank();
    const std::uint32_t barrier = ptx::shared_address(&cta.control().barriers[buffer]);
    __syncwarp();
    ptx::wait_barrier(barrier, (item_count >> 1) & 1);
    if (threadIdx.x == 0) ptx::expect_bytes(barrier, cta.received_bytes());
    combine_fragments<kNearBatch, 1>(cta, ranks_source(cta, buffer), cta.rank * per_rank, per_rank, own, buffer, rows,
                                     slot);
  }
#endif
}

/// Runs the items of a list. State: GroupState or LatentState.
template <class Config, class State>
__device__ __forceinline__ void run_group_list(const Cta<Config>& cta, int index, std::uint32_t ring,
                                               bool& wait_after_fill, State& state) {
#if __CUDA_ARCH__ >= 900
  const DecodeParams& params = cta.params;
  const auto range_of = [&](const DeviceItem& item) {
    return chunk_range<Config>(item, cta.shift(), cta.rank, member(cta), cta.row_block);
  };
  DeviceItem item = params.uniform.parts > 0 ? uniform_item<Config>(params, index) : load_item(params, index);
  if (!wait_after_fill) request_group_queries(cta, rows_of<Config>(params, item, cta.row_block));
  state.start(item, range_of(item));
  if (wait_after_fill) {
    ptx::wait_for_previous_kernel();
    request_group_queries(cta, rows_of<Config>(params, item, cta.row_block));
    wait_after_fill = false;
  }
  GroupAccumulator<Config> acc;
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
    if (active) {
      ptx::wait_barrier(ptx::shared_address(&cta.control().queries), state.queries);
      state.queries ^= 1;
      if constexpr (Config::kLatent) {
        stream_latent_item(cta, item, range, rows, ring, state, acc);
      } else {
        stream_group_item(cta, item, range, rows, ring, state, acc);
      }
    }
    if (!more && (params.dependent_launch & kTriggerLate) != 0) ptx::let_next_kernel_start();
    const DeviceItem following = more ? load_item(params, item.next) : item;
    const auto go_on = [&] {
      state.end_item(range);
      if (more) request_group_queries(cta, rows_of<Config>(params, following, cta.row_block));
    };
    if (active) {
      const int slot = item.parts > 1 ? item.slot_begin + item.part : -1;
      finish_group_item(cta, rows, slot, state.item_count++, acc, go_on);
      if constexpr (kRecords) end_item(cta);
    } else {
      go_on();
    }
    merge_items(cta, item, active, pending);
    if (!more) return;
    index = item.next;
    item = following;
  }
#endif
}

/// The loaders' part of the kernel.
template <class Config>
__device__ __forceinline__ void load_lists(const Cta<Config>& cta, std::uint32_t ring) {
  if constexpr (Config::kWorkRegisters > 0) ptx::keep_registers<Config::kLoaderRegisters>();
  const int warp = cta.warp - Config::kWarps;
  Loader<Config, Part::keys> loader(cta.params, ring + warp * Config::kTokens * 128, 0, warp, cta.row_block, cta.lane);
  loader.rewind();
  LatentStage<Config> next;
  for_each_list(cta, [&](int list) { load_list(cta, list, loader, next); });
}

template <class Config>
__global__ void __launch_bounds__(Config::kAllThreads, Config::kResident)
    group_kernel(const __grid_constant__ DecodeParams params) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) unsigned char shared[];
  const Cta<Config> cta = place<Config>(params, shared);
  if constexpr (kRecords) begin_recording(cta);
  if ((params.dependent_launch & kTriggerFirst) != 0) ptx::let_next_kernel_start();
  if ((params.dependent_launch & kWaitFirst) != 0) ptx::wait_for_previous_kernel();
  open_receivers(cta);
  if (threadIdx.x == 0) {
    ptx::init_barrier(ptx::shared_address(&cta.control().queries), Config::kThreads);
    if constexpr (Config::kLatent) open_stages(cta);
  }
  __syncthreads();
  if (params.test_hooks != 0) pause(params.injection.delay_seed);

  bool wait_after_fill = (params.dependent_launch & kWaitAfterFill) != 0;
  const std::uint32_t ring = ptx::shared_address(shared);
  if constexpr (Config::kLatent) {
    if (cta.warp >= Config::kWarps) {
      load_lists(cta, ring);
      return;
    }
    if constexpr (Config::kWorkRegisters > 0) ptx::take_registers<Config::kWorkRegisters>();
  }
  std::conditional_t<Config::kLatent, LatentState<Config>, GroupState<Config>> state(cta, ring);
  for_each_list(cta, [&](int list) { run_group_list(cta, list, ring, wait_after_fill, state); });
  if constexpr (kRecords) end_recording(cta);
#endif
}

}  // namespace splitwave::gpu
