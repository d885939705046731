// SPDX-License-Identifier: Apache-2.0
// Random workloads to judge predictions on: what no choice has looked at, as long as the seed is new.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/workload.h"

namespace splitwave::accuracy {

enum class Drawn { uniform, ragged, latent };

/// `count` workloads, the same on every machine: 1 to 32 KV heads, groups of 1 to 128 (128 query heads at most), head
/// dims 64, 128 and 256, batches of 1 to 512, contexts of 16 to 200,000 tokens (uniform in the logarithm), every fourth
/// with 2 to 8 query tokens, half of them paged by 16 or 64 tokens; at most 2 GB of K and V. ragged: lengths of a batch
/// drawn one by one. latent: multi-head latent attention (keys of 576 elements, values of 512), 8 to 128 query heads,
/// batches of 1 to 256, contexts from 128 tokens on, 2 to 4 query tokens, every second batch ragged.
std::vector<workloads::Workload> draw_workloads(std::int32_t count, std::uint32_t seed, Drawn kind);

}  // namespace splitwave::accuracy
