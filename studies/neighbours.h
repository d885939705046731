// SPDX-License-Identifier: Apache-2.0
// The requests of a workload among other neighbours: batches in which a request should get the bits that it gets alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// A batch of requests of a workload and of strangers.
struct NeighbourBatch {
  std::string name;  ///< "reversed", "alone: request 3"
  workloads::Workload workload;
  /// Per request of `workload`: which one of the given workload it is; kStranger: none, with tensors of its own.
  std::vector<std::int32_t> original;
  /// Too large to run for this question: only its plan is looked at.
  bool plan_only = false;
};
inline constexpr std::int32_t kStranger = -1;

/// Each request of the workload in a batch of its own, in order.
std::vector<NeighbourBatch> alone(const workloads::Workload& workload);

/// Batches of the workload's requests that differ in all that a neighbour can: as given, in another order, in smaller
/// and larger batches, beside longer and shorter strangers, beside strangers' tensors. The largest that is to be run
/// holds four times the workload's tokens, or 32,768 where that is more; the largest plan is of 512 requests or 2^22
/// tokens.
std::vector<NeighbourBatch> among_others(const workloads::Workload& workload);

/// The batch's tensors: of its original requests those that `tensors`, the given workload's, has for them, wherever
/// they lie now; of strangers others. Throws InputError as make_tensors does.
workloads::Tensors tensors_of(const NeighbourBatch& batch, const workloads::Workload& given,
                              const workloads::Tensors& tensors, std::int64_t memory_limit_bytes);

}  // namespace splitwave::studies
