// SPDX-License-Identifier: Apache-2.0
// A latent cache's tokens through a seesaw kernel: the warpgroups take turns at the stages' scores, so that one
// multiplies while the other weighs ("seesaw": FlashMLA, docs/20250422-new-kernel-deep-dive.md).
#pragma once

#include "gpu/kernels/latent.cuh"
#include "gpu/kernels/seesaw_tile.cuh"

namespace splitwave::gpu {

/// What goes on from item to item in the threads that work on them.
template <class Config>
struct SeesawState : LatentItems<Config> {
  std::uint32_t tile = 0;  ///< of the CTA's, which comes next: its stage is tile % 2, its round there tile / 2

  __device__ __forceinline__ SeesawState(const Cta<Config>&, std::uint32_t) {}
};

/// All products that were started are done.
template <class Config>
__device__ __forceinline__ void wait_products(SeesawScores<Config>* s, SeesawAccumulator<Config>& acc) {
  wgmma::wait<0>();
  if (s != nullptr) wgmma::hold(*s);
  wgmma::hold(acc.o);
}

/// Adds what the item's tokens give. A warpgroup multiplies the other's values before its own tile's keys. Where these
/// come in boxes, soon, the second warpgroup has its scores first, and weighs them while it multiplies the other's
/// values: in step, both would multiply at the same time and then weigh at the same time. Masked, that has too few
/// registers; with copies it took longer.
template <class Config>
__device__ __forceinline__ void stream_latent_item(const Cta<Config>& cta, const DeviceItem& item,
                                                   const ChunkRange& range, const Rows& rows, std::uint32_t ring,
                                                   SeesawState<Config>& state, SeesawAccumulator<Config>& acc) {
  const Seesaw<Config> seesaw(cta, item, rows, ring);
  const int first = first_token(cta, item, range);
  // The compiler has to see that all lanes take the same branches while products are under way.
  const int tiles =
      static_cast<int>(wgmma::uniform((item.kv_begin + range.end * Config::kTokens - first) / Config::kGroupTokens));
  const auto position = [&](int i) { return first + i * Config::kGroupTokens; };
  const int stage = static_cast<int>(wgmma::uniform(state.tile & 1));  // of tile 0
  const int other = seesaw.side ^ 1;
  const auto start_other = [&](int i) {
    seesaw.wait_weights(state.tile + i, acc);
    seesaw.add_edge(state.tile + i, position(i), acc);
    seesaw.add_values(state.tile + i, nullptr, acc);
  };
  const auto add_own = [&](int i, const SeesawWeights<Config>& own) {
    seesaw.hand_over(own, acc);
    seesaw.add_edge(state.tile + i, position(i), acc);
    seesaw.add_values(state.tile + i, &own, acc);
    wait_products<Config>(nullptr, acc);
    seesaw.free_half(seesaw.side);
  };
  const auto take_own = [&](int i, SeesawScores<Config>& s) {
    SeesawWeights<Config> own;
    seesaw.complete_scores(state.tile + i, s);
    wait_products<Config>(&s, acc);
    seesaw.weigh(position(i), s, acc.maximum, own);
    add_own(i, own);
  };
  if (tiles > 0 && stage == seesaw.side) {
    SeesawScores<Config> s;
    seesaw.start_scores(state.tile, s);
    take_own(0, s);
  }
#pragma unroll 1
  for (int i = stage == seesaw.side ? 2 : 1; i < tiles; i += 2) {
    SeesawScores<Config> s;
    if (Config::kBoxes && !Config::kMasked && seesaw.side == 1) {
      SeesawWeights<Config> own;
      seesaw.start_scores(state.tile + i, s);
      seesaw.complete_scores(state.tile + i, s);
      start_other(i - 1);
      wgmma::wait<1>();
      wgmma::hold(s);
      seesaw.weigh(position(i), s, acc.maximum, own);
      own.hold();
      wait_products<Config>(nullptr, acc);
      seesaw.free_half(other);
      add_own(i, own);
    } else {
      start_other(i - 1);
      // Behind the other's values, which are through by the time that the keys are there. To begin with the keys where
      // they come first took more code, and as long.
      seesaw.start_scores(state.tile + i, s);
      wgmma::wait<1>();
      wgmma::hold(acc.o);
      seesaw.free_half(other);
      take_own(i, s);
    }
  }
  if (tiles > 0 && ((stage + tiles - 1) & 1) == other) {
    start_other(tiles - 1);
    wait_products<Config>(nullptr, acc);
    seesaw.free_half(other);
  }
  state.tile += tiles;
}

}  // namespace splitwave::gpu
