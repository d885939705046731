// SPDX-License-Identifier: Apache-2.0
// The shapes that kernels are timed on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/workload.h"

namespace splitwave::testing {

/// Workloads of a CSV file: id, batch, query heads, KV heads, head dim, value dim, context length (one for all, or one
/// per request joined by ';'). Lines that begin with '#' are comments. Throws InputError naming file and line.
std::vector<workloads::Workload> read_shapes(const std::string& path);

/// The same table of contiguous workloads: read_shapes() gives their geometries and lengths again.
std::string shapes_csv(const std::vector<workloads::Workload>& workloads);

/// `count` shapes drawn by `seed`: groups 1 to 16, KV heads 1 to 40, head dims 64, 128 and 256, batches 1 to 256,
/// contexts 16 to 200,000, uniform and ragged, K and V of at most `most_bytes`. Throws InputError where hardly any
/// shape is so small.
std::vector<workloads::Workload> random_shapes(std::int32_t count, std::uint32_t seed, std::int64_t most_bytes);

}  // namespace splitwave::testing
