// SPDX-License-Identifier: Apache-2.0
#include "gpu/probe_runs.h"

#include <fmt/format.h>

#include "schedules/schedules.h"

namespace splitwave::gpu {

using schedules::Plan;
using workloads::Workload;

Workload probe_workload(std::int32_t head_dim, std::int32_t rows, bool paged, bool masked, std::int32_t items,
                        std::int32_t tokens) {
  Workload w;
  w.name = fmt::format("probe-{}x{}", items, tokens);
  const std::int32_t queries = masked ? 2 : 1;
  w.geometry.query_heads = rows / queries;
  w.geometry.kv_heads = 1;
  const bool latent = head_dim == kLatentDim;
  w.geometry.head_dim = head_dim;
  w.geometry.value_dim = latent ? 512 : head_dim;
  w.geometry.kind = latent ? workloads::AttentionKind::mla : workloads::AttentionKind::mqa;
  w.geometry.causal = masked;
  if (paged) {
    w.kv.layout = workloads::KvLayout::paged;
    w.kv.page_size = 16;
  }
  for (std::int32_t i = 0; i < items; ++i) w.requests.push_back({queries, tokens});
  return w;
}

schedules::Grid probe_grid(const KernelConfig& config, std::int32_t ctas) {
  schedules::Grid grid;
  grid.sms = ctas;
  grid.tile_q = 8 * config.row_tiles;
  grid.tile_kv = 16;
  return grid;
}

Plan even_lists(const Workload& workload, const KernelConfig& config, std::int32_t lists) {
  return schedules::make_plan("lean+last_arriver", workload, probe_grid(config, lists));
}

Plan lists_of_one(const Workload& workload, const KernelConfig& config) {
  const auto ctas = static_cast<std::int32_t>(workload.requests.size());
  return schedules::make_plan("fixed-split:1", workload, probe_grid(config, ctas));
}

Plan split_plan(const Workload& workload, const KernelConfig& config, std::int32_t parts, ProbeKind kind) {
  const schedules::Grid grid = probe_grid(config, parts * static_cast<std::int32_t>(workload.requests.size()));
  if (kind == ProbeKind::host) return schedules::make_plan("lean", workload, grid);
  const bool kernel = kind == ProbeKind::kernel || kind == ProbeKind::lone_kernel;
  const schedules::MergeKind merge = kernel ? schedules::MergeKind::kernel : config.merge_of_parts();
  return schedules::make_plan(fmt::format("fixed-split:{}+{}", parts, schedules::to_string(merge)), workload, grid);
}

ProbeRun full_sms_run(const KernelProbe& probe, std::int32_t workers) {
  ProbeRun run;
  run.workload = probe_workload(probe.geometry.head_dim, 8 * probe.config.row_tiles, probe.paged, probe.masked, workers,
                                probe.count);
  run.plan = even_lists(run.workload, probe.config, workers);
  return run;
}

ProbeRun full_queries_run(const KernelProbe& probe, std::int32_t workers) {
  const std::int32_t rows = 8 * probe.config.row_tiles;
  const std::int32_t tokens = round_tokens(probe.config) - probe.config.tokens + rows / 2;
  ProbeRun run;
  run.workload = probe_workload(probe.geometry.head_dim, rows, probe.paged, probe.masked, kEdgeItems * workers, tokens);
  run.workload.geometry.query_heads = rows / probe.count;
  for (workloads::Request& request : run.workload.requests) request.query_len = probe.count;
  run.plan = even_lists(run.workload, probe.config, workers);
  return run;
}

}  // namespace splitwave::gpu
