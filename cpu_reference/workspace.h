// SPDX-License-Identifier: Apache-2.0
// The memory of run_plan. Inside the folder only.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cpu_reference/kernels/tile_kernels.h"
#include "cpu_reference/kv_rows.h"
#include "cpu_reference/run_plan.h"

namespace splitwave::cpu_reference {

/// Floats from a cache line's start on: vectors that straddle two lines cost twice.
class AlignedFloats {
 public:
  explicit AlignedFloats(std::int64_t count = 0) : lines_(static_cast<std::size_t>((count + 15) / 16)) {}
  float* data() { return lines_.empty() ? nullptr : lines_.front().data(); }

 private:
  struct alignas(64) Line : std::array<float, 16> {};
  std::vector<Line> lines_;
};

/// Dimensions as the kernels take them: padded with zeros to a multiple of kPadElements.
struct PaddedDims {
  std::int32_t head_dim = 0;
  std::int32_t value_dim = 0;
};

/// State of rows in the making: one per row of an item, and one per row and slot of a split output.
struct RowStates {
  RowStates(std::int64_t rows, std::int32_t value_dim)
      : max(static_cast<std::size_t>(rows)), weight(static_cast<std::size_t>(rows)), sums(rows * value_dim) {}
  std::vector<float> max;
  std::vector<float> weight;
  AlignedFloats sums;  ///< [row][padded value_dim]
};

/// What one thread works in.
struct ThreadScratch {
  ThreadScratch(std::int32_t rows, std::int32_t queries, const PaddedDims& dims, std::int64_t padded_row_bytes);
  std::vector<const std::byte*> q_rows;  ///< per row of the item
  AlignedFloats q;                       ///< rows [packed_first, packed_first + packed_count), packed
  std::int32_t packed_first = 0;
  std::int32_t packed_count = 0;
  RowStates states;
  std::vector<workloads::KvRange> visible;  ///< per query of the item
  std::array<KvRows, 2> rows;               ///< of the block in work and of the next one
  KvRows padded_rows;                       ///< copies of rows whose dimensions are padded
  AlignedFloats padded_k;
  AlignedFloats padded_v;
};

/// One row of a merge: the unit of work of the second phase.
struct MergeRow {
  std::int32_t merge = 0;
  std::int32_t row = 0;
};

struct Workspace {
  Workspace(const workloads::Workload& workload, const schedules::Plan& plan, int threads, Isa isa);
  TileKernel kernel;
  PaddedDims dims;
  std::vector<std::int64_t> slot_row;  ///< first row of each slot in `partials`, and the end
  RowStates partials;
  std::vector<MergeRow> merge_rows;
  std::vector<ThreadScratch> threads;
};

}  // namespace splitwave::cpu_reference
