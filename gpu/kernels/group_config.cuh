// SPDX-License-Identifier: Apache-2.0
// The compile-time shape of a kernel for many packed rows, and where its shared memory lies.
#pragma once

#include "gpu/kernels/config.cuh"
#include "gpu/kernels/params.h"

namespace splitwave::gpu {

/// As Config, for kernels whose warps work on a stage together (group.cuh): a stage has 64 tokens, of which each warp
/// of a warpgroup loads 16, and the CTA has one ring. Where values are narrower than keys they lie in them (MLA):
/// elements [0, kValueDim) of a key are its value, a stage holds keys alone, and warps of their own ask for them: to do
/// so takes as long as a third of a tile's products.
/// kPortable: by mma.sync, which all devices from compute capability 8.0 on have, in stages of 32 tokens, of which two
/// find room in the 99 KB that a CTA has on some of them beside 16 rows.
template <class Element_, int kHeadDim_, int kValueDim_, int kRowTiles_, int kStages_, bool kPaged_, bool kMasked_,
          bool kPortable_ = false>
struct GroupConfig {
  using Element = Element_;
  static constexpr int kHeadDim = kHeadDim_;
  static constexpr int kValueDim = kValueDim_;
  static constexpr bool kLatent = kValueDim < kHeadDim;
  static constexpr int kRowTiles = kRowTiles_;
  static constexpr int kRows = kRowTiles * 8;
  static constexpr bool kPortable = kPortable_;
  /// 16 tokens of a stage each: so many warps have the scores of the same rows.
  static constexpr int kChunks = kPortable ? 2 : 4;
  /// So many times kChunks warps, with the scores of a part of the rows each and, of O, elements of all rows: a second
  /// warpgroup where a thread of one would accumulate more than 128 numbers; by mma.sync, where warps hide each other's
  /// latencies, as many as have a row tile.
  static constexpr int kRowParts = kPortable ? (kRowTiles < 4 ? 2 : 4) : (kValueDim * kRows > 128 * 128 ? 2 : 1);
  static constexpr int kWarps = kChunks * kRowParts;
  static constexpr int kThreads = kWarps * 32;  ///< that work on items
  static constexpr int kLoaderThreads = kLatent ? 32 * kChunks : 0;
  static constexpr int kAllThreads = kThreads + kLoaderThreads;
  /// Registers of a thread where those of loaders are given to the others (setmaxnreg); 0: all have alike.
  static constexpr int kWorkRegisters = !kPortable && kAllThreads > 256 ? 232 : 0;
  static constexpr int kLoaderRegisters = 40;
  static_assert(kWorkRegisters == 0 || kWorkRegisters * kThreads + kLoaderRegisters * 128 <= 168 * kAllThreads);
  static constexpr int kStages = kStages_;
  static constexpr int kTokens = 16;                      ///< that a warp loads at a time
  static constexpr int kGroupTokens = kChunks * kTokens;  ///< of a stage
  static constexpr bool kPaged = kPaged_;
  static constexpr bool kMasked = kMasked_;
  static constexpr int kSingleItemCluster = 0;
  static constexpr bool kSingleItem = false;
  static constexpr bool kGroup = true;
  static constexpr bool kAlone = false;
  static constexpr bool kWaits = false;   ///< by packets: merges go through the ring, whoever does them
  static constexpr bool kSeesaw = false;  ///< SeesawConfig
  static constexpr bool kBoxes = false;   ///< SeesawConfig
  static constexpr bool kWholeItem = false;
  static constexpr bool kParts = true;
  static constexpr int kKvHeads = 1;

  static constexpr int kTokenTiles = kTokens / 16;
  static constexpr int kDimTiles = kValueDim / 16;
  static constexpr int kKeyBlocks = kHeadDim / 64;           ///< of 64 elements, in which keys and queries lie
  static constexpr int kWarpDims = kDimTiles / kWarps;       ///< of O's tiles of 16 elements those that a warp has
  static constexpr int kScoreTiles = kRowTiles / kRowParts;  ///< row tiles of a part
  static constexpr int kFragments = kRowTiles * kDimTiles;
  static constexpr int kBlockBytes = kGroupTokens * 128;
  static constexpr int kTileBytes = kGroupTokens * kHeadDim * 2;
  static constexpr int kStageBytes = kLatent ? kTileBytes : 2 * kTileBytes;
  static constexpr int kValueOffset = kStageBytes - kTileBytes;  ///< of V in a stage
  static constexpr int kValueBytes = kGroupTokens * kValueDim * 2;

