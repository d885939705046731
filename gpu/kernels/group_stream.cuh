// SPDX-License-Identifier: Apache-2.0
// An item's tokens through a group kernel: stage after stage of keys and values becomes scores, weights and O.
#pragma once

#include "gpu/kernels/group_tile.cuh"
#include "gpu/kernels/loader.cuh"

namespace splitwave::gpu {

/// What goes on from item to item. Keys and values have loaders of their own: the place of a stage's keys is free, and
/// asked for anew, before that of its values.
template <class Config>
struct GroupState {
  Loader<Config, Part::keys> keys;
  Loader<Config, Part::values> values;  ///< not used where values lie in keys
  int stage = 0;              ///< that the next tokens are in
  int item_count = 0;         ///< finished
  std::uint32_t queries = 0;  ///< parity of the barrier of the queries that come next

  /// Fills the ring from its first stage on, with `range` of the item and what follows.
  __device__ __forceinline__ void start(const DeviceItem& item, const ChunkRange& range) {
    stage = 0;
    keys.start(item, range);
    keys.rewind();
    if constexpr (!Config::kLatent) {
      values.start(item, range);
      values.rewind();
    }
#pragma unroll 1
    for (int i = 0; i < Config::kStages; ++i) {
      keys.fill_next();
      if constexpr (!Config::kLatent) values.fill_next();
    }
  }

  __device__ __forceinline__ void next_stage() {
    if (++stage == Config::kStages) stage = 0;
  }
};

/// Masks the scores of the stage and leaves P in shared memory. Returns whether the stage's values have to be
/// multiplied by hand: some row must not touch one of them. meanwhile: called when the stage before is not needed any
/// more.
template <class Config, class Meanwhile>
__device__ __forceinline__ bool weigh_scores(const Cta<Config>& cta, const DeviceItem& item, const RowMask& mask,
                                             int position, int stage, GroupScores<Config>& s,
                                             GroupAccumulator<Config>& acc, const Meanwhile& meanwhile) {
  const bool edge = Config::kMasked && mask.at_edge(position, Config::kGroupTokens);
  float scale = cta.params.scale_log2;
  if (edge || item.kv_end - position < Config::kGroupTokens) {
    // What is masked must be -inf after it is scaled, by whatever number.
#pragma unroll
    for (int n = 0; n < Config::kScoreTiles; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) s[n][j] *= scale;
    }
    scale = 1;
    mask_group(cta, item.kv_end - position, edge, mask, position, s);
  }
  LaneMaxima<Config> x;
  lane_maxima<Config>(s, scale, x);
  bool outgrown = false;
#pragma unroll
  for (int n = 0; n < Config::kScoreTiles; ++n) {
#pragma unroll
    for (int j = 0; j < 2; ++j) outgrown |= x[n][j] > acc.own_maximum(warpgroup(cta), n, j) + kSlack;
  }
  outgrown = __syncthreads_or(outgrown ? 1 : 0) != 0;
  meanwhile();
  if (outgrown) raise_group_maxima<Config>(cta, x, acc);
  store_weights(cta, s, scale, acc);
  if constexpr (!Config::kMasked) return false;
  return edge && __syncthreads_or(has_no_number(cta, cta.shared + stage * Config::kStageBytes) ? 1 : 0) != 0;
}

/// Position of the first token of the CTA's part of the item: the same for all warps.
template <class Config>
__device__ __forceinline__ int first_token(const Cta<Config>& cta, const DeviceItem& item, const ChunkRange& range) {
  return item.kv_begin + (range.first - member(cta)) * Config::kTokens;
}

