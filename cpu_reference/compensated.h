// SPDX-License-Identifier: Apache-2.0
// Sums in double whose rounding errors are kept and added at the end. Files that include this are compiled with
// -ffp-contract=off and without -ffast-math.
#pragma once

#include <cmath>

namespace splitwave::cpu_reference {

/// Adds `term` to `sum` and the rounding error of that addition, which is exact, to `error` (Knuth's TwoSum; the
/// running error is Neumaier's variant of Kahan's summation, without his branch).
inline void add_compensated(double& sum, double& error, double term) {
  const double next = sum + term;
  const double added = next - sum;
  error += (sum - (next - added)) + (term - added);
  sum = next;
}

/// An unevaluated sum high + low, |low| at most half a unit in the last place of high: about 106 bits.
struct DoublePair {
  double high = 0;
  double low = 0;
};

/// The value of a sum and its error. An infinite or NaN sum is its own value (its error term means nothing).
inline DoublePair to_pair(double sum, double error) {
  if (!std::isfinite(sum)) return {sum, 0};
  const double high = sum + error;
  return {high, error - (high - sum)};
}

}  // namespace splitwave::cpu_reference
