// SPDX-License-Identifier: Apache-2.0
// Plans of made-up workloads, each run by one thread: what the tile, items, lists and merges cost, in its caches and
// from memory. Inside the folder only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu_reference/run_plan.h"
#include "schedules/plan.h"
#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::cpu_reference {

/// `requests` requests of one query token and `context` KV tokens, `rows` query heads to each KV head, all of which are
/// seen; kind, dimensions, dtype, KV heads, layout and page size are those of `like`.
workloads::Workload made_up_workload(const workloads::Workload& like, std::int32_t rows, std::int32_t requests,
                                     std::int32_t context);

/// Who has the items of a plan: one list all of them, or each a list of its own.
enum class Lists { one, each };

/// Requests [first_request, end_request) and the first `heads` of their KV heads, an output each.
struct MadeUpOutputs {
  std::int32_t first_request = 0;
  std::int32_t end_request = 0;
  std::int32_t heads = 1;
};

/// The outputs by items of `tokens` tokens, each of which writes its output as if it were alone: many short items over
/// the same K and V as few long ones. `tokens` 0: one empty item an output.
schedules::Plan items_plan(const workloads::Workload& workload, const MadeUpOutputs& outputs, std::int32_t tokens,
                           Lists lists);

/// The outputs cut into `splits` equal parts that are merged; each part is a list.
schedules::Plan split_plan(const workloads::Workload& workload, const MadeUpOutputs& outputs, std::int32_t splits);

/// A workload with tensors of its own, and plans of it that are ready to run on one thread each, again and again.
/// Threads may run different ones at once.
class MadeUpRun {
 public:
  MadeUpRun(workloads::Workload workload, std::vector<schedules::Plan> plans);
  void run(std::size_t plan) { run_plan(workload_, tensors_, plans_[plan], *workspaces_[plan], 1, results_[plan]); }
  const workloads::Tensors& tensors() const { return tensors_; }

 private:
  workloads::Workload workload_;
  workloads::Tensors tensors_;
  std::vector<schedules::Plan> plans_;
  std::vector<WorkspacePtr> workspaces_;  ///< by plan
  std::vector<Result<float>> results_;    ///< by plan
};

}  // namespace splitwave::cpu_reference
