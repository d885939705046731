// SPDX-License-Identifier: Apache-2.0
#include "studies/full_sms.h"

#include <algorithm>

#include "gpu/probe_runs.h"
#include "simulator/alternatives.h"
#include "simulator/simulate.h"
#include "studies/probe_times.h"

namespace splitwave::studies {
namespace {

using gpu::KernelProbe;

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
  KernelProbe probe;
  probe.config = config.config;
  probe.config.cluster = 1;
  probe.geometry = config.geometry;
  probe.masked = config.masked;
  probe.paged = paged;
  probe.count = config.config.stages * gpu::round_tokens(probe.config);
  const std::optional<double> measured_ns = ProbeTimes(config).find(1, true, gpu::ProbeKind::full, probe.count, paged);
  if (!measured_ns) return std::nullopt;
  const workloads::Workload workload = gpu::full_sms_run(probe, 1).workload;
  for (const simulator::KernelProfile& kernel :
       simulator::alternatives(family, workload, machine, simulator::kAnyRows)) {
    if (kernel.config != to_string(probe.config)) continue;
    return std::max(0.0, *measured_ns * 1e-9 - predicted_seconds(probe, kernel, machine));
  }
  return std::nullopt;
}

}  // namespace splitwave::studies
