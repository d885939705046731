// SPDX-License-Identifier: Apache-2.0
// What "auto" chooses from where a kernel is compiled in many configs: schedules and the configs that run them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/kernel.h"
#include "studies/candidate_bounds.h"
#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// A schedule on a config of its kernel.
struct Candidate {
  std::string schedule;
  const simulator::KernelProfile* kernel = nullptr;  ///< one of those that were given to candidates()
  Bound seconds;                                     ///< of its plans
  std::int32_t tile_kv = 0;                          ///< of its plans; 0: the schedule's own rule
};

/// Schedules worth considering with each of the kernels, those that are expected to be the fastest first: of uniform
/// batches even splits, of many rows also FlashInfer's rule and of many short contexts its holistic one, of ragged ones
/// LeanAttention's cut, pieces of fixed size and FlashAttention-3's and FlashInfer's rules, of several queries also
/// even splits of each query head, merged by whoever is expected to do so soonest.
std::vector<Candidate> candidates(const workloads::Workload& workload, const simulator::Machine& machine,
                                  const std::vector<simulator::KernelProfile>& kernels,
                                  const simulator::SimulateOptions& options = {});

}  // namespace splitwave::studies
