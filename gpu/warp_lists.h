// SPDX-License-Identifier: Apache-2.0
// Where a plan's items stand in the table that the kernels read. Host code without CUDA.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/kernel_config.h"
#include "schedules/plan.h"

namespace splitwave::gpu {

/// Into how many lists a kernel cuts each list of a plan, and where: Team::alone gives each warp a list of its own.
struct ListShape {
  std::int32_t warps = 1;    ///< lists for one of the plan
  std::int32_t tokens = 16;  ///< cuts are so many tokens, or a multiple, behind an item's begin
};
ListShape list_shape(const KernelConfig& config);

/// What one place of the table holds: an item of the plan or, if warps share it, a piece of one.
struct TableEntry {
  std::int64_t item = 0;   ///< of the plan
  std::int32_t at = 0;     ///< place in the table
  std::int32_t next = -1;  ///< place of the next one in the list
  std::int32_t kv_begin = 0;
  std::int32_t kv_end = 0;
  std::int32_t piece = 0;  ///< of consecutive warps
  std::int32_t pieces = 1;
};

/// Places that a plan needs at most: of each list as many as it has items, at least one, and one less than it has
/// warps.
std::int64_t table_size(const schedules::Plan& plan, const ListShape& shape);

/// Finds the places of a plan's items. Keeps its memory from call to call.
class TableOrder {
 public:
  /// All entries, in the order of the plan. The first ones of the lists come first, warp by warp of list by list, with
  /// room for `spare_lists` lists if these are more; the others follow. Lists, or warps, without items have no entry.
  const std::vector<TableEntry>& order(const schedules::Plan& plan, const ListShape& shape, std::int32_t spare_lists);

  /// Places that the last order() takes, those without entries among the first ones included.
  std::int32_t places() const { return places_; }

 private:
  void add_list(const schedules::Plan& plan, std::int32_t list);
  void cut_list(const schedules::Plan& plan, const ListShape& shape, std::int32_t list);
  void add(const TableEntry& entry, std::int32_t first, bool begins);

  std::vector<TableEntry> entries_;
  std::int32_t places_ = 0;
};

}  // namespace splitwave::gpu
