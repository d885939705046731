// SPDX-License-Identifier: Apache-2.0
// Kernels that are compiled in many configs, any of which can run a plan.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedules/plan.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "workloads/workload.h"

namespace splitwave::simulator {

inline constexpr std::int32_t kAnyRows = 0;

/// The compiled configs of the family that can serve the workload on the machine, each with every size of cluster:
/// those of the least rows that hold `rows` packed rows (if none does, of the most; kAnyRows: all), masked ones exactly
/// where rows of a tile may see different ranges. None if the family has no configs for the geometry.
std::vector<KernelProfile> alternatives(const KernelFamily& family, const workloads::Workload& workload,
                                        const Machine& machine, std::int32_t rows);

/// The configs that read pairs of KV heads as one, if the workload has such and they hold its rows: the rings' kernels
/// for lists of one item of twice the dims, whose code and costs they have.
std::vector<KernelProfile> pair_alternatives(const KernelFamily& family, const workloads::Workload& workload,
                                             const Machine& machine);

/// The kernel of the config that runs the plan: where each list is one item of single queries, the config may have a
/// shorter one. Nothing if none of the config's kernels can run it: a queue cannot hold tiles of more rows than a CTA
/// takes, nor more lists than workers if these are clusters, and CTAs that wait for one another are all `resident`
/// (workers at a time). Kernels without configs run any plan as they are.
std::optional<KernelProfile> as_run(const KernelProfile& kernel, const workloads::Workload& workload,
                                    const schedules::Plan& plan, std::int64_t resident);

/// Plans that a config has kernels of their own for: any; those whose lists are one item of a single query each; those
/// whose CTAs wait and merge.
enum class Lists { any, single_items, waiting };

/// The config's kernel with the costs that it has for the workload and such plans; but for those of masks, which depend
/// on the plan.
KernelProfile with_costs_of(const KernelProfile& kernel, const workloads::Workload& workload, Lists lists);

/// Whether lists have one item each, with all query heads of a KV head and a single query, and no CTA waits for others:
/// what single-item kernels run. any_heads: an item may have some of the heads, or more rows than a CTA takes, and CTAs
/// may wait.
bool one_item_per_list(const workloads::Workload& workload, const schedules::Plan& plan, bool any_heads = false);

/// Whether a kernel that holds its items takes such: of a latent cache, as those with rings do.
inline bool takes_any_heads(const KernelProfile& kernel) {
  return kernel.most_tokens > 0 && kernel.shares_tiles;
}

/// Whether the config's kernel for lists of one item takes outputs in parts: of those that hold their items only larger
/// clusters do.
inline bool takes_parts(const KernelProfile& kernel) {
  return kernel.most_tokens == 0 || kernel.single_item_merge_seconds >= 0;
}

/// Who merges these, of a kernel that holds its items: of a latent cache CTAs that wait.
inline schedules::MergeKind merge_of_parts(const KernelProfile& kernel) {
  return takes_any_heads(kernel) ? schedules::MergeKind::host_cta : schedules::MergeKind::last_arriver;
}

/// Rows of the tallest output tile.
std::int32_t most_rows(const schedules::Plan& plan);

/// A plan whose output tiles are cut into blocks of rows.
struct RowBlocks {
  schedules::Plan plan;
  std::vector<std::int32_t> item;  ///< of the plan before, for each item
};

/// The plan as CTAs of at most `rows` rows run it: an output tile of more rows becomes several, and each list as many
/// side by side.
RowBlocks in_row_blocks(const schedules::Plan& plan, std::int32_t rows);

}  // namespace splitwave::simulator
