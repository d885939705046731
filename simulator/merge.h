// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedules/plan.h"
#include "simulator/engine.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "workloads/workload.h"

namespace splitwave::simulator {

/// What merging adds after the last item's result is there.
struct MergeCost {
  double seconds = 0;             ///< added to the time of the plan
  double merge_slot_seconds = 0;  ///< slots that merge
  double wait_slot_seconds = 0;   ///< slots of hosts that wait for their peers
};

/// Whether one of an output's CTAs waits for the others and merges it (MergeKind::host_cta), keeping its own partial to
/// itself where it merges alone. Not where clusters hold the parts: all of them merge then.
bool hosts_merge(const schedules::Plan& plan, const KernelProfile& kernel);

/// What it takes to combine so many partials of `fragments` (at most kernel.merge_fragments) inside the kernel once
/// they are there, with `more_per_split` for each. mergers: 0 for a last arriver, else CTAs that wait and may share the
/// merge: they have fewer of the fragments each then, and of many partials several warps share each fragment.
double in_kernel_seconds(const KernelProfile& kernel, double splits, std::int32_t mergers, std::int32_t fragments,
                         double more_per_split = 0);

/// Fragments that a CTA's warps merge of an output of so many rows: `merge_fragments`, but that kernels whose warps
/// share tiles leave out row tiles without rows. The CTAs of a cluster have some each, of which the first has most with
/// rows.
std::int32_t fragments_with_rows(const KernelProfile& kernel, std::int32_t rows);

/// Turns in which a CTA's warps merge so many fragments of an output, one each at a time; at least 1.
std::int32_t merge_turns(const KernelProfile& kernel, std::int32_t fragments);

/// Of an output's splits those that one warp of a merge kernel combines, one behind the other.
std::int32_t splits_per_warp(const KernelProfile& kernel, std::int32_t splits);

/// Seconds of the launch beside the plan's own: a kernel that merges, or one that resets its queue or its flags. 0 if
/// there is none.
double separate_merge_seconds(const workloads::Workload& workload, const schedules::Plan& plan, const Machine& machine,
                              const KernelProfile& kernel);

/// Cost of the plan's merges, for its kind of merge. In-kernel merges need `result`.item_end. With `spans`, merges are
/// added to result.spans.
MergeCost merge_cost(const workloads::Workload& workload, const schedules::Plan& plan, const Machine& machine,
                     const KernelProfile& kernel, std::int32_t slots, EngineResult& result, bool spans);

}  // namespace splitwave::simulator
