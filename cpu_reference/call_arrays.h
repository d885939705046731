// SPDX-License-Identifier: Apache-2.0
// The checks of single arrays that a call's check is made of. `name` says in errors which array it is.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/array.h"
#include "cpu_reference/verify.h"

namespace splitwave::cpu_reference {

inline constexpr std::int64_t kLargestExtent = std::numeric_limits<std::int32_t>::max();

/// Throws InputError "NAME: FOUND; allowed: ALLOWED".
[[noreturn]] void refuse_array(const std::string& name, const std::string& found, const std::string& allowed);

void require_floats(const std::string& name, const base::ArrayView& view);

/// Rows of floating-point elements: 3 or 4 axes (or `four_only`), the last one dense.
void require_rows(const std::string& name, const base::ArrayView& view, bool four_only);

/// Extents and strides of an array of rows, whatever the order of its axes.
struct Axes {
  std::int64_t outer = 1;  ///< requests or pages; 1 where there is no such axis
  std::int64_t tokens = 0;
  std::int64_t heads = 0;
  std::int64_t elements = 0;
  std::int64_t outer_stride = 0;
  std::int64_t token_stride = 0;
  std::int64_t head_stride = 0;
  bool has_outer = false;
};
Axes axes_of(const base::ArrayView& view, AxisOrder order);

/// The elements of an integer array of `rank` axes, in C order.
std::vector<std::int64_t> integers_of(const std::string& name, const base::ArrayView& view, std::size_t rank);

/// Cumulative lengths: from 0, never falling, up to `tokens` (any number where that is negative).
std::vector<std::int64_t> cumulative_lengths(const std::string& name, const base::ArrayView& view, std::int64_t tokens);

}  // namespace splitwave::cpu_reference
