// SPDX-License-Identifier: Apache-2.0
// The compile-time shape of a decode kernel, and where its shared memory lies.
#pragma once

#include <cstdint>

namespace splitwave::gpu {

/// Most CTAs that share an item. More than 8 are not portable: an H100 has them, and only kernels without rings use
/// them.
inline constexpr int kMaxCluster = 16;

/// Split items that a CTA may hold back until its list is done before it looks whether it is to merge them.
inline constexpr int kMaxPending = 13;

/// Most warps of a CTA that work on items.
inline constexpr int kMaxWarps = 8;

/// A row that has seen nothing has this maximum. Finite, so that differences of maxima are never NaN, and no score is
/// less: those of bfloat16 reach all of float's range.
inline constexpr float kNothingSeen = -3.40282347e38F;

template <class Element_, int kHeadDim_, int kRowTiles_, int kWarps_, int kStages_, int kTokens_, bool kPaged_,
          bool kMasked_ = false, int kSingleItemCluster_ = 0, bool kAlone_ = false, int kKvHeads_ = 1,
          bool kParts_ = false, bool kWaits_ = false>
struct Config {
  using Element = Element_;
  static constexpr int kHeadDim = kHeadDim_;
  static constexpr int kValueDim = kHeadDim;
  /// KV heads whose rows a CTA reads side by side, as one of kHeadDim elements: the first rows of a tile are the first
  /// head's, as many the second's.
  static constexpr int kKvHeads = kKvHeads_;
  static constexpr int kQueryDim = kHeadDim / kKvHeads;  ///< elements of a row of Q and of the output
  static constexpr int kRowTiles = kRowTiles_;           ///< tiles of 8 packed query rows (N of the MMA)
  static constexpr int kRows = kRowTiles * 8;
  static constexpr int kWarps = kWarps_;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kLoaderThreads = 0;  ///< beside them, which do nothing but ask for keys (GroupConfig)
  static constexpr int kStages = kStages_;  ///< of each warp's private ring
  static constexpr int kTokens = kTokens_;  ///< KV tokens per stage
  static constexpr bool kPaged = kPaged_;
  static constexpr bool kMasked = kMasked_;  ///< can take tiles whose rows see different ranges

  /// Not 0: a single-item kernel, for single queries, one item per CTA, no test hooks and no waiting merges, in
  /// clusters of this size. In a small problem each instruction runs once, cold, so it pays to have fewer.
  static constexpr int kSingleItemCluster = kSingleItemCluster_;
  static constexpr bool kSingleItem = kSingleItemCluster > 0;

  /// Whether the CTA's warps work on a stage together (GroupConfig).
  static constexpr bool kGroup = false;

  /// Whether each warp has a list of its own, a consecutive part of the CTA's (alone.cuh).
  static constexpr bool kAlone = kAlone_;

  /// One stage: no ring, a CTA holds all its tokens at once (whole_item.cuh).
  static constexpr bool kWholeItem = kStages == 1;

  /// Whether outputs may be in parts, which are then merged by packets (packets.cuh). Kernels with rings always take
  /// such; without, their instructions would take registers from those that need none of it.
  static constexpr bool kParts = kParts_ || !kWholeItem;

  /// Whether CTAs that wait merge outputs, by packets: always, or never. Each kind of end in a kernel of its own, since
  /// an item's end runs cold: what it does not need to pass is time won.
  static constexpr bool kWaits = kWaits_;

  static constexpr int kChunks = kAlone ? 1 : kWarps;  ///< of kTokens tokens that take turns: from a warp's to its next
  static constexpr int kTokenTiles = kTokens / 16;     ///< tiles of 16 tokens (M of the MMA)
  static constexpr int kDimTiles = kHeadDim / 16;
  /// A fragment is 16 output elements of 8 rows in fp32: 4 registers of a warp, 512 bytes.
  static constexpr int kFragments = kRowTiles * kDimTiles;
  /// Those that each CTA of a single-item kernel's cluster finishes; if it has more CTAs, some finish none.
  static constexpr int kFragmentsPerRank =
      kSingleItemCluster > 1 && kFragments > kSingleItemCluster ? kFragments / kSingleItemCluster : 1;
  /// Of its CTAs the first of so many finishes any.
  static constexpr int kRanksPerFragment = kFragments < kSingleItemCluster ? kSingleItemCluster / kFragments : 1;
  static constexpr int kBlockBytes = kTokens * 128;  ///< 64 elements of a tile's tokens
  static constexpr int kTileBytes = kTokens * kHeadDim * 2;
  static constexpr int kStageBytes = 2 * kTileBytes;  ///< K, then V

