// SPDX-License-Identifier: Apache-2.0
// An item's tokens through a group kernel: stage after stage of keys and values becomes scores, weights and O.
#pragma once

#include "gpu/kernels/group_loader.cuh"
#include "gpu/kernels/group_tile.cuh"

namespace splitwave::gpu {

/// What goes on from item to item.
template <class Config>
struct GroupState {
  GroupLoader<Config> loader;
  int stage = 0;       ///< that the next tokens are in
  int item_count = 0;  ///< finished
  int taken = 0;       ///< items of the list that are done

  __device__ __forceinline__ GroupState(const Cta<Config>& cta, std::uint32_t ring) : loader(cta, ring) {}

  /// Fills the ring from its first stage on, with `range` of the list's first item and what follows. The item's queries
  /// come with its first keys or, where these are asked for before the previous kernel has ended, after all of them.
  __device__ __forceinline__ void start(const Cta<Config>& cta, const DeviceItem& item, const ChunkRange& range,
                                        bool wait_after_fill) {
    stage = 0;
    taken = 0;
    const Rows rows = rows_of<Config>(cta.params, item, cta.row_block);
    if (!wait_after_fill) request_group_queries(cta, rows, Config::kQueryOffset);
    loader.start(cta, item, range, wait_after_fill);
    if (wait_after_fill) {
      ptx::wait_for_previous_kernel();
      request_group_queries(cta, rows, Config::kQueryOffset);
      ptx::commit_copies();
      ptx::wait_copies<0>();
    }
  }

  /// A list's further items have their queries in a stage of their own. All threads.
  __device__ __forceinline__ void take_queries(const Cta<Config>& cta, bool active) {
    if (taken == 0) return;
    ptx::wait_copies<2 * Config::kStages - 1>();
    if (active) move_group_queries(cta, cta.shared + stage * Config::kStageBytes);
    wgmma::publish();
    cta.sync();
    loader.fill_keys(cta, false);
    loader.fill_values();
    next_stage();
  }

  /// An item's last stage is free.
  __device__ __forceinline__ void end_item(const Cta<Config>&, const DeviceItem&, const ChunkRange& range) {
    if (range.end > range.first) loader.fill_values();
  }

  /// The item after `item`, of which `range` is done.
  __device__ __forceinline__ DeviceItem following(const Cta<Config>& cta, const DeviceItem& item,
                                                  const ChunkRange& range) {
    // Its place in the table came with the first stage of the list, if any has been waited for.
    const bool there = taken > 0 || range.end > range.first;
    ++taken;
    return there ? loader.item(cta, taken) : load_item(cta.params, item.next);
  }

  __device__ __forceinline__ void next_stage() {
    if (++stage == Config::kStages) stage = 0;
  }
};

/// Masks the scores of the stage and leaves P in shared memory. Returns whether some row must not touch one of the
/// stage's values. meanwhile: called when the stage before is not needed any more.
template <class Config, class Meanwhile>
__device__ __forceinline__ bool weigh_scores(const Cta<Config>& cta, const DeviceItem& item, const RowMask& mask,
                                             int position, GroupScores<Config>& s, GroupAccumulator<Config>& acc,
                                             const Meanwhile& meanwhile) {
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
    mask_group(cta, item, position, s);
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
  return edge;
}

/// If one of the stage's values is no number, adds by hand what each row sees of them, and clears them. All threads;
/// the values and weights are there.
template <class Config>
__device__ __forceinline__ void confine_values(const Cta<Config>& cta, unsigned char* stage, int position,
                                               GroupAccumulator<Config>& acc) {
  if (cta.any(has_no_number(cta, stage))) [[unlikely]] {
    multiply_seen_values(cta, stage, position, acc);
    clear_values(cta, stage);
  }
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
  if constexpr (Config::kMasked) find_row_bounds(cta, item, mask);
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
    const bool edge = weigh_scores(cta, item, mask, position, s, acc, [&] {
      if (position > first) state.loader.fill_values();
      state.loader.fill_keys(cta, false);
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
    if (Config::kMasked && edge) {
      confine_values(cta, cta.shared + before * Config::kStageBytes, position, acc);
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