  static constexpr int kFragmentBytes = kFragments * 512;
  static constexpr int kSumBytes = kRows * 8;

  /// Entries of the table that are asked for ahead (group_loader.cuh): as many as the ring has stages, and places for
  /// those that are still to be read. Of a latent cache those after the item and after the next one.
  static constexpr int kItemsAhead = kStages;
  static constexpr int kItemPlaces = kLatent ? 2 : 8;
  static_assert(kLatent || (2 * kItemsAhead <= kItemPlaces && kItemsAhead <= kMostItemsAhead));

  // Shared memory: the ring, the queries, P, the warps' maxima and sums, the rows' sums and places, control, entries of
  // the table, receive buffers.
  static constexpr int kQueryBlockBytes = kRows * 128;  ///< 64 elements of all rows
  static constexpr int kWeightRowBytes = kRows * 2;     ///< of P: all rows of a token
  static constexpr int kQueryOffset = kStages * kStageBytes;
  static constexpr int kWeightOffset = kQueryOffset + kKeyBlocks * kQueryBlockBytes;
  static constexpr int kMaximaOffset = kWeightOffset + kGroupTokens * kWeightRowBytes;
  // Two stages of a latent cache leave little: the sums lie where P was.
  static constexpr int kSumsOffset = kLatent ? kWeightOffset : kMaximaOffset + kChunks * kRows * 4;
  static constexpr int kRowEndsOffset = (kLatent ? kMaximaOffset : kSumsOffset) + kChunks * kRows * 4;
  static constexpr int kControlOffset = kRowEndsOffset + kRows * 8;
  static constexpr int kReceivedBytes = kFragmentBytes;
  static constexpr int kReceiveBytes = kReceivedBytes + 8 * kSumBytes;
  static constexpr int kItemsOffset = kControlOffset + 1024;
  static constexpr int kReceiveOffset = kItemsOffset + kItemPlaces * static_cast<int>(sizeof(DeviceItem));

  static constexpr int shared_bytes(int cluster) { return kReceiveOffset + (cluster > 1 ? 2 * kReceiveBytes : 0); }

  /// Whether a cluster's receive buffers find room.
  static constexpr bool kClusters = shared_bytes(2) <= 227 * 1024;

  static constexpr int kSharedCtas = 227 * 1024 / (shared_bytes(1) + 1024);
  static constexpr int kRegisterCtas = 65536 / (kThreads * 168);
  static constexpr int kResident = kSharedCtas < kRegisterCtas ? (kSharedCtas > 0 ? kSharedCtas : 1) : kRegisterCtas;

  static_assert(kHeadDim % 64 == 0 && kValueDim % 64 == 0 && kRowTiles <= 8 && kStages >= 2);
  static_assert(!kPortable || (kLatent && kRowTiles % kRowParts == 0 && kDimTiles % (4 * kRowParts) == 0));
  static_assert(shared_bytes(1) <= 227 * 1024);
};

/// For 33 to 64 rows of a latent cache in the other order: the rows as M, as FlashMLA has them (seesaw.cuh). A
/// warpgroup has the scores of all rows for every second stage, and half of the elements of O for all stages. kBoxes_:
/// keys come in boxes (box_loader.cuh).
template <class Element, bool kPaged, bool kMasked, bool kBoxes_ = false>
struct SeesawConfig : GroupConfig<Element, 576, 512, 8, 2, kPaged, kMasked> {
  static constexpr bool kSeesaw = true;
  static constexpr bool kBoxes = kBoxes_;
  /// Both warpgroups' sums lie behind the maxima, of which there is one for each row.
  static constexpr int kSumsOffset = SeesawConfig::GroupConfig::kMaximaOffset + SeesawConfig::GroupConfig::kRows * 4;
};

}  // namespace splitwave::gpu
