// SPDX-License-Identifier: Apache-2.0
// The error of each output row, and what is summed up of them.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu_reference/kernel_call.h"
#include "cpu_reference/oracle_bounds.h"
#include "cpu_reference/verify.h"

namespace splitwave::cpu_reference {

/// One output row: a query token's query head.
struct RowFigures {
  Coordinates at;  ///< element: the one nearest to its bound or farthest beyond
  std::int64_t counted = 0;
  std::int64_t mismatched = 0;
  std::int64_t over_bound = 0;
  double squared_error = 0;
  double squared_exact = 0;
  double squared_value = 0;
  double product = 0;
  double max_abs = 0;
  double max_relative = 0;
  double worst_bound_ratio = -1;
  double max_plain_error = 0;
  double max_shift_error = 0;   ///< of rounding (exact + 0.3) - 0.3, FlashAttention's floor
  double expected_squared = 0;  ///< squared error that roundings are expected to leave
  double lse_abs = 0;
  double lse_relative = 0;     ///< |error| / max(1, |exact|)
  double lse_bound_ratio = 0;  ///< inf where finite and not finite meet
};

struct RowsOfCall {
  std::vector<RowFigures> rows;  ///< in the order of Result
  UlpHistogram ulps;
};

/// Compares every row with the exact result.
RowsOfCall compare_rows(const JudgedCall& call, const BoundedResult& bounded);

/// The figures of all rows, of one head, or of one request, in the order of the rows.
ErrorFigures total(const std::vector<RowFigures>& rows);
std::vector<GroupFigures> by_group(const std::vector<RowFigures>& rows, std::int32_t groups,
                                   std::int32_t Coordinates::*member);

/// The bound of an element, the output's own rounding included.
double element_bound(const JudgedCall& call, const BoundedResult& bounded, std::int64_t index);

}  // namespace splitwave::cpu_reference
