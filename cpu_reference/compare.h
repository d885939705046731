// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cpu_reference/oracle.h"
#include "workloads/workload.h"

namespace splitwave::cpu_reference {

/// Distance of an executor's result from the oracle's, over all output elements. Non-finite elements must agree in
/// kind and place; they are counted in `mismatched_non_finite` and left out of the norms.
struct Errors {
  double relative_l2 = 0;  ///< ||out - exact|| / ||exact||
  double rmse = 0;
  double max_abs = 0;
  double lse_max_abs = 0;  ///< absolute error of the natural-log LSE
  std::int64_t mismatched_non_finite = 0;
};

Errors compare(const Result<float>& result, const Result<double>& exact);

/// The most error that is accepted for a dtype: the one place where tolerances live.
struct Tolerance {
  double relative_l2 = 0;
  double lse_max_abs = 0;
};
Tolerance tolerance(workloads::Dtype dtype);

/// True if the errors are within tolerance and no non-finite value is out of place.
bool acceptable(const Errors& errors, const Tolerance& limit);

}  // namespace splitwave::cpu_reference
