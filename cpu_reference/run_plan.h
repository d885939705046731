// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cpu_reference/oracle.h"
#include "schedules/plan.h"
#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::cpu_reference {

/// Memory that a run of a plan needs, kept between runs: partial results and scratch of each thread.
struct Workspace;
struct WorkspaceDeleter {
  void operator()(Workspace* workspace) const;
};
using WorkspacePtr = std::unique_ptr<Workspace, WorkspaceDeleter>;
WorkspacePtr make_workspace(const workloads::Workload& workload, const schedules::Plan& plan, int threads);

/// Runs a valid plan with `threads` OpenMP threads as CTAs: K and V in the workload's dtype, sums in fp32, each K/V
/// row loaded once for all query rows of the item's tile, partials merged in slot order (the result is bitwise the same
/// for any number of threads). `result` is resized as needed; every element of it is written.
void run_plan(const workloads::Workload& workload, const workloads::Tensors& tensors, const schedules::Plan& plan,
              Workspace& workspace, int threads, Result<float>& result);

/// The same with a workspace of its own.
Result<float> run_plan(const workloads::Workload& workload, const workloads::Tensors& tensors,
                       const schedules::Plan& plan, int threads);

}  // namespace splitwave::cpu_reference
