// SPDX-License-Identifier: Apache-2.0
// Machines, kernels and plans with round numbers, so that times can be worked out by hand.
#pragma once

#include <vector>

#include "schedules/plan.h"
#include "simulator/simulate.h"

namespace splitwave::simulator {

inline constexpr double kMs = 1e-3;
inline constexpr double kTolerance = 1e-9;

}  // namespace splitwave::simulator

namespace splitwave::simulator::toy {

/// `sms` SMs, one GPC. Little's law gives a lone CTA of kernel() 1 GB/s; DRAM gives 100 GB/s; all else is free.
inline Machine machine(std::int32_t sms) {
  Machine machine;
  machine.name = "toy";
  machine.sms = sms;
  machine.sms_per_gpc = {sms};
  machine.clock_hz = 1e9;
  machine.dram_peak_bytes_per_second = 100e9;
  machine.dram_bytes_per_second = 100e9;
  machine.dram_asymptote = 100e9;
  machine.dram_latency_seconds = 1e-6;
  machine.sm_bytes_per_second = 1000e9;
  machine.l2_bytes = 1;
  machine.l2_bytes_per_second = 1e15;
  machine.mma_flops = 1e18;
  machine.mma_sync_flops = 1e18;
  machine.exp_per_second = 1e18;
  machine.fp32_lanes = 128;
  machine.threads_per_sm = 2048;
  machine.ctas_per_sm_limit = 32;
  machine.registers_per_sm = 65536;
  machine.shared_bytes_per_sm = 228 * 1024;
  machine.shared_bytes_per_cta = 227 * 1024;
  machine.shared_bytes_reserved = 1024;
  return machine;
}

/// 1,000 bytes in flight, no overheads. Shared memory is set so that `ctas_per_sm` fit on an SM.
inline KernelProfile kernel(std::int32_t ctas_per_sm) {
  KernelProfile kernel;
  kernel.name = "toy";
  kernel.registers_per_thread = 16;
  kernel.threads = 32;
  kernel.shared_bytes = 228 * 1024 / ctas_per_sm - 1024;
  kernel.bytes_in_flight = 1000;
  kernel.mma_rows = 1;
  kernel.tile_tokens = 1;
  kernel.exposed_latencies = 0;
  return kernel;
}

/// One KV head of 250 + 250 fp16 elements: 1,000 bytes per token, so that 1,000 tokens at 1 GB/s take 1 ms.
inline workloads::Workload workload(const std::vector<std::int32_t>& contexts) {
  workloads::Workload workload;
  workload.name = "toy";
  workload.geometry.kind = workloads::AttentionKind::mha;
  workload.geometry.query_heads = 1;
  workload.geometry.kv_heads = 1;
  workload.geometry.head_dim = 250;
  workload.geometry.value_dim = 250;
  for (const std::int32_t context : contexts) workload.requests.push_back({1, context});
  return workload;
}

/// One CTA for each request's whole context, in order.
inline schedules::Plan one_cta_each(const workloads::Workload& workload) {
  schedules::Plan plan;
  plan.schedule = "toy";
  plan.tile_q = 1;
  plan.tile_kv = 1;
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    const auto request = static_cast<std::int32_t>(i);
    plan.outputs.push_back({request, 0, 1, 0, 1});
    plan.items.push_back({request, 0, workload.requests[i].context_len, -1});
    plan.cta_begin.push_back(request + 1);
  }
  return plan;
}

/// Request 0 alone, cut into the given numbers of tokens, one CTA each.
inline schedules::Plan cut(const std::vector<std::int32_t>& tokens, schedules::MergeKind merge) {
  schedules::Plan plan;
  plan.schedule = "toy";
  plan.tile_q = 1;
  plan.tile_kv = 1;
  plan.outputs.push_back({0, 0, 1, 0, 1});
  plan.merge = merge;
  if (merge == schedules::MergeKind::host_cta) plan.dispatch = schedules::Dispatch::fixed;
  std::int32_t begin = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto slot = static_cast<std::int32_t>(i);
    plan.items.push_back({0, begin, begin + tokens[i], slot});
    plan.cta_begin.push_back(slot + 1);
    begin += tokens[i];
  }
  plan.merges.push_back({0, 0, static_cast<std::int32_t>(tokens.size())});
  plan.num_splits = static_cast<std::int32_t>(tokens.size());
  return plan;
}

inline double seconds(const std::vector<std::int32_t>& contexts, const Machine& machine, const KernelProfile& kernel) {
  const workloads::Workload batch = workload(contexts);
  return simulate(batch, one_cta_each(batch), machine, kernel).seconds;
}

}  // namespace splitwave::simulator::toy
