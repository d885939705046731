// SPDX-License-Identifier: Apache-2.0
// The decode kernel: runs any plan. docs/kernels.md explains the design.
#pragma once

#include "gpu/kernels/combine.cuh"
#include "gpu/kernels/config.cuh"
#include "gpu/kernels/loader.cuh"
#include "gpu/kernels/params.h"
#include "gpu/kernels/ptx.cuh"
#include "gpu/kernels/tile.cuh"

namespace splitwave::gpu {

/// What a CTA keeps in shared memory beside its data.
struct Control {
  std::uint64_t barriers[2];        ///< of the receive buffers
  std::uint32_t next_list;          ///< of a queue
  std::uint32_t ours[kMaxPending];  ///< 1: this CTA merges pending[i]
  DeviceItem pending[kMaxPending];
};
static_assert(sizeof(Control) <= 1024);

/// Computes the item of a uniform plan from the CTA's place in the grid.
__device__ __forceinline__ DeviceItem uniform_item(const DecodeParams& params, int part) {
  const UniformPlan& plan = params.uniform;
  const int tile = plan.requests_fastest != 0 ? blockIdx.z : blockIdx.y;
  const int request = plan.requests_fastest != 0 ? blockIdx.y : blockIdx.z;
  const int begin_tile = part * plan.tiles_per_part + min(part, plan.longer_parts);
  const int end_tile = begin_tile + plan.tiles_per_part + (part < plan.longer_parts ? 1 : 0);
  const int kv_head = plan.tiles_per_kv_head == 1 ? tile : tile / plan.tiles_per_kv_head;
  DeviceItem item;
  item.kv_begin = part == 0 ? plan.kv_begin : min(plan.kv_end, (plan.first_tile + begin_tile) * plan.tile_kv);
  item.kv_end = part == plan.parts - 1 ? plan.kv_end : min(plan.kv_end, (plan.first_tile + end_tile) * plan.tile_kv);
  item.kv_base = request * plan.request_stride + kv_head * plan.head_stride;
  item.kv_head = static_cast<std::uint16_t>(kv_head);
  item.head_count = static_cast<std::uint16_t>(plan.head_count);
  item.query_row = request * params.query_heads + tile * static_cast<int>(plan.head_count);
  item.row_begin = 0;
  item.rows = static_cast<std::uint16_t>(plan.head_count);
  item.slot_begin = (request * plan.tiles_per_request + tile) * plan.parts;
  item.part = static_cast<std::uint16_t>(part);
  item.parts = static_cast<std::uint16_t>(plan.parts);
  item.next = -1;
  item.first_position = 0;
  item.masked = 0;
  item.unused = 0;
  return item;
}

__device__ __forceinline__ DeviceItem load_item(const DecodeParams& params, int index) {
  DeviceItem item;
  const auto* from = reinterpret_cast<const int4*>(params.items + index);
  auto* to = reinterpret_cast<int4*>(&item);
#pragma unroll
  for (int i = 0; i < 3; ++i) to[i] = __ldg(from + i);
  return item;
}

template <class Config>
__device__ __forceinline__ Rows rows_of(const DecodeParams& params, const DeviceItem& item, int row_block) {
  const int first = row_block * Config::kRows;
  return {item.query_row, item.row_begin + first, item.head_count, min(item.rows - first, Config::kRows),
          params.query_heads};
}

/// Rows that do not exist are zero.
template <class Config>
__device__ __forceinline__ void load_queries(const DecodeParams& params, const Rows& rows, int lane,
                                             QueryFragments<Config>& q) {
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    const int row = n * 8 + (lane >> 2);
    const bool there = row < rows.count;
    const auto* from = reinterpret_cast<const std::uint32_t*>(static_cast<const char*>(params.q) +
                                                              rows.index(there ? row : 0) * (Config::kHeadDim * 2)) +
                       (lane & 3);
#pragma unroll
    for (int i = 0; i < Config::kHeadDim / 8; ++i) q[n][i] = there ? __ldg(from + 4 * i) : 0;
  }
}

