// SPDX-License-Identifier: Apache-2.0
// The compile-time shape of a kernel for small items of a latent cache, and where its shared memory lies.
#pragma once

#include "gpu/kernels/config.cuh"
#include "gpu/kernels/key_map.h"

namespace splitwave::gpu {

/// As GroupConfig, without a ring (whole_latent.cuh): each CTA of a cluster has a tile of 64 tokens' keys, a CTA alone
/// two (alone_latent.cuh). kParts_: outputs may be in parts (packets.cuh). kBoxes_: keys come in boxes.
template <class Element_, int kRowTiles_, int kCluster, bool kPaged_, bool kParts_, bool kBoxes_ = false>
struct WholeLatentConfig {
  using Element = Element_;
  static constexpr int kHeadDim = 576;
  static constexpr int kValueDim = 512;
  static constexpr int kRowTiles = kRowTiles_;
  static constexpr int kRows = kRowTiles * 8;
  static constexpr int kCtaTiles = kCluster == 1 ? 2 : 1;  ///< a warpgroup has the scores of one
  static constexpr int kWarps = 4 * kCtaTiles;
  static constexpr int kThreads = kWarps * 32;  ///< that work on the item
  /// Beside them: the first asks for all keys where they come in boxes; in clusters they ask for values, and their
  /// first warp sends the weights' sums.
  static constexpr int kLoaderThreads = kCluster == 1 ? 32 : 128;
  static constexpr int kAllThreads = kThreads + kLoaderThreads;
  static constexpr int kMergeWarps = 8;  ///< the CTA's first ones
  static constexpr int kStages = 1;
  static constexpr int kChunks = kWarps;
  static constexpr int kTokens = 16;
  static constexpr int kGroupTokens = 64;  ///< of a tile
  static constexpr bool kPaged = kPaged_;
  static constexpr bool kMasked = false;
  static constexpr int kSingleItemCluster = kCluster;
  static constexpr bool kSingleItem = false;  ///< it takes several row blocks as other group kernels do
  static constexpr bool kGroup = true;
  static constexpr bool kSeesaw = false;
  static constexpr bool kPortable = false;
  static constexpr bool kAlone = false;
  static constexpr bool kWaits = false;
  static constexpr bool kWholeItem = false;
  static constexpr bool kParts = kParts_;
  static constexpr bool kBoxes = kBoxes_;
  static constexpr int kKvHeads = 1;

  static constexpr int kDimTiles = kValueDim / 16;
  static constexpr int kKeyBlocks = kHeadDim / 64;
  static constexpr int kScoreTiles = kRowTiles;
  static constexpr int kFragments = kRowTiles * kDimTiles;
  static constexpr int kCtaBlocks = kValueDim / 64 / kCluster;  ///< blocks of 64 of the value's elements of a CTA
  static constexpr int kGroupBlocks = kCtaBlocks / kCtaTiles;   ///< those that a warpgroup multiplies
  static constexpr int kBlockBytes = kGroupTokens * 128;
  static constexpr int kTileBytes = kKeyBlocks * kBlockBytes;
  /// Blocks of keys that a barrier waits for: scores begin with the first ones.
  static constexpr int kKeyBlocksAtOnce = 3;
  static constexpr int kKeyParts = kKeyBlocks / kKeyBlocksAtOnce;

  // Shared memory: the keys, the CTA's part of its peers' values, queries, all tiles' P and their maxima and sums,
  // those of the CTA's warps, the factors by which products count, control.
  static constexpr int kQueryBlockBytes = kRows * 128;
  static constexpr int kWeightRowBytes = kRows * 2;
  static constexpr int kWeightBytes = kGroupTokens * kWeightRowBytes;  ///< of a tile
  static constexpr int kSumBytes = kRows * 8;
  static constexpr int kFragmentBytes = kFragments * 512;
  static constexpr int kValuePlaceBytes = kCtaBlocks * kBlockBytes;
  static constexpr int kValueOffset = kCtaTiles * kTileBytes;
  static constexpr int kQueryOffset = kValueOffset + (kCluster > 1 ? kCluster * kValuePlaceBytes : 0);
  static constexpr int kWeightOffset = kQueryOffset + kKeyBlocks * kQueryBlockBytes;
  static constexpr int kSumsOffset = kWeightOffset + kCluster * kCtaTiles * kWeightBytes;
  static constexpr int kWarpMaximaOffset = kSumsOffset + kCluster * kSumBytes;
  static constexpr int kWarpSumsOffset = kWarpMaximaOffset + kWarps * kRows * 4;
  static constexpr int kFactorsOffset = kWarpSumsOffset + kWarps * kRows * 4;
  static constexpr int kTotalsOffset = kFactorsOffset + kCluster * kRows * 4;
  static constexpr int kControlOffset = kTotalsOffset + kSumBytes;

  static constexpr int shared_bytes(int) { return kControlOffset + 1024; }

  static_assert(kKeyParts * kKeyBlocksAtOnce == kKeyBlocks && kGroupTokens == kBoxTokens);
  static_assert(shared_bytes(kCluster) <= 227 * 1024 && kCtaBlocks >= 1);
};

}  // namespace splitwave::gpu
