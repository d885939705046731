// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/made_up_run.h"

#include <algorithm>
#include <utility>

namespace splitwave::cpu_reference {
namespace {

using schedules::Plan;
using workloads::Workload;

constexpr std::int64_t kMemoryLimit = std::int64_t{8} << 30;

/// A plan of the outputs, without items.
Plan plan_of(const Workload& workload, const MadeUpOutputs& outputs) {
  Plan plan;
  plan.schedule = "probe";
  plan.tile_q = workload.geometry.group();
  plan.tile_kv = 1;
  for (std::int32_t request = outputs.first_request; request < outputs.end_request; ++request) {
    for (std::int32_t head = 0; head < outputs.heads; ++head) {
      plan.outputs.push_back({request, head * plan.tile_q, plan.tile_q, 0, plan.tile_q});
    }
  }
  return plan;
}

void add_item(Plan& plan, const schedules::Item& item, Lists lists) {
  plan.items.push_back(item);
  const auto items = static_cast<std::int32_t>(plan.items.size());
  if (lists == Lists::each || plan.cta_begin.size() == 1) {
    plan.cta_begin.push_back(items);
  } else {
    plan.cta_begin.back() = items;
  }
}

}  // namespace

Workload made_up_workload(const Workload& like, std::int32_t rows, std::int32_t requests, std::int32_t context) {
  const workloads::Geometry& geometry = like.geometry;
  Workload workload;
  workload.name = "probe";
  workload.geometry.kind =
      geometry.kind == workloads::AttentionKind::mla ? geometry.kind : workloads::AttentionKind::gqa;
  workload.geometry.query_heads = rows * geometry.kv_heads;
  workload.geometry.kv_heads = geometry.kv_heads;
  workload.geometry.head_dim = geometry.head_dim;
  workload.geometry.value_dim = geometry.value_dim;
  workload.geometry.dtype = geometry.dtype;
  workload.kv.layout = like.kv.layout;
  workload.kv.page_size = like.kv.page_size;
  workload.requests.assign(static_cast<std::size_t>(requests), {1, context});
  return workload;
}

Plan items_plan(const Workload& workload, const MadeUpOutputs& outputs, std::int32_t tokens, Lists lists) {
  Plan plan = plan_of(workload, outputs);
  for (std::int32_t output = 0; output < static_cast<std::int32_t>(plan.outputs.size()); ++output) {
    const std::int32_t context = tokens > 0 ? workload.requests[plan.outputs[output].request].context_len : 0;
    std::int32_t begin = 0;
    do {
      const std::int32_t end = std::min(context, begin + tokens);
      add_item(plan, {output, begin, end, -1}, lists);
      begin = end;
    } while (begin < context);
  }
  return plan;
}

Plan split_plan(const Workload& workload, const MadeUpOutputs& outputs, std::int32_t splits) {
  Plan plan = plan_of(workload, outputs);
  plan.num_splits = splits;
  plan.merge = schedules::MergeKind::kernel;
  for (std::int32_t output = 0; output < static_cast<std::int32_t>(plan.outputs.size()); ++output) {
    const std::int64_t context = workload.requests[plan.outputs[output].request].context_len;
    for (std::int64_t split = 0; split < splits; ++split) {
      add_item(plan,
               {output, static_cast<std::int32_t>(context * split / splits),
                static_cast<std::int32_t>(context * (split + 1) / splits),
                output * splits + static_cast<std::int32_t>(split)},
               Lists::each);
    }
    plan.merges.push_back({output, output * splits, (output + 1) * splits});
  }
  return plan;
}

MadeUpRun::MadeUpRun(Workload workload, std::vector<Plan> plans)
    : workload_(std::move(workload)),
      tensors_(workloads::make_tensors(workload_, kMemoryLimit)),
      plans_(std::move(plans)),
      results_(plans_.size()) {
  for (const Plan& plan : plans_) workspaces_.push_back(make_workspace(workload_, plan, 1));
}

}  // namespace splitwave::cpu_reference
