// SPDX-License-Identifier: Apache-2.0
// Random workloads to judge predictions on: what no choice has looked at, as long as the seed is new.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/workload.h"

namespace splitwave::accuracy {

/// `count` workloads, the same on every machine: 1 to 32 KV heads, groups of 1 to 128 (128 query heads at most), head
/// dims 64, 128 and 256, batches of 1 to 512, contexts of 16 to 200,000 tokens (uniform in the logarithm), every fourth
/// with 2 to 8 query tokens, half of them paged by 16 or 64 tokens; at most 2 GB of K and V. ragged: lengths of a batch
/// drawn one by one.
std::vector<workloads::Workload> draw_workloads(std::int32_t count, std::uint32_t seed, bool ragged);

}  // namespace splitwave::accuracy
