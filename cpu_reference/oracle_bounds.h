// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/array.h"
#include "cpu_reference/attention_case.h"
#include "cpu_reference/oracle.h"

namespace splitwave::cpu_reference {

/// How a correct kernel rounds: unit roundoffs, relative unless said.
struct RoundingModel {
  double weights = 0;        ///< of the weights P that V is multiplied with
  double weights_floor = 0;  ///< absolute error of a weight below the normal numbers, relative to the largest weight
  double inputs = 0;         ///< of Q, K and V before they are multiplied (tf32); else 0
  double arithmetic = 0;     ///< of scores, exponentials and sums
  base::ElementType plain = base::ElementType::f32;  ///< what a plain implementation rounds scores and weights to
};

/// The exact result, and how far from it a correct kernel can be. Outputs in the order of Result.
struct BoundedResult {
  Result<double> exact;
  /// Per output element: the most that roundings before the output's own can change, whatever the order of sums and
  /// wherever the context is cut (docs/verify.md derives it).
  std::vector<double> bound;
  /// Per output element: output of a plain implementation, scores and normalised weights rounded to model.plain, sums
  /// in fp32 (f64: double); before its own rounding.
  std::vector<double> plain;
  std::vector<double> lse_bound;  ///< per row: the same for the LSE
  /// Per row: expected squared error, summed over its elements, if each weight were rounded by itself.
  std::vector<double> expected_squared_error;
};

BoundedResult attend_with_bounds(const AttentionCase& attention, const RoundingModel& model);

}  // namespace splitwave::cpu_reference
