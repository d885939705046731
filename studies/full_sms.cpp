// SPDX-License-Identifier: Apache-2.0
#include "studies/full_sms.h"

#include <algorithm>

#include "gpu/probe_runs.h"
#include "simulator/alternatives.h"
#include "simulator/simulate.h"

namespace splitwave::studies {
namespace {

using gpu::KernelProbe;

/// Of full SMs, items of the first round of each stage.
const KernelProbe* find_probe(const ProbedConfig& config, bool paged) {
  const std::int32_t tokens = config.config.stages * gpu::round_tokens(config.config);
  for (const KernelProbe& probe : config.probes) {
    const bool full = probe.kind == gpu::ProbeKind::full && probe.count == tokens;
    if (full && probe.paged == paged && probe.config.cluster == 1) return &probe;
  }
  return nullptr;
}

/// As the probe's launch ran, by the kernel that runs any plan.
double predicted_seconds(const KernelProbe& probe, const simulator::KernelProfile& kernel,
                         const simulator::Machine& machine) {
  const simulator::Machine few = simulator::with_overrides(machine, {.sms = gpu::kFullSms});
  const gpu::ProbeRun run = gpu::full_sms_run(probe, gpu::kFullSms * simulator::ctas_per_sm(few, kernel));
  const simulator::KernelProfile any = simulator::with_costs_of(kernel, run.workload, simulator::Lists::any);
  return simulator::simulate(run.workload, run.plan, few, any, {.l2 = simulator::L2State::warm}).seconds;
}

}  // namespace

std::optional<double> full_sm_seconds(const ProbedConfig& config, bool paged, const simulator::KernelFamily& family,
                                      const simulator::Machine& machine) {
  const KernelProbe* const probe = find_probe(config, paged);
  if (probe == nullptr) return std::nullopt;
  const workloads::Workload workload = gpu::full_sms_run(*probe, 1).workload;
  for (const simulator::KernelProfile& kernel :
       simulator::alternatives(family, workload, machine, simulator::kAnyRows)) {
    if (kernel.config != to_string(probe->config)) continue;
    return std::max(0.0, probe->seconds - predicted_seconds(*probe, kernel, machine));
  }
  return std::nullopt;
}

}  // namespace splitwave::studies
