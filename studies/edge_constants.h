// SPDX-License-Identifier: Apache-2.0
// What the edges of masks cost, by the probes of items whose rows are of several queries.
#pragma once

#include "studies/constant_list.h"
#include "studies/kernel_constants.h"
#include "studies/probe_times.h"

namespace splitwave::studies {

/// Adds what it costs that rows of a masked config see different tokens: of two queries, of each further one, and, of
/// points with probes of full SMs, what an SM takes for that of each chunk.
void add_edge_constants(const ProbedConfig& probed, const ProbeTimes& times, ConstantList& list);

}  // namespace splitwave::studies
