// SPDX-License-Identifier: Apache-2.0
// A latent cache through a group kernel: a warpgroup of its own asks for keys, stage after stage over the ends of
// items, and the others work on a stage as soon as it is there. Each waits for the other at the stages' barriers alone.
#pragma once

#include "gpu/kernels/group_stream.cuh"

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
#if __CUDA_ARCH__ >= 900
  static_assert(Config::kStages == 2);
  constexpr int kParts = Config::kSeesaw ? 4 : 2;
  for (int i = 0; i < kParts; ++i) {
    ptx::init_barrier(ptx::shared_address(&cta.control().filled[i]), Config::kLoaderThreads);
    ptx::init_barrier(ptx::shared_address(&cta.control().freed[i]), Config::kSeesaw ? 4 : Config::kWarps);
  }
  if constexpr (Config::kSeesaw) {
    for (int i = 0; i < 2; ++i) ptx::init_barrier(ptx::shared_address(&cta.control().weighed[i]), 4);
  }
#endif
}

/// What goes on from item to item in the threads that work on them.
template <class Config>
struct LatentState : LatentStage<Config> {
  int item_count = 0;
  std::uint32_t queries = 0;

  __device__ __forceinline__ LatentState(const Cta<Config>&, std::uint32_t) {}
  __device__ __forceinline__ void start(const DeviceItem&, const ChunkRange&) {}
  __device__ __forceinline__ void end_item(const ChunkRange&) {}
};

/// Asks for the keys of a list's items. The loaders' threads, each warp for its 16 tokens of a stage.
template <class Config>
__device__ __forceinline__ void load_list(const Cta<Config>& cta, int list, Loader<Config, Part::keys>& loader,
                                          LatentStage<Config>& next) {
#if __CUDA_ARCH__ >= 900
  const DecodeParams& params = cta.params;
  const DeviceItem item = params.uniform.parts > 0 ? uniform_item<Config>(params, list) : load_item(params, list);
  loader.start(item, chunk_range<Config>(item, 0, 0, cta.warp - Config::kWarps, cta.row_block));
  const std::uint32_t filled = ptx::shared_address(cta.control().filled);
  const std::uint32_t freed = ptx::shared_address(cta.control().freed);
#pragma unroll 1
  while (loader.has_more()) {
    // For the first time in each stage this is the phase before the first one, which counts as ended.
    if constexpr (Config::kSeesaw) {
      ptx::wait_barrier(freed + next.stage * 16, next.round ^ 1);
      loader.template fill_half<false>();
      ptx::arrive_after_copies(filled + next.stage * 16);
      ptx::wait_barrier(freed + next.stage * 16 + 8, next.round ^ 1);
      loader.template fill_half<true>();
      ptx::arrive_after_copies(filled + next.stage * 16 + 8);
    } else {
      ptx::wait_barrier(freed + next.stage * 8, next.round ^ 1);
      loader.fill_next();
      ptx::arrive_after_copies(filled + next.stage * 8);
    }
    next.next();
  }
#endif
}

/// Adds what the item's tokens give.
template <class Config>
__device__ __forceinline__ void stream_latent_item(const Cta<Config>& cta, const DeviceItem& item,
                                                   const ChunkRange& range, const Rows& rows, std::uint32_t ring,
                                                   LatentState<Config>& state, GroupAccumulator<Config>& acc) {
#if __CUDA_ARCH__ >= 900
  const RowMask mask = row_mask(cta.params, item, rows);
  const std::uint32_t queries =
      ptx::shared_address(cta.shared) + Config::kQueryOffset + warpgroup(cta) * (Config::kScoreTiles * 8 * 128);
  const std::uint32_t weights = ptx::shared_address(cta.shared) + Config::kWeightOffset;
  const std::uint32_t values = ring + warpgroup(cta) * (Config::kDimBlocks * Config::kBlockBytes);
  const int end = item.kv_begin + range.end * Config::kTokens;
#pragma unroll 1
  for (int position = first_token(cta, item, range); position < end; position += Config::kGroupTokens) {
    unsigned char* const stage = cta.shared + state.stage * Config::kStageBytes;
    ptx::wait_barrier(ptx::shared_address(&cta.control().filled[state.stage]), state.round);
    wgmma::publish();
    GroupScores<Config> s;
    wgmma::fence();
    start_keys<Config>(ring + state.stage * Config::kStageBytes, queries, s);
    wait_products<Config>(&s, acc);
    const bool by_hand = weigh_scores(cta, item, mask, position, state.stage, s, acc, [] {});
    wgmma::publish();
    cta.sync();
    if (Config::kMasked && by_hand) {
      multiply_seen_values(cta, stage, mask, position, acc);
      clear_values(cta, stage);
    }
    wgmma::fence();
    start_values<Config>(values + state.stage * Config::kStageBytes, weights, acc);
    wait_products<Config>(nullptr, acc);
    if (cta.lane == 0) ptx::arrive(ptx::shared_address(&cta.control().freed[state.stage]));
    state.next();
  }
  cta.sync();  // the sums come where the weights are
#endif
}

}  // namespace splitwave::gpu
