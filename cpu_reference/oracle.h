// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cpu_reference/attention_case.h"
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

/// Exact attention in double: two passes over the scores, compensated sums, error below 4e-15. It never sees a plan and
/// shares no arithmetic with run_plan, so that it can judge every executor. A score of -inf has weight 0; a NaN or +inf
/// score makes its row NaN (output and LSE); NaN and inf in V follow IEEE arithmetic. They reach exactly the rows that
/// see the token. The result is bitwise the same for any number of OpenMP threads. The workload must be valid and its
/// dtype f16, bf16 or f32.
Result<double> attend(const workloads::Workload& workload, const workloads::Tensors& tensors);

/// The same for tensors that lie anywhere, of any floating-point type. A mask is added to the scaled scores.
Result<double> attend(const AttentionCase& attention);

}  // namespace splitwave::cpu_reference
