// SPDX-License-Identifier: Apache-2.0
// One row of Q, K or V as it is stored. Inside the folder only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "workloads/workload.h"

namespace splitwave::workloads {

/// Writes elements [0, count) of the row with this key (row_key of tensor_values.h), rounded to `dtype`.
void write_row(std::uint64_t key, std::int32_t count, Distribution distribution, Dtype dtype, std::byte* out);

}  // namespace splitwave::workloads
