// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cpu_reference/isa.h"
#include "cpu_reference/oracle.h"
#include "schedules/plan.h"
#include "schedules/recording.h"
#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::cpu_reference {

/// Memory that runs of one plan need, kept between runs: partial results and the scratch of each thread.
struct Workspace;
struct WorkspaceDeleter {
  void operator()(Workspace* workspace) const;
};
using WorkspacePtr = std::unique_ptr<Workspace, WorkspaceDeleter>;

/// Workspace for up to `threads` threads. `isa` chooses the kernels; all agree to within rounding.
WorkspacePtr make_workspace(const workloads::Workload& workload, const schedules::Plan& plan, int threads,
                            Isa isa = best_isa());

/// Fills the partial results with NaN, so that one that nobody writes shows.
void poison(Workspace& workspace);

/// Runs a valid plan with `threads` OpenMP threads as CTAs: K and V in the workload's dtype, sums in fp32, each K/V
/// row loaded once for all query rows of the item's tile. Lists that hardware or a queue hands out go in order to
/// whichever thread is free; of a fixed grid, thread t takes lists t, t + threads, and so on. Merges come after all
/// items, in slot order, so that the result is bitwise the same for any number of threads. `result` is resized as
/// needed and every element of it is written. NaN and Inf: as attend() documents for the oracle, except that a dot
/// product beyond the range of fp32 is Inf here. Throws std::logic_error if the workspace is not of this plan or for
/// fewer threads. `recording`, if there is one, becomes the times of this run: lists are its CTAs, threads its SMs, and
/// what a thread merges is one merge.
void run_plan(const workloads::Workload& workload, const workloads::Tensors& tensors, const schedules::Plan& plan,
              Workspace& workspace, int threads, Result<float>& result, schedules::Recording* recording = nullptr);

/// The same with a workspace of its own.
Result<float> run_plan(const workloads::Workload& workload, const workloads::Tensors& tensors,
                       const schedules::Plan& plan, int threads);

}  // namespace splitwave::cpu_reference
