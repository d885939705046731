// SPDX-License-Identifier: Apache-2.0
// The kernels that are compiled for an element type, by head dimension.
#pragma once

#include <array>
#include <span>
#include <tuple>

#include "gpu/kernels/decode.cuh"
#include "gpu/kernels/table.h"

namespace splitwave::gpu {

template <class Config>
constexpr Team team_of() {
  if constexpr (Config::kGroup)
    return Config::kSeesaw ? Team::seesaw : Config::kPortable ? Team::portable : Team::group;
  if constexpr (Config::kAlone) return Team::alone;
  return Team::warps;
}

/// function: the kernel of the config, which takes DecodeParams.
template <class Config>
DecodeKernel entry(const void* function) {
  return {Config::kHeadDim,
          Config::kValueDim,
          Config::kRowTiles,
          Config::kWarps,
          Config::kThreads + Config::kLoaderThreads,
          Config::kStages,
          Config::kGroup ? Config::kChunks * Config::kTokens / Config::kWarps : Config::kTokens,
          Config::kPaged,
          Config::kMasked,
          team_of<Config>(),
          Config::kSingleItemCluster,
          Config::kParts,
          std::is_same_v<typename Config::Element, __nv_bfloat16>,
          Config::shared_bytes(1),
          Config::shared_bytes(kMaxCluster),
          function};
}

template <class Config>
DecodeKernel decode_entry() {
  return entry<Config>(reinterpret_cast<const void*>(&decode_kernel<Config>));
}

/// Contiguous and paged.
template <class Element, int kHeadDim, int kRowTiles, int kWarps, int kStages, int kTokens, bool kMasked = false,
          int kSingleItemCluster = 0, int kKvHeads = 1>
std::array<DecodeKernel, 2> both() {
  return {decode_entry<Config<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, false, kMasked,
                              kSingleItemCluster, false, kKvHeads>>(),
          decode_entry<Config<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, true, kMasked, kSingleItemCluster,
                              false, kKvHeads>>()};
}

/// The same for kernels whose warps have lists of their own.
template <class Element, int kHeadDim, int kRowTiles, int kWarps, int kStages, int kTokens, bool kMasked = false>
std::array<DecodeKernel, 2> alone() {
  return {decode_entry<Config<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, false, kMasked, 0, true>>(),
          decode_entry<Config<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, true, kMasked, 0, true>>()};
}

template <class... Groups>
auto join(const Groups&... groups) {
  std::array<DecodeKernel, (std::tuple_size_v<Groups> + ...)> all{};
  std::size_t next = 0;
  const auto add = [&](const auto& group) {
    for (const DecodeKernel& kernel : group) all[next++] = kernel;
  };
  (add(groups), ...);
  return all;
}

/// Single-item kernels: clusters of 1, 2, 4 and 8 as far as each CTA keeps a fragment.
template <class Element, int kHeadDim, int kRowTiles, int kWarps, int kStages, int kTokens, int kKvHeads = 1>
auto single_item() {
  const auto small = join(both<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, false, 1, kKvHeads>(),
                          both<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, false, 2, kKvHeads>(),
                          both<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, false, 4, kKvHeads>());
  if constexpr (kRowTiles * kHeadDim / 16 >= 8) {
    return join(small, both<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, false, 8, kKvHeads>());
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
                         both<Element, kHeadDim, kRowTiles, kWarps, 1, kTokens, false, 16>(),
                         parts<Element, kHeadDim, kRowTiles, kWarps, kTokens, 4>(),
                         parts<Element, kHeadDim, kRowTiles, kWarps, kTokens, 16>());
  if constexpr (kRowTiles * kHeadDim / 16 >= 8) {
    return join(some, parts<Element, kHeadDim, kRowTiles, kWarps, kTokens, 8>());
  } else {
    return some;
  }
}

// Row tiles, warps, stages, tokens per stage; then the same for tiles whose rows see different KV ranges. Row tiles
// ascend within each of the two.

template <class Element>
std::span<const DecodeKernel> d64_kernels() {
  static const auto all =
      join(both<Element, 64, 1, 4, 4, 16>(), both<Element, 64, 1, 4, 2, 32>(), both<Element, 64, 1, 4, 3, 32>(),
           both<Element, 64, 1, 8, 2, 32>(), alone<Element, 64, 1, 4, 2, 32>(), both<Element, 64, 2, 4, 2, 32>(),
           alone<Element, 64, 2, 4, 2, 32>(), both<Element, 64, 4, 4, 3, 32>(), both<Element, 64, 1, 4, 2, 32, true>(),
           alone<Element, 64, 1, 4, 2, 32, true>(), both<Element, 64, 2, 4, 2, 32, true>(),
           alone<Element, 64, 2, 4, 2, 32, true>(), both<Element, 64, 4, 4, 2, 32, true>());
  return all;
}

template <class Element>
std::span<const DecodeKernel> d128_kernels() {
  static const auto all =
      join(both<Element, 128, 1, 4, 4, 16>(), both<Element, 128, 1, 4, 2, 16>(), both<Element, 128, 1, 4, 2, 32>(),
           both<Element, 128, 1, 8, 2, 16>(), alone<Element, 128, 1, 4, 2, 16>(), both<Element, 128, 2, 4, 2, 16>(),
           both<Element, 128, 2, 4, 4, 16>(), alone<Element, 128, 2, 4, 2, 16>(),
           both<Element, 128, 1, 4, 2, 16, true>(), alone<Element, 128, 1, 4, 2, 16, true>(),
           both<Element, 128, 2, 4, 2, 16, true>(), alone<Element, 128, 2, 4, 2, 16, true>());
  return all;
}

template <class Element>
std::span<const DecodeKernel> d256_kernels() {
  static const auto all =
      join(both<Element, 256, 1, 4, 2, 16>(), both<Element, 256, 1, 2, 2, 16>(), alone<Element, 256, 1, 4, 2, 16>(),
           both<Element, 256, 2, 4, 2, 16>(), both<Element, 256, 1, 4, 2, 16, true>(),
           alone<Element, 256, 1, 4, 2, 16, true>(), both<Element, 256, 2, 4, 2, 16, true>());
  return all;
}

template <class Element>
std::span<const DecodeKernel> d64_single_item_kernels() {
  static const auto all = join(single_item<Element, 64, 1, 4, 4, 16>(), single_item<Element, 64, 1, 4, 2, 32>(),
                               single_item<Element, 64, 1, 4, 3, 32>(), single_item<Element, 64, 1, 8, 2, 32>(),
                               single_item<Element, 64, 2, 4, 2, 32>(), whole_item<Element, 64, 1, 4, 16>(),
                               whole_item<Element, 64, 1, 4, 32>(), whole_item<Element, 64, 2, 4, 32>());
  return all;
}

template <class Element>
std::span<const DecodeKernel> d128_single_item_kernels() {
  static const auto all = join(single_item<Element, 128, 1, 4, 4, 16>(), single_item<Element, 128, 1, 4, 2, 16>(),
                               single_item<Element, 128, 1, 4, 2, 32>(), single_item<Element, 128, 1, 8, 2, 16>(),
                               single_item<Element, 128, 2, 4, 2, 16>(), single_item<Element, 128, 2, 4, 4, 16>(),
                               whole_item<Element, 128, 1, 4, 16>(), whole_item<Element, 128, 1, 4, 32>(),
                               whole_item<Element, 128, 2, 4, 16>());
  return all;
}

template <class Element>
std::span<const DecodeKernel> d256_single_item_kernels() {
  static const auto all = join(single_item<Element, 256, 1, 4, 2, 16>(), single_item<Element, 256, 1, 2, 2, 16>(),
                               single_item<Element, 256, 2, 4, 2, 16>(), whole_item<Element, 256, 1, 4, 16>(),
                               whole_item<Element, 256, 2, 4, 16>());
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
