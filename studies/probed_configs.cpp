// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

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

std::vector<ProbedConfig> gather(const std::vector<KernelProbe>& probes) {
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
    const auto workload = gpu::probe_workload(probe.geometry.head_dim, 8, false, probe.masked, 1, 64);
    known->resources.push_back(gpu::resources(workload, probe.config));
  }
  return all;
}

}  // namespace splitwave::studies
