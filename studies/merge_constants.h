// SPDX-License-Identifier: Apache-2.0
// What merges cost, by the probes of outputs in several parts.
#pragma once

#include "studies/constant_list.h"
#include "studies/kernel_constants.h"
#include "studies/probe_times.h"

namespace splitwave::studies {

/// Adds the constants of the config's merges. merging: the config whose probes say what they cost, which does not
/// depend on masks. shared_turns: parts times turns from which on CTAs that wait share a merge.
void add_merge_constants(const ProbedConfig& probed, const ProbedConfig& merging, const ProbeBase& base,
                         double shared_turns, ConstantList& list);

/// The same of a kernel that holds its items: of the sizes of clusters that take outputs in parts. Nothing of points
/// without such probes.
void add_part_merges(const ProbedConfig& probed, const ProbeTimes& times, const ProbeBase& base, ConstantList& list);

}  // namespace splitwave::studies
