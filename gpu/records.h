// SPDX-License-Identifier: Apache-2.0
// What the records of a launch mean (kernels/recorder.cuh writes them). Host code without CUDA. Private to gpu/.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/kernels/params.h"
#include "schedules/recording.h"

namespace splitwave::gpu {

struct ItemPlace {
  std::int64_t item = 0;
  std::int64_t place = 0;
};

/// How much a launch records, and where: TimelineArrays' parts, one behind the other.
struct RecorderShape {
  std::int64_t ctas = 0;           ///< of the decode kernel's grid, or their warps if these have lists
  std::int64_t items = 0;          ///< of the table
  std::int64_t slots = 0;          ///< of partial results
  std::int64_t ctas_per_item = 1;  ///< row blocks times CTAs of a cluster
  bool merge_kernel = false;       ///< merges are CTAs of a grid of their own
  std::vector<ItemPlace> places;   ///< where the plan's items, or their pieces, stand in the table

  std::int64_t first_item() const { return ctas; }
  std::int64_t first_merge() const { return ctas + items * ctas_per_item; }
  std::int64_t size() const { return first_merge() + slots * ctas_per_item; }
};

/// What was written, items in the plan's order, then merges.
schedules::Recording recording_of(const RecorderShape& shape, std::span<const TimelineRecord> records);

}  // namespace splitwave::gpu
