// SPDX-License-Identifier: Apache-2.0
// The kernels for many packed rows that are compiled for an element type.
#pragma once

#include <array>
#include <span>

#include "gpu/kernels/group.cuh"
#include "gpu/kernels/instances.cuh"
#include "gpu/kernels/table.h"

namespace splitwave::gpu {

template <class Config>
DecodeKernel group_entry() {
  return entry<Config>(reinterpret_cast<const void*>(&group_kernel<Config>));
}

/// Contiguous and paged, with and without masks.
template <class Element, int kHeadDim, int kRowTiles, int kStages, int kValueDim = kHeadDim>
std::array<DecodeKernel, 4> group() {
  return {group_entry<GroupConfig<Element, kHeadDim, kValueDim, kRowTiles, kStages, false, false>>(),
          group_entry<GroupConfig<Element, kHeadDim, kValueDim, kRowTiles, kStages, true, false>>(),
          group_entry<GroupConfig<Element, kHeadDim, kValueDim, kRowTiles, kStages, false, true>>(),
          group_entry<GroupConfig<Element, kHeadDim, kValueDim, kRowTiles, kStages, true, true>>()};
}

/// The same of a latent cache by mma.sync.
template <class Element, int kRowTiles>
std::array<DecodeKernel, 4> portable() {
  return {group_entry<GroupConfig<Element, 576, 512, kRowTiles, 2, false, false, true>>(),
          group_entry<GroupConfig<Element, 576, 512, kRowTiles, 2, true, false, true>>(),
          group_entry<GroupConfig<Element, 576, 512, kRowTiles, 2, false, true, true>>(),
          group_entry<GroupConfig<Element, 576, 512, kRowTiles, 2, true, true, true>>()};
}

template <class Element, bool kPaged, bool kMasked>
DecodeKernel seesaw_entry() {
  DecodeKernel kernel = group_entry<SeesawConfig<Element, kPaged, kMasked>>();
  kernel.box_function = reinterpret_cast<const void*>(&box_kernel<SeesawConfig<Element, kPaged, kMasked, true>>);
  return kernel;
}

/// The same with the rows of a latent cache as M.
template <class Element>
std::array<DecodeKernel, 4> seesaw() {
  return {seesaw_entry<Element, false, false>(), seesaw_entry<Element, true, false>(),
          seesaw_entry<Element, false, true>(), seesaw_entry<Element, true, true>()};
}

// Row tiles, stages; row tiles ascend.

template <class Element>
std::span<const DecodeKernel> d64_group_kernels() {
  static const auto all = join(group<Element, 64, 4, 4>(), group<Element, 64, 8, 4>());
  return all;
}

template <class Element>
std::span<const DecodeKernel> d128_group_kernels() {
  static const auto all = join(group<Element, 128, 4, 3>(), group<Element, 128, 4, 4>(), group<Element, 128, 8, 2>(),
                               group<Element, 128, 8, 4>());
  return all;
}

template <class Element>
std::span<const DecodeKernel> d256_group_kernels() {
  static const auto all = join(group<Element, 256, 4, 2>(), group<Element, 256, 8, 2>());
  return all;
}

/// Multi-head latent attention: keys of 512 latent and 64 rotary elements, whose first 512 are the value.
template <class Element>
std::span<const DecodeKernel> latent_group_kernels() {
  static const auto all =
      join(group<Element, 576, 2, 2, 512>(), portable<Element, 2>(), group<Element, 576, 4, 2, 512>(),
           portable<Element, 4>(), group<Element, 576, 8, 2, 512>(), seesaw<Element>(), portable<Element, 8>());
  return all;
}

}  // namespace splitwave::gpu
