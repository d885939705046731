// SPDX-License-Identifier: Apache-2.0
// A latent cache through a group kernel: warps of their own ask for keys, stage after stage over the ends of items, and
// the others work on a stage as soon as it is there. Each waits for the other at the stages' barriers alone.
#pragma once

#include "gpu/kernels/group_stream.cuh"
#include "gpu/kernels/portable_tile.cuh"

namespace splitwave::gpu {

/// Which stage comes next, and the parity of its barriers.
template <class Config>
struct LatentStage {
  int stage = 0;
  std::uint32_t round = 0;

  __device__ __forceinline__ void next() {
    if (++stage == Config::kStages) {
      stage = 0;
      round ^= 1;
    }
  }
};

template <class Config>
__device__ __forceinline__ void open_stages(const Cta<Config>& cta) {
  static_assert(Config::kStages == 2);
  ptx::init_barrier(ptx::shared_address(&cta.control().queries), Config::kThreads);
  constexpr int kParts = Config::kSeesaw ? 4 : 2;
  for (int i = 0; i < kParts; ++i) {
    ptx::init_barrier(ptx::shared_address(&cta.control().filled[i]), Config::kBoxes ? 1 : Config::kLoaderThreads);
    ptx::init_barrier(ptx::shared_address(&cta.control().freed[i]), Config::kSeesaw ? 4 : Config::kWarps);
  }
  if constexpr (Config::kSeesaw) {
    for (int i = 0; i < 2; ++i) ptx::init_barrier(ptx::shared_address(&cta.control().weighed[i]), 4);
  }
  if constexpr (Config::kBoxes) wgmma::publish();  // copies report to them
}

/// Asks for the item's query rows, a warp for one after the other. Rows that do not exist are zeros: what they give is
/// not written (items.cuh, request_queries()).
template <class Config>
__device__ __forceinline__ void request_latent_queries(const Cta<Config>& cta, const Rows& rows) {
  constexpr int kColumns = Config::kHeadDim / 8;  // of 16 bytes
  const HeadDivisor heads(rows.head_count);
  const char* const q = static_cast<const char*>(cta.params.q) + cta.lane * 16;
  const std::uint32_t block = ptx::shared_address(cta.shared) + Config::kQueryOffset +
                              (cta.lane >> 3) * static_cast<std::uint32_t>(Config::kQueryBlockBytes);
#pragma unroll 1
  for (int row = cta.warp; row < Config::kRows; row += Config::kWarps) {
    const char* const from = q + row_index(rows, heads, min(row, rows.count - 1)) * (Config::kHeadDim * 2);
    const std::uint32_t to = block + row * 128 + (((cta.lane & 7) ^ (row & 7)) << 4);
#pragma unroll
    for (int column = 0; column < kColumns; column += 32) {
      if (column + cta.lane < kColumns) {
        ptx::copy_16(to + column / 8 * Config::kQueryBlockBytes, from + column * 16, row < rows.count, kEvictNormal);
      }
    }
  }
}

/// What goes on from item to item in the threads that work on them. Queries, and with them the table's entry of the
/// item after theirs, come through a barrier of their own: what a thread loads at an item's end comes behind all keys
/// that are asked for where the memory is full.
template <class Config>
struct LatentItems {
  int item_count = 0;
  std::uint32_t queries = 0;  ///< parity of the barrier of the queries that come next
  bool knows_next = false;    ///< the entry after the item's came with its queries

  /// beside_keys: the keys of the list's first tiles are asked for at the same time. By copies of as many threads they
  /// come later for it, and 64 heads took 0.5 to 0.7 us longer: queries are asked for one by one then.
  __device__ __forceinline__ void request_queries(const Cta<Config>& cta, const DeviceItem& item, bool beside_keys) {
    const Rows rows = rows_of<Config>(cta.params, item, cta.row_block);
    if (rows.count <= 0) return;
    if (beside_keys && Config::kSeesaw && !Config::kBoxes) {
      request_group_queries(cta, rows, Config::kQueryOffset);
    } else {
      request_latent_queries(cta, rows);
    }
    if (item.next >= 0 && threadIdx.x < sizeof(DeviceItem) / 16) {
      const auto* from = reinterpret_cast<const char*>(cta.params.items + item.next) + threadIdx.x * 16;
      ptx::copy_16(ptx::shared_address(&place(cta, queries)) + threadIdx.x * 16, from, true, kEvictNormal);
    }
    ptx::arrive_after_copies(ptx::shared_address(&cta.control().queries));
  }

  __device__ __forceinline__ void start(const Cta<Config>& cta, const DeviceItem& item, const ChunkRange&,
                                        bool wait_after_fill) {
    if (wait_after_fill) ptx::wait_for_previous_kernel();
    request_queries(cta, item, true);
  }

  __device__ __forceinline__ void take_queries(const Cta<Config>& cta, bool active) {
    knows_next = active;
    if (!active) return;
    ptx::wait_own_barrier(ptx::shared_address(&cta.control().queries), queries);
    queries ^= 1;
  }

  /// No thread needs the item's queries any more.
  __device__ __forceinline__ void end_item(const Cta<Config>& cta, const DeviceItem& item, const ChunkRange& range) {
    if (item.next >= 0) request_queries(cta, following(cta, item, range), false);
  }

