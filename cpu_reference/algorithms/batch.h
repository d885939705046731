// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cpu_reference/algorithms/algorithms.h"
#include "cpu_reference/oracle.h"
#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::cpu_reference::algorithms {

/// What came of a workload by one algorithm.
struct BatchResult {
  Result<double> result;
  Traffic bytes;                ///< by the algorithm's IO model, which the counted loads and stores must agree with
  std::vector<double> seconds;  ///< per sample: time in the algorithm, of all heads one after another
};

/// Runs the algorithm `samples` times for each head of each request. A head is the rows of all query heads of one KV
/// head (GQA) and of all query tokens that see the same tokens: the papers' pseudocode has no mask, so query tokens
/// that a causal mask or a window lets see different tokens are heads of their own, and each loads its tokens itself.
/// Rows that see nothing get output 0 and LSE -inf, and move nothing. Elements have the size of the workload's dtype in
/// memory. The workload must be valid, its dtype f16, bf16 or f32, its values finite, and `samples` positive.
BatchResult attend_by(const Call& call, const workloads::Workload& workload, const workloads::Tensors& tensors,
                      int samples);

}  // namespace splitwave::cpu_reference::algorithms
