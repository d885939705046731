// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/cached_run.h"

#include <utility>

namespace splitwave::cpu_reference {
namespace {

constexpr std::int64_t kMemoryLimit = std::int64_t{1} << 30;

schedules::Plan split_plan(const workloads::Workload& workload, std::int32_t splits) {
  schedules::Plan plan;
  plan.schedule = "probe";
  plan.tile_q = workload.geometry.query_heads;
  plan.tile_kv = 1;
  plan.num_splits = splits;
  plan.merge = splits > 1 ? schedules::MergeKind::kernel : schedules::MergeKind::none;
  std::int32_t slot = 0;
  for (std::int32_t request = 0; request < static_cast<std::int32_t>(workload.requests.size()); ++request) {
    const std::int64_t context = workload.requests[request].context_len;
    plan.outputs.push_back({request, 0, workload.geometry.query_heads, 0, workload.geometry.query_heads});
    for (std::int64_t split = 0; split < splits; ++split) {
      plan.items.push_back({request, static_cast<std::int32_t>(context * split / splits),
                            static_cast<std::int32_t>(context * (split + 1) / splits),
                            splits > 1 ? slot + static_cast<std::int32_t>(split) : -1});
      plan.cta_begin.push_back(static_cast<std::int32_t>(plan.items.size()));
    }
    if (splits > 1) plan.merges.push_back({request, slot, slot + splits});
    slot += splits;
  }
  return plan;
}

}  // namespace

workloads::Workload cached_workload(const workloads::Geometry& like, std::int32_t rows, std::int32_t requests,
                                    std::int32_t context) {
  workloads::Workload workload;
  workload.name = "probe";
  workload.geometry.kind = like.kind == workloads::AttentionKind::mla ? like.kind : workloads::AttentionKind::gqa;
  workload.geometry.query_heads = rows;
  workload.geometry.kv_heads = 1;
  workload.geometry.head_dim = like.head_dim;
  workload.geometry.value_dim = like.value_dim;
  workload.geometry.dtype = like.dtype;
  workload.requests.assign(static_cast<std::size_t>(requests), {1, context});
  return workload;
}

CachedRun::CachedRun(workloads::Workload workload, std::int32_t splits)
    : workload_(std::move(workload)),
      tensors_(workloads::make_tensors(workload_, kMemoryLimit)),
      plan_(split_plan(workload_, splits)),
      workspace_(make_workspace(workload_, plan_, 1)) {}

}  // namespace splitwave::cpu_reference