  static constexpr int kFragmentBytes = kFragments * 512;
  static constexpr int kSumBytes = kRows * 8;  ///< (max, sum) of each row

  // Shared memory: the rings, the warps' partial results, control (cta.cuh), receive buffers (clusters only). In place
  // of the partial results, without rings: the weights of all tokens, the warps' maxima and sums. Then, in single-item
  // kernels, the queries. With rings these leave a warp's partial result in its ring, which is empty then, where that
  // makes room for a further CTA: d = 128 has no registers for one.
  static constexpr bool kResultsInRing = kSingleItem && !kWholeItem && kHeadDim != 128;
  static constexpr int kWarpRingBytes = kStages * kStageBytes;
  static constexpr int kRingBytes = kWarps * kWarpRingBytes;
  static constexpr int kWeightBytes = kWarps * kTokens * kRows * 2;
  static constexpr int kReduceBytes = (kWholeItem       ? kWeightBytes + kWarps * kSumBytes
                                       : kResultsInRing ? 0
                                                        : kWarps * (kFragmentBytes + kSumBytes)) +
                                      (kSingleItem ? kRows * kQueryDim * 2 : 0);
  // A cluster with more CTAs than fragments has some that receive nothing.
  static constexpr int kReceivedBytes = kWholeItem && kFragments < kMaxCluster ? kMaxCluster * 512 : kFragmentBytes;
  static constexpr int kReceiveBytes = kReceivedBytes + (kSingleItem ? kSingleItemCluster : kMaxCluster) * kSumBytes;
  static constexpr int kReduceOffset = kResultsInRing ? 0 : kRingBytes;
  static constexpr int kWarpSumOffset = kReduceOffset + (kResultsInRing ? 1 : kWarps) * kFragmentBytes;
  static constexpr int kWarpResultStride = kResultsInRing ? kWarpRingBytes : kFragmentBytes;
  static constexpr int kWarpSumStride = kResultsInRing ? kWarpRingBytes : kSumBytes;
  static_assert(!kResultsInRing || kFragmentBytes + kSumBytes <= kWarpRingBytes);
  static constexpr int kMaximaOffset = kReduceOffset + kWeightBytes;
  static constexpr int kSumsOffset = kMaximaOffset + kWarps * kRows * 4;
  static constexpr int kQueryOffset = kRingBytes + kReduceBytes - kRows * kQueryDim * 2;
  static constexpr int kControlOffset = kRingBytes + kReduceBytes;

  static constexpr int kReceiveOffset = kControlOffset + 1024;
  static constexpr int kReceiveBuffers = kSingleItem ? 1 : 2;  ///< of items that follow each other

  static constexpr int shared_bytes(int cluster) {
    return kReceiveOffset + (cluster > 1 ? kReceiveBuffers * kReceiveBytes : 0);
  }

  /// CTAs per SM that the compiler keeps registers for: what shared memory allows (227 KB, 1 KB reserved for each), as
  /// long as 160 registers are left to a thread (128 without rings), or 200 where plans are any: with fewer these
  /// spill, which makes small lists a fifth slower (docs/kernels.md, "Versions"). A warp's registers lie in one of an
  /// SM's four parts of 16,384: five CTAs of two warps leave three warps to one of these, and so 168 registers each.
  static constexpr int kLeastRegisters = kParts_ ? 128 : kSingleItem ? 160 : 200;
  static constexpr int kSharedCtas = 227 * 1024 / (shared_bytes(1) + 1024);
  static constexpr int kRegisterWarps = 4 * (16384 / (32 * kLeastRegisters));
  static constexpr int kRegisterCtas = kRegisterWarps / kWarps;
  static constexpr int kResident = kSharedCtas < kRegisterCtas ? (kSharedCtas > 0 ? kSharedCtas : 1) : kRegisterCtas;

  static_assert(kQueryDim % 64 == 0 && kTokens % 16 == 0);
  static_assert(kKvHeads == 1 || (kKvHeads == 2 && kSingleItem && !kWholeItem));
  static_assert(!kParts_ || (kWholeItem && kSingleItemCluster > 1));
  static_assert(!kWaits || !kSingleItem);
};

}  // namespace splitwave::gpu
