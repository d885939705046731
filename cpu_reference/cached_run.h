// SPDX-License-Identifier: Apache-2.0
// Small plans of made-up workloads, run by one thread in its caches: what the tile, items and merges cost there. Inside
// the folder only.
#pragma once

#include <cstdint>

#include "cpu_reference/run_plan.h"
#include "schedules/plan.h"
#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::cpu_reference {

/// `requests` requests of one query token and `context` KV tokens, one KV head that `rows` query heads share; kind,
/// dimensions and dtype are the geometry's.
workloads::Workload cached_workload(const workloads::Geometry& like, std::int32_t rows, std::int32_t requests,
                                    std::int32_t context);

/// A workload with tensors of its own and the plan with one output per request, each cut into `splits` equal parts;
/// ready to run on one thread again and again.
class CachedRun {
 public:
  CachedRun(workloads::Workload workload, std::int32_t splits);
  void operator()() { run_plan(workload_, tensors_, plan_, *workspace_, 1, result_); }

 private:
  workloads::Workload workload_;
  workloads::Tensors tensors_;
  schedules::Plan plan_;
  WorkspacePtr workspace_;
  Result<float> result_;
};

}  // namespace splitwave::cpu_reference