  /// The item after `item`.
  __device__ __forceinline__ DeviceItem following(const Cta<Config>& cta, const DeviceItem& item,
                                                  const ChunkRange&) const {
    return knows_next ? place(cta, queries ^ 1) : load_item(cta.params, item.next);
  }

 private:
  /// Of the entry that comes with the queries of this parity.
  __device__ __forceinline__ static DeviceItem& place(const Cta<Config>& cta, std::uint32_t parity) {
    return reinterpret_cast<DeviceItem*>(cta.shared + Config::kItemsOffset)[parity];
  }
};

template <class Config>
struct LatentState : LatentStage<Config>, LatentItems<Config> {
  __device__ __forceinline__ LatentState(const Cta<Config>&, std::uint32_t) {}
};

/// Asks for the keys of a list's items. The loaders' threads, each warp for its 16 tokens of a stage.
template <class Config>
__device__ __forceinline__ void load_list(const Cta<Config>& cta, int list, Loader<Config>& loader,
                                          LatentStage<Config>& next) {
  const DecodeParams& params = cta.params;
  const DeviceItem item = params.uniform.parts > 0 ? uniform_item<Config>(params, list) : load_item(params, list);
  const int shift = Config::kClusters ? cta.shift() : 0;
  loader.start(item, chunk_range<Config>(item, shift, Config::kClusters ? cta.rank : 0, cta.warp - Config::kWarps,
                                         cta.row_block));
  const std::uint32_t filled = ptx::shared_address(cta.control().filled);
  const std::uint32_t freed = ptx::shared_address(cta.control().freed);
#pragma unroll 1
  while (loader.has_more()) {
    // For the first time in each stage this is the phase before the first one, which counts as ended.
    if constexpr (Config::kSeesaw) {
      ptx::wait_own_barrier(freed + next.stage * 16, next.round ^ 1);
      loader.template fill_half<false>();
      ptx::arrive_after_copies(filled + next.stage * 16);
      ptx::wait_own_barrier(freed + next.stage * 16 + 8, next.round ^ 1);
      loader.template fill_half<true>();
      ptx::arrive_after_copies(filled + next.stage * 16 + 8);
    } else {
      ptx::wait_own_barrier(freed + next.stage * 8, next.round ^ 1);
      loader.fill_next();
      ptx::arrive_after_copies(filled + next.stage * 8);
    }
    next.next();
  }
}

/// What this thread wrote to shared memory, and its copies, become visible to the products after the next barrier.
template <class Config>
__device__ __forceinline__ void publish_to_products() {
  if constexpr (!Config::kPortable) wgmma::publish();
}

/// The scores of the stage's tokens.
template <class Config>
__device__ __forceinline__ void multiply_latent_keys(const Cta<Config>& cta, std::uint32_t stage,
                                                     GroupScores<Config>& s, GroupAccumulator<Config>& acc) {
  if constexpr (Config::kPortable) {
    multiply_group_keys(cta, stage, s);
  } else {
    const std::uint32_t rows = row_part(cta) * (Config::kScoreTiles * 8 * 128);
    wgmma::fence();
    start_keys<Config>(stage, ptx::shared_address(cta.shared) + Config::kQueryOffset + rows, s);
    wait_products<Config>(&s, acc);
  }
}

/// Adds the stage's values by their weights.
template <class Config>
__device__ __forceinline__ void multiply_latent_values(const Cta<Config>& cta, std::uint32_t stage,
                                                       GroupAccumulator<Config>& acc) {
  if constexpr (Config::kPortable) {
    multiply_group_values(cta, stage, acc);
  } else {
    const std::uint32_t elements = row_part(cta) * (Config::kWarpDims * Config::kBlockBytes);
    wgmma::fence();
    start_values<Config>(stage + elements, ptx::shared_address(cta.shared) + Config::kWeightOffset, acc);
    wait_products<Config>(nullptr, acc);
  }
}

/// Adds what the item's tokens give.
template <class Config>
__device__ __forceinline__ void stream_latent_item(const Cta<Config>& cta, const DeviceItem& item,
                                                   const ChunkRange& range, const Rows& rows, std::uint32_t ring,
                                                   LatentState<Config>& state, GroupAccumulator<Config>& acc) {
  const RowMask mask = row_mask(cta.params, item, rows);
  const int end = item.kv_begin + range.end * Config::kTokens;
  if constexpr (Config::kMasked) {
    cta.sync();
    find_row_bounds(cta, item, mask);
    cta.sync();
  }
#pragma unroll 1
  for (int position = first_token(cta, item, range); position < end; position += Config::kGroupTokens) {
    unsigned char* const stage = cta.shared + state.stage * Config::kStageBytes;
    ptx::wait_own_barrier(ptx::shared_address(&cta.control().filled[state.stage]), state.round);
    publish_to_products<Config>();
    GroupScores<Config> s;
    multiply_latent_keys(cta, ring + state.stage * Config::kStageBytes, s, acc);
    const bool edge = weigh_scores(cta, item, mask, position, s, acc, [] {});
    publish_to_products<Config>();
    cta.sync();
    if (Config::kMasked && edge) confine_values(cta, stage, position, acc);
    multiply_latent_values(cta, ring + state.stage * Config::kStageBytes, acc);
    if (cta.lane == 0) ptx::arrive(ptx::shared_address(&cta.control().freed[state.stage]));
    state.next();
  }
  cta.sync();  // the sums come where the weights are
}

}  // namespace splitwave::gpu
