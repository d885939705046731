// SPDX-License-Identifier: Apache-2.0
// What "auto" chooses from where a kernel is compiled in many configs: schedules and the configs that run them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/kernel.h"
#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// A schedule on a config of its kernel.
struct Candidate {
  std::string schedule;
  const simulator::KernelProfile* kernel = nullptr;  ///< one of those that were given to candidates()
  double least_seconds = 0;                          ///< no plan of it is predicted to take less
  std::int32_t tile_kv = 0;                          ///< of its plans; 0: the schedule's own rule
};

/// KV tokens per tile of the candidates' plans: a multiple of every config's stage.
inline constexpr std::int32_t kCandidateTileTokens = 64;

/// Schedules worth considering with each of the kernels, those of the least bound first: of uniform batches even
/// splits, of ragged ones LeanAttention's cut, pieces of fixed size and FlashAttention-3's and FlashInfer's rules, of
/// several queries also even splits of each query head, all merged by the last arriver.
std::vector<Candidate> candidates(const workloads::Workload& workload, const simulator::Machine& machine,
                                  const std::vector<simulator::KernelProfile>& kernels);

}  // namespace splitwave::studies