/// Counts an execution of the item, for tests. index: of the item in the table.
template <class Cta>
__device__ __forceinline__ void count_visit(const Cta& cta, const DeviceItem& item, int index) {
  if (cta.params.visits == nullptr || threadIdx.x != 0 || cta.rank != 0 || cta.row_block != 0 || item.rows == 0) return;
  const int parts = cta.params.uniform.parts;
  if (parts > 0) index = static_cast<int>(blockIdx.z * gridDim.y + blockIdx.y) * parts + index;
  atomicAdd(reinterpret_cast<unsigned long long*>(cta.params.visits) + index, 1ULL);
}

/// The fixed facts of a CTA.
template <class Config>
struct Cta {
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
  __device__ __forceinline__ int shift() const { return cluster_shift<Config>(params); }
  __device__ __forceinline__ int row_blocks() const {
    return Config::kSimple || params.uniform.parts > 0 ? 1 : gridDim.y;
  }
  /// Fragments that this CTA of the cluster finishes.
  __device__ __forceinline__ int fragments_per_rank() const { return Config::kFragments >> shift(); }
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
  return {shared + Config::kReduceOffset, Config::kFragmentBytes, shared + Config::kWarpSumOffset, Config::kSumBytes,
          Config::kWarps};
}

/// Those of the cluster's CTAs, for the fragments of this one: [rank][fragment of the rank].
template <class Config>
__device__ __forceinline__ Source ranks_source(const Cta<Config>& cta, int buffer) {
  const auto* receive =
      reinterpret_cast<const char*>(cta.shared) + Config::kReceiveOffset + buffer * Config::kReceiveBytes;
  // Fragments are counted over all ranks everywhere else: step back to where the first one would lie.
  return {receive - cta.rank * cta.fragments_per_rank() * 512, cta.fragments_per_rank() * 512,
          receive + Config::kFragmentBytes, Config::kSumBytes, 1 << cta.shift()};
}

/// Those of an output's items.
template <class Config>
__device__ __forceinline__ Source slots_source(const Cta<Config>& cta, const DeviceItem& item) {
  return {cta.partial(item.slot_begin), static_cast<std::int64_t>(cta.row_blocks()) * Config::kFragmentBytes,
          cta.partial_sum(item.slot_begin),
          static_cast<std::int64_t>(cta.row_blocks() * Config::kSumBytes) << cta.shift(), item.parts};
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
        Config::kFragmentBytes + cta.rank * Config::kSumBytes + (fragment / Config::kDimTiles * 4 + cta.lane) * 16;
    ptx::store_remote(ptx::remote_address(receive + at, to), sums, barrier);
  }
#endif
}

