// SPDX-License-Identifier: Apache-2.0
// Which kernel of the family runs a plan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/device.h"
#include "gpu/team.h"
#include "schedules/grid.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// The smallest cluster whose whole-item kernels take outputs in parts, but for items of a latent cache.
inline constexpr std::int32_t kLeastClusterOfParts = 4;

/// What a decode kernel is compiled for, and the cluster that it is launched with: a worker of a plan is a cluster of
/// `cluster` CTAs that share each item. One config may have two kernels (docs/kernels.md): a list kernel for any plan,
/// and a single-item kernel; without a ring only the latter, which then is a whole-item kernel.
struct KernelConfig {
  std::int32_t row_tiles = 1;  ///< tiles of 8 packed query rows per CTA
  std::int32_t warps = 4;
  std::int32_t stages = 4;   ///< of each warp's ring; 1: a whole-item kernel, whose CTA holds all its tokens at once
  std::int32_t tokens = 16;  ///< KV tokens per stage
  std::int32_t cluster = 1;
  /// How the CTA's warps share its work: for many packed rows together, by wgmma (compute capability 9.0) or mma.sync.
  Team team = Team::warps;
  /// KV heads whose rows a CTA reads side by side: 2 in kernels for head pairs (docs/kernels.md), which run only lists
  /// of one item and do not leave merges to a kernel.
  std::int32_t kv_heads = 1;
  /// Whether the config has no list kernel.
  bool single_items_only() const { return stages == 1 || kv_heads > 1; }
  /// Whether it holds items of a latent cache: with four warps in clusters, with eight in CTAs of their own.
  bool holds_latent_items() const { return stages == 1 && team == Team::group; }
  /// The least cluster that it is compiled for.
  std::int32_t least_cluster() const { return holds_latent_items() && warps == 4 ? 2 : 1; }
  /// Of those without rings: from which cluster on they take outputs in parts, and who merges these.
  std::int32_t least_cluster_of_parts() const { return holds_latent_items() ? least_cluster() : kLeastClusterOfParts; }
  schedules::MergeKind merge_of_parts() const {
    return holds_latent_items() ? schedules::MergeKind::host_cta : schedules::MergeKind::last_arriver;
  }
  /// Bytes of K and V that a CTA has under way.
  std::int64_t bytes_in_flight(const workloads::Geometry& geometry) const;
  /// Most tokens of an item; 0: any number.
  std::int32_t most_tokens() const { return stages == 1 ? cluster * warps * tokens : 0; }
  bool operator==(const KernelConfig&) const = default;
};

/// "r1w4s4t16c8": row tiles, warps, stages, tokens, cluster; "r8g4s2t16c1" where the warps work together, "r8m8s2t8c1"
/// where they do so with rows as M, "r2p4s2t8c1" by mma.sync, "r1a4s2t16c1" where each has a list of its own;
/// "r1w4s2t16c1h2" for pairs of KV heads.
std::string to_string(const KernelConfig& config);

/// The same for any cluster: what a kernel file calls it.
std::string name_without_cluster(const KernelConfig& config);

/// Reads to_string's form back. Throws InputError naming what is allowed.
KernelConfig parse_kernel_config(std::string_view text);

/// True if the config's single-item kernel, where it has one, can run the plan: single queries, each list one item with
/// all query heads of a KV head, which fit the config's rows (of a latent cache any heads), and with rings no merge
/// that waits. Without rings also: no item empty or of more than most_tokens(), and outputs in parts only in clusters
/// of least_cluster_of_parts() or more, merged as merge_of_parts() says; for head pairs: schedules::head_pairs() makes
/// such of it, and no kernel merges. Needs no device.
bool fits_single_item_kernel(const workloads::Workload& workload, const schedules::Plan& plan,
                             const KernelConfig& config);

/// Where a kernel runs: the occupancy that the CUDA runtime reports for the device.
struct Residency {
  std::int32_t ctas_per_sm = 0;
  std::int32_t workers = 0;  ///< clusters (or CTAs, without clusters) resident at a time on the whole device
};

/// Configs compiled for the workload's dtype, head dimension and layout that the device can run, clusters of 1, 2, 4
/// and 8 where it has them; Team::portable only where it has no wgmma. Throws InputError naming the key if no kernel is
/// compiled for the geometry (f32; other head dimensions than 64, 128 and 256; MLA of other shapes than keys of 576 and
/// values of 512), MissingError without a device.
std::vector<KernelConfig> kernel_configs(const workloads::Workload& workload, const Device& device = current_device());

/// The configs without rings, clusters of 16 among them. They run only plans that fits_single_item_kernel() accepts.
/// Throws as kernel_configs() does.
std::vector<KernelConfig> whole_item_configs(const workloads::Workload& workload,
                                             const Device& device = current_device());

/// The configs for head pairs, if the workload has such. They run only plans that fits_single_item_kernel() accepts.
/// Throws as kernel_configs() does.
std::vector<KernelConfig> pair_configs(const workloads::Workload& workload, const Device& device = current_device());

/// Of the current device. Throws InputError if the config is not compiled for the workload.
Residency residency(const workloads::Workload& workload, const KernelConfig& config);
/// The same of the config's kernel for lists of one item, or where it has none of that which runs any plan.
Residency single_item_residency(const workloads::Workload& workload, const KernelConfig& config);

/// What a schedule may know of the device when this config runs its plan: workers as CTAs, one list each.
schedules::Grid grid_of(const Residency& where, const KernelConfig& config);
/// The same for the current device. Throws as residency() does.
schedules::Grid grid_of(const workloads::Workload& workload, const KernelConfig& config);

/// Least row tiles that hold `rows` packed rows, as far as there are kernels whose warps work for themselves (MLA: any
/// kernels); more rows take several row blocks.
std::int32_t row_tiles_for(const workloads::Geometry& geometry, std::int32_t rows);

}  // namespace splitwave::gpu
