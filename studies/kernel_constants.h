// SPDX-License-Identifier: Apache-2.0
// Probes of the compiled kernels turned into their profile (docs/measuring.md, "The kernels' constants"). In
// studies_cuda, as measure_cuda.h.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/kernel_probes.h"
#include "simulator/machine.h"

namespace splitwave::studies {

/// A compiled config of one geometry and what one worker of it takes.
struct ProbedConfig {
  gpu::KernelConfig config;  ///< clusters of any size
  workloads::Geometry geometry;
  bool masked = false;
  std::vector<std::int32_t> clusters;           ///< sizes, ascending
  std::vector<gpu::KernelResources> resources;  ///< by cluster size
  std::vector<gpu::KernelProbe> probes;
};

/// What the kernel of a probe takes of an SM.
using ResourcesOf = std::function<gpu::KernelResources(const gpu::KernelProbe&)>;

/// As the current device says.
gpu::KernelResources device_resources(const gpu::KernelProbe& probe);

/// Gathers the probes of all configs, in the order in which they come first.
std::vector<ProbedConfig> gather(const std::vector<gpu::KernelProbe>& probes, const ResourcesOf& resources_of);

/// Of masked configs the unmasked one that merges alike: probes of several queries have many outputs. Else itself.
const ProbedConfig& merging_like(const ProbedConfig& config, const std::vector<ProbedConfig>& all);

/// What the machine's constants say of what the probes include, seconds.
struct ProbeBase {
  double launch_seconds = 0;            ///< while the probes were made
  double launch_later_seconds = 0;      ///< by which launches have become longer since
  double launch_seconds_per_cta = 0;    ///< of a grid of many
  double ring_l2_seconds = 0;           ///< latency of a ring of copies from L2
  double ring_l2_bytes_per_second = 0;  ///< of an SM that reads L2 alone
  double l2_bytes_per_second = 0;       ///< of all SMs that read L2
  double farther_seconds = 0;           ///< by which memory's latency is longer than L2's
  double sm_bytes_per_second = 0;       ///< of an SM beside others that read memory
  double flag_seconds = 0;              ///< in which a CTA sees what another has reported
  double clock_hz = 0;
  double latency_scale = 1;  ///< latency of a ring of copies over the machine's
  double queue_scale = 1;    ///< the same of what it grows by under load
  std::string source;        ///< begins each constant's
};

/// The kernel file `text` with these variants in place of those that have a config, but for configs of teams
/// (gpu/team.h) of which none is here: a device does not run all kernels. machine: with the constants of the same
/// calibration; it predicts what full SMs would take by all other constants. Throws InputError if it is none.
std::string changed_kernel_file(const std::string& text, const std::vector<ProbedConfig>& configs,
                                const ProbeBase& base, const simulator::Machine& machine);

}  // namespace splitwave::studies
