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
          Config::kWaits,
          std::is_same_v<typename Config::Element, __nv_bfloat16>,
          Config::shared_bytes(1),
          Config::shared_bytes(kMaxCluster),
          function};
}

template <class Config>
DecodeKernel decode_entry() {
  return entry<Config>(reinterpret_cast<const void*>(&decode_kernel<Config>));
}

/// Those that run any plan, contiguous and paged.
template <class Element, int kHeadDim, int kRowTiles, int kWarps, int kStages, int kTokens, bool kMasked, bool kAlone,
          bool kWaits>
std::array<DecodeKernel, 2> lists() {
  return {decode_entry<Config<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, false, kMasked, 0, kAlone, 1,
                              false, kWaits>>(),
          decode_entry<Config<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, true, kMasked, 0, kAlone, 1,
                              false, kWaits>>()};
}

/// Of a head dimension, by who merges: with kWaits CTAs that wait, else others.
template <class Element, int kHeadDim, bool kWaits>
struct Lists {
  template <int kRowTiles, int kWarps, int kStages, int kTokens, bool kMasked = false>
  static std::array<DecodeKernel, 2> shared() {
    return lists<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, kMasked, false, kWaits>();
  }
  /// The warps have lists of their own.
  template <int kRowTiles, int kWarps, int kStages, int kTokens, bool kMasked = false>
  static std::array<DecodeKernel, 2> alone() {
    return lists<Element, kHeadDim, kRowTiles, kWarps, kStages, kTokens, kMasked, true, kWaits>();
  }
};

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

// Row tiles, warps, stages, tokens per stage; then the same for tiles whose rows see different KV ranges. Row tiles
// ascend within each of the two.

template <class Element, bool kWaits = false>
std::span<const DecodeKernel> d64_kernels() {
  using Of = Lists<Element, 64, kWaits>;
  static const auto all =
      join(Of::template shared<1, 4, 4, 16>(), Of::template shared<1, 4, 2, 32>(), Of::template shared<1, 8, 2, 32>(),
           Of::template alone<1, 4, 2, 32>(), Of::template shared<2, 4, 2, 32>(), Of::template alone<2, 4, 2, 32>(),
           Of::template shared<4, 4, 3, 32>(), Of::template shared<1, 4, 2, 32, true>(),
           Of::template alone<1, 4, 2, 32, true>(), Of::template shared<2, 4, 2, 32, true>(),
           Of::template alone<2, 4, 2, 32, true>(), Of::template shared<4, 4, 2, 32, true>());
  return all;
}

template <class Element, bool kWaits = false>
std::span<const DecodeKernel> d128_kernels() {
  using Of = Lists<Element, 128, kWaits>;
  static const auto all =
      join(Of::template shared<1, 4, 4, 16>(), Of::template shared<1, 4, 2, 16>(), Of::template shared<1, 4, 2, 32>(),
           Of::template shared<1, 2, 2, 16>(), Of::template alone<1, 4, 2, 16>(), Of::template shared<2, 4, 2, 16>(),
           Of::template shared<2, 4, 4, 16>(), Of::template shared<2, 2, 2, 16>(), Of::template alone<2, 4, 2, 16>(),
           Of::template shared<1, 4, 2, 16, true>(), Of::template alone<1, 4, 2, 16, true>(),
           Of::template shared<2, 4, 2, 16, true>(), Of::template alone<2, 4, 2, 16, true>());
  return all;
}

template <class Element, bool kWaits = false>
std::span<const DecodeKernel> d256_kernels() {
  using Of = Lists<Element, 256, kWaits>;
  static const auto all =
      join(Of::template shared<1, 4, 2, 16>(), Of::template shared<1, 2, 2, 16>(), Of::template alone<1, 4, 2, 16>(),
           Of::template shared<2, 4, 2, 16>(), Of::template shared<1, 4, 2, 16, true>(),
           Of::template alone<1, 4, 2, 16, true>(), Of::template shared<2, 4, 2, 16, true>());
  return all;
}

}  // namespace splitwave::gpu
