// SPDX-License-Identifier: Apache-2.0
// Workloads and plans of the kernels' probes (gpu/kernel_probes.h).
#pragma once

#include <cstdint>

#include "gpu/kernel_probes.h"
#include "schedules/plan.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// Workload that the probes of a config of `rows` rows run on: `items` requests of `tokens` tokens, one KV head.
workloads::Workload probe_workload(std::int32_t head_dim, std::int32_t rows, bool paged, bool masked,
                                   std::int32_t items, std::int32_t tokens);

/// For `ctas` CTAs, with all rows of the config in a tile, cut anywhere that a round ends.
schedules::Grid probe_grid(const KernelConfig& config, std::int32_t ctas);

/// As many requests in each of `lists` lists, the rows of a request together.
schedules::Plan even_lists(const workloads::Workload& workload, const KernelConfig& config, std::int32_t lists);

/// A list for each request.
schedules::Plan lists_of_one(const workloads::Workload& workload, const KernelConfig& config);

/// Each request in so many parts, merged as the kind of probe says.
schedules::Plan split_plan(const workloads::Workload& workload, const KernelConfig& config, std::int32_t parts,
                           ProbeKind kind);

/// What a probe launches.
struct ProbeRun {
  workloads::Workload workload;
  schedules::Plan plan;
};

/// Of full SMs with so many workers: a list of an item of `probe.count` tokens for each. Of `probe` the config, the
/// head dimension, masks and pages count besides.
ProbeRun full_sms_run(const KernelProbe& probe, std::int32_t workers);

/// Of full SMs with so many workers, with masks: for each a list of kEdgeItems items, whose rows are of `probe.count`
/// queries. With as many queries as rows they hide part of the last kEdgeChunks chunks.
ProbeRun full_queries_run(const KernelProbe& probe, std::int32_t workers);

}  // namespace splitwave::gpu
