// SPDX-License-Identifier: Apache-2.0
#include "studies/kernel_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "gpu/probe_runs.h"
#include "simulator/clusters.h"
#include "simulator/kernel.h"
#include "studies/bandwidth_fit.h"

namespace splitwave::studies {
namespace {

using gpu::KernelProbe;
using gpu::ProbeKind;

constexpr double kNs = 1e-9;

std::optional<ProbeKind> kind_of(std::string_view name) {
  for (auto kind = ProbeKind::empty; kind <= gpu::kLastProbeKind;
       kind = static_cast<ProbeKind>(static_cast<int>(kind) + 1)) {
    if (gpu::to_string(kind) == name) return kind;
  }
  return std::nullopt;
}

/// Takes `word` and the mark behind it off the front of `text`, if it is there.
bool take(std::string_view& text, std::string_view word) {
  if (text.substr(0, word.size()) != word) return false;
  text.remove_prefix(word.size());
  return true;
}

std::optional<KernelProbe> probe_of(const CalibrationPoint& point) {
  std::string_view name = point.benchmark;
  const std::size_t config_end = name.find("_d");
  const std::size_t way = name.rfind('_');
  if (name.empty() || name.front() != 'r' || config_end == std::string_view::npos || way <= config_end) return {};
  const std::string_view by = name.substr(way + 1);
  if (by != "any" && by != "single" && by != "waiting") return {};
  KernelProbe probe;
  probe.config = gpu::parse_kernel_config(std::string(name.substr(0, config_end)));
  name = name.substr(config_end + 2, way - config_end - 2);
  const std::size_t dim_end = name.find('_');
  const std::optional<double> head_dim = base::number_in(name.substr(0, dim_end));
  if (!head_dim || dim_end == std::string_view::npos) return {};
  name.remove_prefix(dim_end + 1);
  probe.paged = take(name, "paged_");
  probe.masked = take(name, "masked_");
  const std::optional<ProbeKind> kind = kind_of(name);
  if (!kind) return {};
  probe.kind = *kind;
  probe.any_plan = by != "single";
  probe.waits = by == "waiting";
  probe.count = point.ctas;
  probe.seconds = point.value * kNs;
  probe.geometry =
      gpu::probe_workload(static_cast<std::int32_t>(*head_dim), 8, probe.paged, probe.masked, 1, 64).geometry;
  return probe;
}

const CalibrationPoint& first_of(const std::vector<CalibrationPoint>& points, std::string_view benchmark) {
  const auto found = std::find_if(points.begin(), points.end(),
                                  [&](const CalibrationPoint& point) { return point.benchmark == benchmark; });
  if (found == points.end()) {
    throw base::InputError(fmt::format("points: no {}; allowed: all points of a calibration", benchmark));
  }
  return *found;
}

/// Of rings of copies, CTAs that do not share an SM.
std::vector<BandwidthPoint> ring_points(const std::vector<CalibrationPoint>& points, std::int32_t sms) {
  std::vector<BandwidthPoint> rings;
  for (const CalibrationPoint& point : points) {
    if (point.benchmark != "ring" || point.ctas < 2 || point.ctas > sms) continue;
    rings.push_back({point.ctas, static_cast<double>(point.bytes_in_flight), point.value * 1e9});
  }
  return rings;
}

/// What a device's resources are by a kernel file.
class KnownResources {
 public:
  KnownResources(const simulator::Machine& machine, const std::string& text)
      : machine_(machine), family_(simulator::parse_kernel(text, "kernel file")) {}

  gpu::KernelResources operator()(const KernelProbe& probe) const {
    gpu::KernelConfig config = probe.config;
    config.cluster = 1;
    for (const simulator::KernelVariant& variant : family_.variants) {
      const simulator::KernelProfile& kernel = variant.kernel;
      if (kernel.config != gpu::name_without_cluster(config) || kernel.masked != probe.masked ||
          variant.head_dim_least != probe.geometry.head_dim) {
        continue;
      }
      return resources(variant, probe.config.cluster);
    }
    throw base::InputError(fmt::format("points: {}: the kernel file has no such config; allowed: points of its kernels",
                                       point_name(probe)));
  }

