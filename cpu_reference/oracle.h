// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::cpu_reference {

/// Output and LSE of a batch. output: [query token of the batch][query head][value_dim]; lse (natural log):
/// [query token of the batch][query head]. A row that sees nothing has output 0 and LSE -inf.
template <typename Real>
struct Result {
  std::vector<Real> output;
  std::vector<Real> lse;
};

/// Exact attention in double: two passes over the scores, compensated sums. It never sees a plan and shares no
/// arithmetic with run_plan, so that it can judge every executor. NaN and Inf reach exactly the rows that read them.
Result<double> attend(const workloads::Workload& workload, const workloads::Tensors& tensors);

}  // namespace splitwave::cpu_reference
