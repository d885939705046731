// SPDX-License-Identifier: Apache-2.0
// The kernels for small items of a latent cache that are compiled for an element type.
#pragma once

#include <array>
#include <span>

#include "gpu/kernels/instances.cuh"
#include "gpu/kernels/table.h"
#include "gpu/kernels/whole_latent.cuh"

namespace splitwave::gpu {

template <class Element, int kRowTiles, int kCluster, bool kPaged, bool kParts>
DecodeKernel whole_latent_entry() {
  using Copies = WholeLatentConfig<Element, kRowTiles, kCluster, kPaged, kParts>;
  using Boxes = WholeLatentConfig<Element, kRowTiles, kCluster, kPaged, kParts, true>;
  DecodeKernel kernel = entry<Copies>(reinterpret_cast<const void*>(&whole_latent_kernel<Copies>));
  kernel.box_function = reinterpret_cast<const void*>(&whole_latent_box_kernel<Boxes>);
  return kernel;
}

/// Contiguous and paged, for whole outputs and for those in parts.
template <class Element, int kRowTiles, int kCluster>
std::array<DecodeKernel, 4> whole_latent() {
  return {whole_latent_entry<Element, kRowTiles, kCluster, false, false>(),
          whole_latent_entry<Element, kRowTiles, kCluster, true, false>(),
          whole_latent_entry<Element, kRowTiles, kCluster, false, true>(),
          whole_latent_entry<Element, kRowTiles, kCluster, true, true>()};
}

// Row tiles, CTAs of the cluster; of those with as many warps the first is KernelConfig::least_cluster(). CTAs alone
// with 32 rows are slower than kernels with rings on all but whole items.

template <class Element>
std::span<const DecodeKernel> whole_latent_kernels() {
  static const auto all =
      join(whole_latent<Element, 2, 1>(), whole_latent<Element, 2, 2>(), whole_latent<Element, 2, 4>(),
           whole_latent<Element, 2, 8>(), whole_latent<Element, 4, 2>(), whole_latent<Element, 4, 4>(),
           whole_latent<Element, 4, 8>());
  return all;
}

}  // namespace splitwave::gpu
