// SPDX-License-Identifier: Apache-2.0
// A plan in the form that the kernels read. Host code without CUDA.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gpu/addressing.h"
#include "gpu/kernels/params.h"
#include "gpu/warp_lists.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// Most that a 16-bit field of DeviceItem holds.
inline constexpr std::int64_t kMost16 = 65535;

/// Warps of the merge kernel that share a fragment's parts (kPartsPerMergeWarp), at most.
inline constexpr std::int32_t kMostMergeWarps = 8;

/// log2 of the warps that share a fragment of an output in so many parts. It depends on these alone, so that an
/// output's bits do not depend on what else is in the batch.
std::int32_t merge_warps_shift(std::int32_t parts);

/// What a plan needs of a table. Counts.
struct PlanSize {
  std::int64_t merges = 0;
  std::int64_t slots = 0;
  std::int32_t lists = 0;
  std::int32_t most_rows = 0;  ///< of an output tile
};
PlanSize size_of(const schedules::Plan& plan);

/// Turns plans into tables of items. Keeps its scratch memory from call to call, so that planning the next decode step
/// allocates nothing.
class Encoder {
 public:
  /// Writes the plan's items to `items`, in TableOrder's places (those without an entry get items that do nothing), and
  /// its merges to `merges`; what is empty of the two is left out. Returns the number of items written.
  /// most_warps_shift: log2 of the warps that a fragment has in the merge kernel. Throws InputError if a number does
  /// not fit the table's fields: 65,535 rows or parts of an output, 64 GiB of K.
  std::int64_t encode(const workloads::Workload& workload, const KvAddressing& addressing, const schedules::Plan& plan,
                      const ListShape& shape, std::int32_t spare_lists, std::int32_t most_warps_shift,
                      std::span<DeviceItem> items, std::span<DeviceMerge> merges);

 private:
  void encode_outputs(const workloads::Workload& workload, const KvAddressing& addressing, const schedules::Plan& plan);
  void encode_merges(const schedules::Plan& plan, std::int32_t most_warps_shift, std::span<DeviceMerge> merges) const;

  TableOrder order_;
  std::vector<DeviceItem> outputs_;  ///< per output tile: what all its items have in common
  std::vector<std::int32_t> first_query_;
  std::vector<std::int32_t> closing_parts_;  ///< of a plan whose CTAs wait
};

/// The plan as arithmetic, if each of its lists is what UniformPlan computes for it, but for empty ones behind the
/// others (a FlashMLA plan fills the device's SMs as far as it has tiles). Nothing also if a number does not fit the
/// fields of an item.
std::optional<UniformPlan> as_uniform(const workloads::Workload& workload, const KvAddressing& addressing,
                                      const schedules::Plan& plan);

}  // namespace splitwave::gpu
