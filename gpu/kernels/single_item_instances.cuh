// SPDX-License-Identifier: Apache-2.0
// The kernels that are compiled for plans whose lists have one item each, by element type and head dimension.
#pragma once

#include <array>
#include <span>

#include "gpu/kernels/instances.cuh"
#include "gpu/kernels/table.h"

namespace splitwave::gpu {

/// Contiguous and paged.
template <class Element, int kHeadDim, int kRowTiles, int kWarps, int kStages, int kTokens, int kCluster,
          int kKvHeads = 1>
std::array<DecodeKernel, 2> both() {
  return {
      decode_entry<
          Config<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, false, false, kCluster, false, kKvHeads>>(),
      decode_entry<
          Config<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, true, false, kCluster, false, kKvHeads>>()};
}

/// Single-item kernels: clusters of 1, 2, 4 and 8 as far as each CTA keeps a fragment.
template <class Element, int kHeadDim, int kRowTiles, int kWarps, int kStages, int kTokens, int kKvHeads = 1>
auto single_item() {
  const auto small = join(both<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, 1, kKvHeads>(),
                          both<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, 2, kKvHeads>(),
                          both<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, 4, kKvHeads>());
  if constexpr (kRowTiles * kHeadDim / 16 >= 8) {
    return join(small, both<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, 8, kKvHeads>());
  } else {
    return small;
  }
}

/// Without rings (whole_item.cuh), for outputs in parts.
template <class Element, int kHeadDim, int kRowTiles, int kWarps, int kTokens, int kCluster>
std::array<DecodeKernel, 2> parts() {
  return {
      decode_entry<Config<Element, kHeadDim, kRowTiles, kWarps, 1, kTokens, false, false, kCluster, false, 1, true>>(),
      decode_entry<Config<Element, kHeadDim, kRowTiles, kWarps, 1, kTokens, true, false, kCluster, false, 1, true>>()};
}

/// The same without rings, and clusters of 16; from clusters of 4 on also for outputs in parts.
template <class Element, int kHeadDim, int kRowTiles, int kWarps, int kTokens>
auto whole_item() {
  const auto some = join(single_item<Element, kHeadDim, kRowTiles, kWarps, 1, kTokens>(),
                         both<Element, kHeadDim, kRowTiles, kWarps, 1, kTokens, 16>(),
                         parts<Element, kHeadDim, kRowTiles, kWarps, kTokens, 4>(),
                         parts<Element, kHeadDim, kRowTiles, kWarps, kTokens, 16>());
  if constexpr (kRowTiles * kHeadDim / 16 >= 8) {
    return join(some, parts<Element, kHeadDim, kRowTiles, kWarps, kTokens, 8>());
  } else {
    return some;
  }
}

/// In CTAs of two warps, with rings, of which as many fit on an SM as short items of batches have: no clusters.
template <class Element, int kHeadDim, int kRowTiles, int kStages, int kTokens>
auto short_item() {
  return both<Element, kHeadDim, kRowTiles, 2, kStages, kTokens, 1>();
}

/// The same without rings, for the smallest items.
template <class Element, int kHeadDim, int kRowTiles, int kTokens>
auto small_item() {
  return short_item<Element, kHeadDim, kRowTiles, 1, kTokens>();
}

// Row tiles, warps, stages, tokens per stage; without rings row tiles, warps (or two), tokens.

template <class Element>
std::span<const DecodeKernel> d64_single_item_kernels() {
  static const auto all =
      join(single_item<Element, 64, 1, 4, 4, 16>(), single_item<Element, 64, 1, 4, 2, 32>(),
           single_item<Element, 64, 1, 8, 2, 32>(), single_item<Element, 64, 2, 4, 2, 32>(),
           whole_item<Element, 64, 1, 4, 16>(), whole_item<Element, 64, 1, 4, 32>(),
           whole_item<Element, 64, 2, 4, 32>(), small_item<Element, 64, 1, 16>(), small_item<Element, 64, 1, 32>(),
           small_item<Element, 64, 2, 16>(), small_item<Element, 64, 2, 32>());
  return all;
}

template <class Element>
std::span<const DecodeKernel> d128_single_item_kernels() {
  static const auto all =
      join(single_item<Element, 128, 1, 4, 4, 16>(), single_item<Element, 128, 1, 4, 2, 16>(),
           single_item<Element, 128, 1, 4, 2, 32>(), single_item<Element, 128, 2, 4, 2, 16>(),
           single_item<Element, 128, 2, 4, 4, 16>(), short_item<Element, 128, 1, 2, 16>(),
           short_item<Element, 128, 2, 2, 16>(), whole_item<Element, 128, 1, 4, 16>(),
           whole_item<Element, 128, 1, 4, 32>(), whole_item<Element, 128, 2, 4, 16>(),
           small_item<Element, 128, 1, 16>(), small_item<Element, 128, 2, 16>(), small_item<Element, 128, 2, 32>());
  return all;
}

template <class Element>
std::span<const DecodeKernel> d256_single_item_kernels() {
  static const auto all =
      join(single_item<Element, 256, 1, 4, 2, 16>(), single_item<Element, 256, 1, 2, 2, 16>(),
           single_item<Element, 256, 2, 4, 2, 16>(), whole_item<Element, 256, 1, 4, 16>(),
           whole_item<Element, 256, 2, 4, 16>(), small_item<Element, 256, 1, 16>(), small_item<Element, 256, 2, 16>());
  return all;
}

/// Single-item kernels for pairs of KV heads of 64 elements.
template <class Element>
std::span<const DecodeKernel> d64_pair_kernels() {
  static const auto all = join(single_item<Element, 128, 1, 4, 2, 16, 2>(), single_item<Element, 128, 1, 4, 2, 32, 2>(),
                               single_item<Element, 128, 2, 4, 2, 16, 2>());
  return all;
}

}  // namespace splitwave::gpu
