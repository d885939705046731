// SPDX-License-Identifier: Apache-2.0
// Which keys a kernel can take in boxes (kernels/box_loader.cuh), and their map. Private to gpu/.
#pragma once

#include <cstdint>
#include <optional>

#include "gpu/addressing.h"
#include "gpu/kernels/key_map.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// K as the rows of one matrix, a token each.
struct KeyRows {
  std::int64_t count = 0;  ///< rows that may be read; 0: K is no such matrix, or its boxes are not the plan's tiles
  std::int64_t bytes = 0;  ///< from a row to the next
  std::int32_t elements = 0;
  workloads::Dtype dtype = workloads::Dtype::f16;
};

/// The rows of K if all tiles of 64 tokens of the plan's items lie in boxes. There is one KV head. If K is paged, pages
/// hold whole boxes and lie without gaps, and all items begin at a multiple of 64. If it is
/// contiguous, requests begin at multiples of a row, and their lengths are those of all launches: not if others are to
/// replay it.
KeyRows key_rows(const workloads::Workload& workload, const KvAddressing& addressing, const schedules::Plan& plan,
                 bool replayable);

/// Their map. None without rows, or if the driver has no such maps or refuses this one.
std::optional<KeyMap> map_keys(const void* k, const KeyRows& rows);

}  // namespace splitwave::gpu
