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
  Loader<Config, Part::values> values;
  int stage = 0;              ///< that the next tokens are in
  int item_count = 0;         ///< finished
  std::uint32_t queries = 0;  ///< parity of the barrier of the queries that come next

  /// ring: of the CTA.
  __device__ __forceinline__ GroupState(const Cta<Config>& cta, std::uint32_t ring)
      : keys(cta.params, ring + cta.warp * Config::kTokens * 128, cta.rank, cta.warp, cta.row_block, cta.lane),
        values(cta.params, ring + cta.warp * Config::kTokens * 128, cta.rank, cta.warp, cta.row_block, cta.lane) {}

  /// Fills the ring from its first stage on, with `range` of the item and what follows.
  __device__ __forceinline__ void start(const DeviceItem& item, const ChunkRange& range) {
    stage = 0;
    keys.start(item, range);
    values.start(item, range);
    keys.rewind();
    values.rewind();
#pragma unroll 1
    for (int i = 0; i < Config::kStages; ++i) {
      keys.fill_next();
      values.fill_next();
    }
  }

  /// An item's last stage is free.
  __device__ __forceinline__ void end_item(const ChunkRange& range) {
    if (range.end > range.first) values.fill_next();
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
    for (int j = 0; j < 2; ++j) outgrown |= x[n][j] > acc.own_maximum(row_part(cta), n, j) + kSlack;
  }
  outgrown = cta.any(outgrown);
  meanwhile();
  if (outgrown) raise_group_maxima<Config>(cta, x, acc);
  store_weights(cta, s, scale, acc);
  if constexpr (!Config::kMasked) return false;
  return edge && cta.any(has_no_number(cta, cta.shared + stage * Config::kStageBytes));
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
  cta.sync();
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
    cta.sync();
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

}  // namespace splitwave::gpu