 private:
  gpu::KernelResources resources(const simulator::KernelVariant& variant, std::int32_t cluster) const {
    simulator::KernelProfile kernel = variant.kernel;
    if (cluster > 1) kernel.shared_bytes = variant.cluster_shared_bytes;
    const std::int32_t per_sm = simulator::ctas_per_sm(machine_, kernel);
    gpu::KernelResources result;
    result.threads = kernel.threads;
    result.registers_per_thread = kernel.registers_per_thread;
    result.shared_bytes = kernel.shared_bytes;
    result.where = {per_sm, simulator::resident_workers(machine_, cluster, per_sm)};
    result.single_item = variant.clusters.front().single_item_fixed_seconds > 0;
    if (!result.single_item) return result;
    for (const simulator::ClusterCosts& costs : variant.clusters) {
      if (costs.cluster != cluster || costs.single_item_registers_per_thread == 0) continue;
      kernel.registers_per_thread = result.single_item_registers_per_thread = costs.single_item_registers_per_thread;
      kernel.shared_bytes = result.single_item_shared_bytes = costs.single_item_shared_bytes;
    }
    const std::int32_t singles = simulator::ctas_per_sm(machine_, kernel);
    result.single_item_where = {singles, simulator::resident_workers(machine_, cluster, singles)};
    return result;
  }

  const simulator::Machine& machine_;
  simulator::KernelFamily family_;
};

}  // namespace

std::string point_name(const KernelProbe& probe) {
  return fmt::format("{}_d{}_{}{}{}_{}", to_string(probe.config), probe.geometry.head_dim, probe.paged ? "paged_" : "",
                     probe.masked ? "masked_" : "", to_string(probe.kind),
                     probe.waits      ? "waiting"
                     : probe.any_plan ? "any"
                                      : "single");
}

std::vector<KernelProbe> probes_of(const std::vector<CalibrationPoint>& points) {
  std::vector<KernelProbe> probes;
  for (const CalibrationPoint& point : points) {
    if (std::optional<KernelProbe> probe = probe_of(point)) probes.push_back(std::move(*probe));
  }
  return probes;
}

ProbeBase probe_base(const std::vector<CalibrationPoint>& points, const simulator::Machine& machine,
                     const std::string& source) {
  const CalibrationPoint& lone = first_of(points, "ring");
  const double lone_latency = static_cast<double>(lone.bytes_in_flight) / (lone.value * 1e9);
  ProbeBase base;
  base.launch_seconds = first_of(points, "node_first").value * kNs;
  base.launch_later_seconds = machine.launch_seconds - base.launch_seconds;
  base.launch_seconds_per_cta = machine.launch_seconds_per_cta;
  base.farther_seconds = machine.dram_latency_seconds - machine.l2_latency_seconds;
  base.ring_l2_seconds = lone_latency - base.farther_seconds;
  first_of(points, "ring_l2");
  for (const CalibrationPoint& point : points) {
    if (point.benchmark != "ring_l2") continue;
    base.ring_l2_bytes_per_second = std::max(base.ring_l2_bytes_per_second, point.value * 1e9);
  }
  base.l2_bytes_per_second = machine.l2_bytes_per_second;
  base.sm_bytes_per_second = machine.sm_bytes_per_second;
  base.flag_seconds = machine.flag_seconds;
  base.clock_hz = machine.clock_hz;
  base.latency_scale = lone_latency / machine.dram_latency_seconds;
  simulator::Machine of_rings = machine;
  of_rings.dram_latency_seconds = lone_latency;
  base.queue_scale = fit_queue(of_rings, ring_points(points, machine.sms)) / machine.dram_queue_seconds;
  base.source = source;
  return base;
}

std::string recalibrated_kernels(const std::vector<CalibrationPoint>& points, const simulator::Machine& machine,
                                 const std::string& source, const std::string& text) {
  return changed_kernel_file(text, gather(probes_of(points), KnownResources(machine, text)),
                             probe_base(points, machine, source), machine);
}

}  // namespace splitwave::studies
