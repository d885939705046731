// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "cpu_reference/oracle.h"
#include "workloads/workload.h"

namespace splitwave::cpu_reference {

/// Distance of an executor's result from the oracle's. Elements that are not finite (output and LSE) must agree in
/// kind and place; those that do not are counted in `mismatched_non_finite`, and all of them stay out of the norms.
struct Errors {
  double relative_l2 = 0;  ///< ||out - exact|| / ||exact|| over all output elements; 0 if both are 0
  /// Largest ||out - exact|| / ||exact|| of one output row (one head of one query token). This one is judged: over a
  /// whole batch a long context's small outputs vanish behind a short one's, whatever is wrong with them.
  double worst_row_relative_l2 = 0;
  double rmse = 0;
  double max_abs = 0;
  double lse_max_abs = 0;       ///< absolute error of the natural-log LSE
  double lse_max_relative = 0;  ///< |error| / max(1, |exact LSE|)
  std::int64_t mismatched_non_finite = 0;
};

/// Compares two results of the same batch, the first in float or double; throws std::logic_error if their shapes
/// differ.
template <typename Real>
Errors compare(const Result<Real>& result, const Result<double>& exact);

/// The most error that is accepted for a dtype: the one place where tolerances live (docs/cpu_reference.md derives
/// them).
struct Tolerance {
  double relative_l2 = 0;   ///< of every single output row
  double lse_relative = 0;  ///< of every LSE, relative to max(1, |LSE|)
};
/// For executors that compute in fp32 on inputs of that dtype and round to it. Throws std::logic_error for fp8.
Tolerance tolerance(workloads::Dtype dtype);

/// The same for algorithms that compute in double, on inputs of any dtype: a weight e^x is good to |x| 2^-52, which for
/// scores of 10^6 is 2e-10.
Tolerance double_tolerance();

/// True if the errors are within tolerance and no non-finite value is out of place.
bool acceptable(const Errors& errors, const Tolerance& limit);

}  // namespace splitwave::cpu_reference
