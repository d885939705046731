// SPDX-License-Identifier: Apache-2.0
// Every compiled kernel, as data. One source file per element type and head dimension makes one table.
#pragma once

#include <cstdint>
#include <span>

#include "gpu/team.h"

namespace splitwave::gpu {

/// The compile-time shape of a decode kernel (config.cuh) and what the host needs to launch it.
struct DecodeKernel {
  std::int32_t head_dim;
  std::int32_t value_dim;  ///< less than head_dim: values are what keys begin with
  std::int32_t row_tiles;
  std::int32_t warps;    ///< that work on items
  std::int32_t threads;  ///< of a CTA, those that load alone included
  std::int32_t stages;
  std::int32_t tokens;
  bool paged;
  bool masked;  ///< can take tiles whose rows see different KV ranges
  Team team;
  std::int32_t single_item_cluster;  ///< 0, or: takes plans with one item per list, in clusters of this size
  bool parts;                        ///< takes outputs in parts: all with rings do
  bool waits;                        ///< runs plans whose CTAs wait and merge, and no others, by packets
  bool bf16;
  std::int32_t shared_bytes;          ///< of a CTA
  std::int32_t cluster_shared_bytes;  ///< of a CTA of a cluster
  const void* function;               ///< decode_kernel(DecodeParams)
  /// Null, or the same where keys come in boxes: box_kernel(DecodeParams, KeyMap).
  const void* box_function = nullptr;
};

/// A merge kernel: merge_kernel(MergeParams), grid (merges, row blocks, parts).
struct MergeKernel {
  std::int32_t value_dim;
  std::int32_t row_tiles;
  bool bf16;
  std::int32_t threads;
  std::int32_t fragments;  ///< of a row block, which the CTAs' warps share
  const void* function;    ///< of a fragment a warp, or several
  std::int32_t run;        ///< fragments of a warp of the other one
  const void* run_function;
};

std::span<const DecodeKernel> f16_d64_kernels();
std::span<const DecodeKernel> f16_d128_kernels();
std::span<const DecodeKernel> f16_d256_kernels();
std::span<const DecodeKernel> bf16_d64_kernels();
std::span<const DecodeKernel> bf16_d128_kernels();
std::span<const DecodeKernel> bf16_d256_kernels();
std::span<const DecodeKernel> f16_d64_waiting_kernels();
std::span<const DecodeKernel> f16_d128_waiting_kernels();
std::span<const DecodeKernel> f16_d256_waiting_kernels();
std::span<const DecodeKernel> bf16_d64_waiting_kernels();
std::span<const DecodeKernel> bf16_d128_waiting_kernels();
std::span<const DecodeKernel> bf16_d256_waiting_kernels();
std::span<const DecodeKernel> f16_d64_group_kernels();
std::span<const DecodeKernel> f16_d128_group_kernels();
std::span<const DecodeKernel> f16_d256_group_kernels();
std::span<const DecodeKernel> bf16_d64_group_kernels();
std::span<const DecodeKernel> bf16_d128_group_kernels();
std::span<const DecodeKernel> bf16_d256_group_kernels();
std::span<const DecodeKernel> f16_latent_kernels();
std::span<const DecodeKernel> bf16_latent_kernels();
std::span<const DecodeKernel> f16_d64_single_item_kernels();
std::span<const DecodeKernel> f16_d128_single_item_kernels();
std::span<const DecodeKernel> f16_d256_single_item_kernels();
std::span<const DecodeKernel> bf16_d64_single_item_kernels();
std::span<const DecodeKernel> bf16_d128_single_item_kernels();
std::span<const DecodeKernel> bf16_d256_single_item_kernels();
std::span<const DecodeKernel> f16_whole_latent_kernels();
std::span<const DecodeKernel> bf16_whole_latent_kernels();
std::span<const DecodeKernel> f16_d64_pair_kernels();
std::span<const DecodeKernel> bf16_d64_pair_kernels();
std::span<const MergeKernel> merge_kernels();

}  // namespace splitwave::gpu
