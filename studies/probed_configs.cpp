// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/probe_runs.h"
#include "studies/kernel_constants.h"

namespace splitwave::studies {
namespace {

using gpu::KernelConfig;
using gpu::KernelProbe;

KernelConfig without_cluster(KernelConfig config) {
  config.cluster = 1;
  return config;
}

}  // namespace

gpu::KernelResources device_resources(const KernelProbe& probe) {
  const auto workload = gpu::probe_workload(probe.geometry.head_dim, 8, false, probe.masked, 1, 64);
  return gpu::resources(workload, probe.config);
}

std::vector<ProbedConfig> gather(const std::vector<KernelProbe>& probes, const ResourcesOf& resources_of) {
  std::vector<ProbedConfig> all;
  for (const KernelProbe& probe : probes) {
    const KernelConfig config = without_cluster(probe.config);
    auto known = std::find_if(all.begin(), all.end(), [&](const ProbedConfig& one) {
      return one.config == config && one.geometry.head_dim == probe.geometry.head_dim && one.masked == probe.masked;
    });
    if (known == all.end()) {
      all.push_back({config, probe.geometry, probe.masked, {}, {}, {}});
      known = std::prev(all.end());
    }
    known->probes.push_back(probe);
    const std::vector<std::int32_t>& clusters = known->clusters;
    if (probe.paged || std::find(clusters.begin(), clusters.end(), probe.config.cluster) != clusters.end()) continue;
    known->clusters.push_back(probe.config.cluster);
    known->resources.push_back(resources_of(probe));
  }
  return all;
}

const ProbedConfig& merging_like(const ProbedConfig& config, const std::vector<ProbedConfig>& all) {
  if (!config.masked) return config;
  const ProbedConfig* alike = nullptr;
  for (const ProbedConfig& other : all) {
    if (other.masked || other.geometry.head_dim != config.geometry.head_dim) continue;
    if (other.config == config.config) return other;
    if (alike == nullptr && other.config.stages > 1 && other.config.row_tiles == config.config.row_tiles &&
        other.config.warps == config.config.warps && other.config.team == config.config.team) {
      alike = &other;
    }
  }
  return alike != nullptr ? *alike : config;
}

}  // namespace splitwave::studies