/// Hands a combined fragment to its sink.
template <class Config>
__device__ __forceinline__ void put_fragment(const Cta<Config>& cta, int fragment, const Running& run, Sink sink,
                                             int buffer, const Rows& rows, int slot) {
  if (sink == Sink::output) {
    write_output<Config>(cta.params.output, cta.params.lse, rows, fragment, cta.lane, run);
    return;
  }
  const float4 value = make_float4(run.o[0], run.o[1], run.o[2], run.o[3]);
  const float4 sums = make_float4(run.maximum[0], run.sum[0], run.maximum[1], run.sum[1]);
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

/// Combines `source` for fragments [first, first + count) and hands them to the sink.
template <class Config>
__device__ __forceinline__ void combine_fragments(const Cta<Config>& cta, const Source& source, int first, int count,
                                                  Sink sink, int buffer, const Rows& rows, int slot) {
#pragma unroll 1
  for (int fragment = first + cta.warp; fragment < first + count; fragment += Config::kWarps) {
    const int pair = (fragment / Config::kDimTiles * 4 + (cta.lane & 3)) * 16;
    Running run;
    combine(source, fragment * 512 + cta.lane * 16, pair, run);
    put_fragment(cta, fragment, run, sink, buffer, rows, slot);
  }
}

/// Waits, not for ever, until the other items of the output have arrived. Thread 0 only.
template <class Config>
__device__ __forceinline__ bool wait_for_arrivals(const Cta<Config>& cta, const DeviceItem& item) {
  std::uint32_t* arrivals = cta.arrivals(item.slot_begin);
  const std::uint32_t all = item.parts - 1;
  const std::uint64_t start = ptx::nanoseconds();
  while (ptx::load_acquire(arrivals) != all) {
    if (ptx::nanoseconds() - start > cta.params.wait_nanoseconds) {
      atomicCAS(cta.params.error, 0U, 1U + item.slot_begin);
      return false;
    }
  }
  *arrivals = 0;
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
    const bool may_merge = !host || item.part == 0;
    __syncthreads();
    if (threadIdx.x == 0) {
      if (may_merge) {
        settle(cta.control());
        cta.control().pending[count] = item;
        ours = 0;
      }
      const bool dropped = cta.params.injection.drop_slot == 1U + item.slot_begin + item.part;
      if (!dropped && !(host && item.part == 0)) {
        const std::uint32_t last = host ? 0xffffffffU : item.parts - 1U;
        const std::uint32_t old = ptx::increment_release(cta.arrivals(item.slot_begin), last);
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
    if (threadIdx.x == 0) {
      if (cta.params.merge == InKernelMerge::host_cta) {
        for (int i = 0; i < count; ++i) control.ours[i] = wait_for_arrivals(cta, control.pending[i]) ? 1 : 0;
      }
      ptx::fence_acquire_release();
    }
    __syncthreads();
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
  const int per_rank = cta.fragments_per_rank();
#pragma unroll 1
  for (int i = 0; i < pending.count; ++i) {
    if (cta.control().ours[i] == 0) continue;
    const DeviceItem merged = cta.control().pending[i];
    combine_fragments(cta, slots_source(cta, merged), cta.rank * per_rank, per_rank, Sink::output, 0,
                      rows_of<Config>(cta.params, merged, cta.row_block), -1);
  }
  pending.count = 0;
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
    combine_fragments(cta, warps_source(cta), 0, Config::kFragments, sink, 0, rows, slot);
    return;
  }
#if __CUDA_ARCH__ >= 900
  const int per_rank = cta.fragments_per_rank();
  const int buffer = item_count & 1;
  const std::uint32_t barrier = ptx::shared_address(&cta.control().barriers[buffer]);
  if (item_count == 0) ptx::cluster_wait();
  combine_fragments(cta, warps_source(cta), 0, Config::kFragments, Sink::ranks, buffer, rows, slot);
  __syncwarp();
  ptx::wait_barrier(barrier, (item_count >> 1) & 1);
  if (threadIdx.x == 0) ptx::expect_bytes(barrier, cta.received_bytes());
  combine_fragments(cta, ranks_source(cta, buffer), cta.rank * per_rank, per_rank, sink, buffer, rows, slot);
#endif
}

/// The same for the one item of a simple kernel: all loops unrolled, each weight computed once.
template <class Config>
__device__ __forceinline__ void combine_simple(const Cta<Config>& cta, const Rows& rows, int slot,
                                               const Accumulator<Config>& acc) {
  constexpr int kCluster = Config::kSimpleCluster;
  const Sink sink = slot < 0 ? Sink::output : Sink::partial;
  store_warp(cta, acc);
  __syncthreads();
#if __CUDA_ARCH__ >= 900
  if (kCluster > 1) ptx::cluster_wait();
#endif
  const auto* fragments = reinterpret_cast<const float4*>(cta.shared + Config::kReduceOffset) + cta.lane;
  const auto* sums = reinterpret_cast<const float4*>(cta.shared + Config::kWarpSumOffset) + (cta.lane & 3);
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    const auto weights = weigh<Config::kWarps>(sums + n * 4, Config::kSumBytes / 16);
#pragma unroll
    for (int first = 0; first < Config::kDimTiles; first += Config::kWarps) {
      const int fragment = n * Config::kDimTiles + first + cta.warp;
      if (first + cta.warp >= Config::kDimTiles) continue;
      put_fragment(cta, fragment, gather(fragments + fragment * 32, Config::kFragmentBytes / 16, weights),
                   kCluster > 1 ? Sink::ranks : sink, 0, rows, slot);
    }
  }
#if __CUDA_ARCH__ >= 900
  if constexpr (kCluster > 1) {
    constexpr int kPerRank = Config::kFragments / kCluster;
    __syncwarp();
    ptx::wait_barrier(ptx::shared_address(cta.control().barriers), 0);
    const auto* received = reinterpret_cast<const float4*>(cta.shared + Config::kReceiveOffset) + cta.lane;
    const auto* received_sums =
        reinterpret_cast<const float4*>(cta.shared + Config::kReceiveOffset + Config::kFragmentBytes) + (cta.lane & 3);
#pragma unroll
    for (int first = 0; first < kPerRank; first += Config::kWarps) {
      const int local = first + cta.warp;
      if (local >= kPerRank) continue;
      const int fragment = cta.rank * kPerRank + local;
      const auto weights = weigh<kCluster>(received_sums + fragment / Config::kDimTiles * 4, Config::kSumBytes / 16);
      put_fragment(cta, fragment, gather(received + local * 32, kPerRank * 32, weights), sink, 0, rows, slot);
    }
  }
#endif
}

/// The loop over this warp's chunks of the item: wait for a stage, use it, request the next chunk into it. `priming`
/// counts down the stages that are filled before the first use.
template <class Config>
__device__ __forceinline__ void stream_item(const Cta<Config>& cta, const DeviceItem& item, const Rows& rows,
                                            QueryFragments<Config>& q, std::uint32_t ring, Loader<Config>& loader,
                                            int& priming, bool& wait_after_fill, int& stage, Accumulator<Config>& acc) {
  const RowMask mask{rows.row_begin, rows.head_count, item.first_position, cta.params.causal, cta.params.window};
  const ChunkRange range = chunk_range<Config>(item, cta.shift(), cta.rank, cta.warp, cta.row_block);
  int position = item.kv_begin + range.first * Config::kTokens;
  const int end = range.end > range.first ? item.kv_begin + range.end * Config::kTokens : position;
#pragma unroll 1
  while (true) {
    if (priming == 0) {
      if (position >= end) break;
      ptx::wait_copies<Config::kStages - 1>();
      __syncwarp();
      add_chunk<Config>(ring + stage * Config::kStageBytes, q, cta.params.scale_log2, position, item.kv_end - position,
                        item.masked != 0, mask, cta.lane, acc);
      __syncwarp();
      position += Config::kWarps * Config::kTokens;
    }
    loader.fill(stage * Config::kStageBytes);
    if (++stage == Config::kStages) stage = 0;
    if (priming > 0 && --priming == 0 && wait_after_fill) {
      ptx::wait_for_previous_kernel();
      wait_after_fill = false;
      load_queries<Config>(cta.params, rows, cta.lane, q);
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

template <class Config>
__device__ __forceinline__ Cta<Config> place(const DecodeParams& params, unsigned char* shared) {
  const int row_block = Config::kSimple || params.uniform.parts > 0 ? 0 : blockIdx.y;
  Cta<Config> cta{params,
                  shared,
                  static_cast<int>(threadIdx.x & 31),
                  static_cast<int>(threadIdx.x >> 5),
                  0,
                  static_cast<int>(blockIdx.x),
                  row_block};
  cta.rank = static_cast<int>(blockIdx.x) & ((1 << cta.shift()) - 1);
  cta.worker = static_cast<int>(blockIdx.x) >> cta.shift();
#if __CUDA_ARCH__ >= 900
  if (cta.shift() > 0) {
    if (threadIdx.x == 0) {
      const std::uint32_t barriers = ptx::shared_address(cta.control().barriers);
      ptx::init_barrier(barriers, 1);
      ptx::init_barrier(barriers + 8, 1);
      ptx::publish_barriers();
      ptx::expect_bytes(barriers, cta.received_bytes());
      ptx::expect_bytes(barriers + 8, cta.received_bytes());
    }
    __syncwarp();
    ptx::cluster_arrive_relaxed();
  }
#endif
  return cta;
}

/// Runs the items of a list. The queries of the next item are requested before the last one is finished.
template <class Config>
__device__ __forceinline__ void run_list(const Cta<Config>& cta, int index, std::uint32_t ring, Loader<Config>& loader,
                                         bool& wait_after_fill, int& stage, int& item_count) {
  const DecodeParams& params = cta.params;
  DeviceItem item = params.uniform.parts > 0 ? uniform_item(params, index) : load_item(params, index);
  DeviceItem done = item;
  QueryFragments<Config> q;
  Accumulator<Config> acc;
  Pending pending;
  int priming = Config::kStages;
  bool more = true;
  bool begun = false;
#pragma unroll 1
  while (true) {
    const Rows rows = rows_of<Config>(params, item, cta.row_block);
    if (more && !wait_after_fill) load_queries<Config>(params, rows, cta.lane, q);
    if (begun) {
      const bool active = done.rows > cta.row_block * Config::kRows;
      const int slot = done.parts > 1 ? done.slot_begin + done.part : -1;
      if (!more && (params.dependent_launch & kTriggerLate) != 0) ptx::let_next_kernel_start();
      if (active) combine_item(cta, rows_of<Config>(params, done, cta.row_block), slot, item_count++, acc);
      merge_items(cta, done, active, pending);
      if (!more) return;
    } else {
      loader.start(item);
      begun = true;
    }
    count_visit(cta, item, index);
    acc.clear();
    stream_item<Config>(cta, item, rows, q, ring, loader, priming, wait_after_fill, stage, acc);
    done = item;
    more = item.next >= 0;
    if (more) {
      index = item.next;
      item = load_item(params, index);
    }
  }
}

/// The one item of a CTA of a uniform plan.
template <class Config>
__device__ __forceinline__ void run_simple(const Cta<Config>& cta, std::uint32_t ring, Loader<Config>& loader,
                                           bool wait_after_fill) {
  const DecodeParams& params = cta.params;
  const DeviceItem item = uniform_item(params, cta.worker);
  const Rows rows = rows_of<Config>(params, item, 0);
  QueryFragments<Config> q = {};
  Accumulator<Config> acc;
  Pending pending;
  int priming = Config::kStages;
  int stage = 0;
  if (!wait_after_fill) load_queries<Config>(params, rows, cta.lane, q);
  loader.start(item);
  acc.clear();
  stream_item<Config>(cta, item, rows, q, ring, loader, priming, wait_after_fill, stage, acc);
  if ((params.dependent_launch & kTriggerLate) != 0) ptx::let_next_kernel_start();
  combine_simple(cta, rows, item.parts > 1 ? item.slot_begin + item.part : -1, acc);
  merge_items(cta, item, true, pending);
}

template <class Config>
__global__ void __launch_bounds__(Config::kThreads) decode_kernel(const __grid_constant__ DecodeParams params) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const Cta<Config> cta = place<Config>(params, shared);
  if ((params.dependent_launch & kTriggerFirst) != 0) ptx::let_next_kernel_start();
  if ((params.dependent_launch & kWaitFirst) != 0) ptx::wait_for_previous_kernel();
  if (!Config::kSimple && params.injection.delay_seed != 0) pause(params.injection.delay_seed);

  const std::uint32_t ring = ptx::shared_address(shared) + cta.warp * (Config::kStages * Config::kStageBytes);
  Loader<Config> loader(params, ring, cta.rank, cta.warp, cta.row_block, cta.lane);
  bool wait_after_fill = (params.dependent_launch & kWaitAfterFill) != 0;
  if constexpr (Config::kSimple) {
    run_simple(cta, ring, loader, wait_after_fill);
    return;
  }
  int stage = 0;
  int item_count = 0;
  int list = cta.worker;
#pragma unroll 1
  while (params.workers == 0 || list < params.lists) {
    run_list(cta, list, ring, loader, wait_after_fill, stage, item_count);
    if (params.workers == 0) break;
    __syncthreads();
    if (threadIdx.x == 0) {
      cta.control().next_list = params.workers + ptx::increment_release(params.queue, params.lists - 1);
    }
    __syncthreads();
    list = static_cast<int>(cta.control().next_list);
  }
}

}  // namespace splitwave::gpu