/// Adds what the item's tokens give. The values of a stage are multiplied together with the keys of the next. The last
/// stage's values are left in the ring: the caller fills their place anew.
template <class Config>
__device__ __forceinline__ void stream_group_item(const Cta<Config>& cta, const DeviceItem& item,
                                                  const ChunkRange& range, const Rows& rows, std::uint32_t ring,
                                                  GroupState<Config>& state, GroupAccumulator<Config>& acc) {
  const RowMask mask = row_mask(cta.params, item, rows);
  const std::uint32_t queries = ptx::shared_address(cta.shared) + Config::kQueryOffset;
  const std::uint32_t weights = ptx::shared_address(cta.shared) + Config::kWeightOffset;
  const int first = first_token(cta, item, range);
  const int end = item.kv_begin + range.end * Config::kTokens;
  if (first >= end) return;
  ptx::wait_copies<2 * Config::kStages - 1>();
  wgmma::publish();
  __syncthreads();
  GroupScores<Config> s;
  wgmma::fence();
  start_keys<Config>(ring + state.stage * Config::kStageBytes, queries, s);
  wait_products<Config>(&s, acc);
  int before = 0;  // the stage whose values come next
#pragma unroll 1
  for (int position = first; true; position += Config::kGroupTokens) {
    const bool by_hand = weigh_scores(cta, item, mask, position, state.stage, s, acc, [&] {
      if (position > first) state.values.fill_next();
      state.keys.fill_next();
    });
    before = state.stage;
    state.next_stage();
    const bool last = position + Config::kGroupTokens >= end;
    if (last) {
      ptx::wait_copies<2 * Config::kStages - 1>();
    } else {
      ptx::wait_copies<2 * Config::kStages - 2>();
    }
    wgmma::publish();
    __syncthreads();
    if (Config::kMasked && by_hand) {
      multiply_seen_values(cta, cta.shared + before * Config::kStageBytes, mask, position, acc);
      clear_values(cta, cta.shared + before * Config::kStageBytes);
    }
    if (last) break;
    wgmma::fence();
    start_values<Config>(ring + before * Config::kStageBytes + Config::kValueOffset, weights, acc);
    start_keys<Config>(ring + state.stage * Config::kStageBytes, queries, s);
    wait_products<Config>(&s, acc);
  }
  wgmma::fence();
  start_values<Config>(ring + before * Config::kStageBytes + Config::kValueOffset, weights, acc);
  wait_products<Config>(nullptr, acc);
}

/// The same where values lie in keys: a stage is free when both its products are done, so that the next one's come
/// while this one is worked on.
template <class Config>
__device__ __forceinline__ void stream_latent_item(const Cta<Config>& cta, const DeviceItem& item,
                                                   const ChunkRange& range, const Rows& rows, std::uint32_t ring,
                                                   GroupState<Config>& state, GroupAccumulator<Config>& acc) {
  const RowMask mask = row_mask(cta.params, item, rows);
  const std::uint32_t queries = ptx::shared_address(cta.shared) + Config::kQueryOffset +
                                warpgroup(cta) * (Config::kScoreTiles * 8 * 128);
  const std::uint32_t weights = ptx::shared_address(cta.shared) + Config::kWeightOffset;
  const std::uint32_t values = ring + warpgroup(cta) * (Config::kDimBlocks * Config::kBlockBytes);
  const int end = item.kv_begin + range.end * Config::kTokens;
#pragma unroll 1
  for (int position = first_token(cta, item, range); position < end; position += Config::kGroupTokens) {
    unsigned char* const stage = cta.shared + state.stage * Config::kStageBytes;
    ptx::wait_copies<Config::kStages - 1>();
    wgmma::publish();
    __syncthreads();
    GroupScores<Config> s;
    wgmma::fence();
    start_keys<Config>(ring + state.stage * Config::kStageBytes, queries, s);
    wait_products<Config>(&s, acc);
    const bool by_hand = weigh_scores(cta, item, mask, position, state.stage, s, acc, [] {});
    wgmma::publish();
    __syncthreads();
    if (Config::kMasked && by_hand) {
      multiply_seen_values(cta, stage, mask, position, acc);
      clear_values(cta, stage);
    }
    wgmma::fence();
    start_values<Config>(values + state.stage * Config::kStageBytes, weights, acc);
    wait_products<Config>(nullptr, acc);
    __syncthreads();
    state.keys.fill_next();
    state.next_stage();
  }
}

}  // namespace splitwave::gpu
