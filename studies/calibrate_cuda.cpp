// SPDX-License-Identifier: Apache-2.0
// The device's microbenchmarks turned into a machine file. Each part measures, keeps its points and adds its constants.
#include "studies/calibrate_cuda.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/quantile.h"
#include "base/text.h"
#include "gpu/device.h"
#include "gpu/microbenchmarks/launch_times.h"
#include "gpu/microbenchmarks/topology.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "studies/calibrate_memory.h"
#include "studies/calibrate_power.h"
#include "studies/calibration_work.h"
#include "studies/kernel_constants.h"
#include "studies/kernel_points.h"
#include "studies/measure_cuda.h"
#include "studies/sm_groups.h"
#include "studies/target.h"

namespace splitwave::studies {
namespace {

constexpr std::int32_t kPortLaunches = 1000;
constexpr std::int32_t kSmallestLarge = 4;  ///< least clusters of more than two

using Work = CalibrationWork;

std::string spread(const gpu::Timing& timing) {
  return fmt::format("p20 {:.4g}, p80 {:.4g}", timing.p20 * 1e9, timing.p80 * 1e9);
}

/// Before anything has run: what the kernels' probes begin with.
gpu::Timing time_first_launches(Work& work) {
  const gpu::Timing empty = gpu::time_empty_kernel({});
  work.point("node_first", empty, 1);
  return empty;
}

/// Once the process has touched most of the device's memory, each of its launches takes longer, for good
/// (docs/measuring.md).
void calibrate_empty_launch(Work& work, const gpu::Timing& first) {
  const gpu::Timing empty = gpu::time_empty_kernel({});
  work.point("node_empty", empty, 1);
  work.machine.launch_seconds = empty.median;
  work.add(
      "launch", empty.median * 1e9, "ns",
      fmt::format("empty kernel of one CTA as a node of a CUDA graph, {}, once the process has touched most of the "
                  "memory; {:.4g} before",
                  spread(empty), first.median * 1e9));
}

void calibrate_launches(Work& work) {
  const gpu::LaunchTimes times = gpu::time_launches();
  const std::int32_t sms = work.device.sms;
  work.point("node", times.node_one_cta, 1);
  work.point("node", times.node_full, sms);
  work.point("stream", times.stream_one_cta, 1);
  work.point("stream", times.stream_full, sms);
  work.point("programmatic", times.programmatic_full, sms);
  work.point("node", times.many_ctas, 100 * sms);
  work.point("node", times.most_ctas, 1000 * sms);
  work.machine.launch_seconds_per_cta = times.seconds_per_cta;
  work.add("launch_per_cta", times.seconds_per_cta * 1e9, "ns",
           fmt::format("empty grids of {} and {} CTAs", 100 * sms, 1000 * sms));
  work.add(
      "launch_stream", times.stream_full.median * 1e9, "ns",
      fmt::format("empty kernels of {} CTAs on a stream, {}; the host's rate counts", sms, spread(times.stream_full)));
  work.add(
      "launch_programmatic", times.programmatic_full.median * 1e9, "ns",
      fmt::format("empty kernels of {} CTAs that let the next one start, {}", sms, spread(times.programmatic_full)));
  const gpu::SignalTimes signals = gpu::time_signals();
  for (std::size_t i = 0; i < signals.flag_round_trips.size(); ++i) {
    work.point("flag_round_trip", static_cast<std::int32_t>(i + 1), signals.flag_round_trips[i] * 1e9, "ns");
    work.point("flag_round_trip_ordered", static_cast<std::int32_t>(i + 1), signals.ordered_flag_round_trips[i] * 1e9,
               "ns");
  }
  work.point("atomic", signals.atomic, 1);
  work.point("atomic_ordered", signals.ordered_atomic, 1);
  const auto half = [&](const std::vector<double>& trips, double q) { return base::quantile(trips, q) / 2 * 1e9; };
  const std::vector<double>& trips = signals.flag_round_trips;
  work.machine.flag_seconds = half(trips, 0.5) * 1e-9;
  work.add("flag", half(trips, 0.5), "ns",
           fmt::format(
               "half of a flag's round trip between CTA 0 and each other one, p20 {:.4g}, p80 {:.4g}; with release and "
               "acquire {:.4g}",
               half(trips, 0.2), half(trips, 0.8), half(signals.ordered_flag_round_trips, 0.5)));
  work.add("atomic", signals.atomic.median * 1e9, "ns",
           fmt::format("increments of one word by one thread, {}; with release and acquire {:.4g}",
                       spread(signals.atomic), signals.ordered_atomic.median * 1e9));
}

void calibrate_sides(Work& work, const std::vector<gpu::PortLaunch>& launches) {
  const SideGroups sides = side_groups(launches);
  work.point("side_weakest_inside", kPortLaunches, sides.weakest_inside, "1");
  work.point("side_strongest_outside", kPortLaunches, sides.strongest_outside, "1");
  if (sides.side_of_sm.empty()) return;
  work.add_list(
      "side_of_sm", sides.side_of_sm, "1",
      fmt::format("correlations of SMs' rates in the same launches, {:.2f} or more on one side, {:.2f} or less "
                  "across",
                  sides.weakest_inside, sides.strongest_outside));
  work.add("side_bandwidth", sides.bytes_per_second * 1e-9, "GB/s",
           "median over these launches of what the side with more of it got");
}

void calibrate_ports(Work& work, std::vector<std::vector<std::int32_t>>& companies) {
  const std::vector<gpu::PortLaunch> launches = gpu::stream_random_subsets(kPortLaunches);
  calibrate_sides(work, launches);
  const PortGroups ports = port_groups(launches);
  work.point("port_weakest_inside", kPortLaunches, ports.weakest_inside, "1");
  work.point("port_strongest_outside", kPortLaunches, ports.strongest_outside, "1");
  if (ports.port_of_sm.empty()) return;
  std::string sizes;
  for (const std::vector<std::int32_t>& members : members_of(ports.port_of_sm)) {
    double share = 0;
    for (const gpu::PortLaunch& rates : launches) {
      double all = 0;
      double own = 0;
      for (const double rate : rates) all += rate;
      for (const std::int32_t sm : members) own += rates[static_cast<std::size_t>(sm)];
      share += own / all / kPortLaunches;
    }
    work.point("port_share", static_cast<std::int32_t>(members.size()), share, "1");
    sizes += fmt::format(" {}:{:.4f}", members.size(), share);
    companies.push_back(members);
  }
  work.add_list(
      "port_of_sm", ports.port_of_sm, "1",
      fmt::format(
          "effects of SMs on each other's rate in {} launches of random ones that read, {:.2f} or stronger inside a "
          "group, {:.2f} or weaker outside; SMs and share of the memory's rate by port{}",
          kPortLaunches, ports.weakest_inside, ports.strongest_outside, sizes));
}

/// SMs of each GPC among which clusters of more than two find room: all, if those that are in none of the clusters are
/// too few for one more.
std::vector<std::int32_t> large_cluster_sms(const std::vector<std::int32_t>& gpc_of_sm,
                                            const std::vector<std::vector<std::int32_t>>& clusters) {
  std::set<std::int32_t> seen;
  for (const std::vector<std::int32_t>& cluster : clusters) seen.insert(cluster.begin(), cluster.end());
  std::map<std::int32_t, std::int32_t> inside;
  std::map<std::int32_t, std::int32_t> all;
  for (const std::int32_t gpc : gpc_of_sm) ++all[gpc];
  for (const std::int32_t sm : seen) ++inside[gpc_of_sm[static_cast<std::size_t>(sm)]];
  std::vector<std::int32_t> sizes;
  for (const auto& [gpc, sms] : inside) sizes.push_back(all[gpc] - sms < kSmallestLarge ? all[gpc] : sms);
  return sizes;
}

/// What the SMs of a GPC take in together, where such groups are known.
void calibrate_gpcs(Work& work, const std::vector<std::int32_t>& gpc_of_sm) {
  const std::vector<std::vector<std::int32_t>> gpcs = members_of(gpc_of_sm);
  const std::vector<double> rates = gpu::stream_groups(gpcs);
  for (std::size_t i = 0; i < gpcs.size(); ++i) {
    work.point("gpc_read", static_cast<std::int32_t>(gpcs[i].size()), rates[i] * 1e-9, "GB/s");
  }
  const auto [least, most] = std::minmax_element(rates.begin(), rates.end());
  if (*most <= 0) return;
  work.add(
      "gpc_bandwidth", *most * 1e-9, "GB/s",
      fmt::format("SMs of one GPC that read alone, 224 KiB in flight each; least of the GPCs {:.4g}", *least * 1e-9));
}

/// Short replays of launches whose K and V stay in L2.
gpu::MeasureOptions probe_options() {
  gpu::MeasureOptions options;
  options.bytes_per_cycle = 0;
  options.seconds_per_replay = 0.0005;
  options.replays = 7;
  return options;
}

void add_probe(Work& work, std::vector<gpu::KernelProbe>& probes, const gpu::KernelProbe& probe) {
  probes.push_back(probe);
  work.point(point_name(probe).c_str(), probe.count, probe.seconds * 1e9, "ns");
}

/// In the order in which kernels are probed.
constexpr std::array<std::pair<bool, bool>, 4> kPagedAndMasked = {
    {{false, false}, {true, false}, {false, true}, {true, true}}};

/// One worker of each compiled kernel at a time, K and V in L2.
std::vector<gpu::KernelProbe> probe_all_kernels(Work& work) {
  std::vector<gpu::KernelProbe> probes;
  const auto found = [&](const gpu::KernelProbe& probe) { add_probe(work, probes, probe); };
  for (const std::int32_t head_dim : {64, 128, 256, gpu::kLatentDim}) {
    for (const auto& [paged, masked] : kPagedAndMasked) {
      gpu::probe_kernels(head_dim, paged, masked, probe_options(), found);
    }
  }
  return probes;
}

/// Adds those of SMs that hold as many CTAs as fit. Launches of a process take 0.17 us longer once it has parted the
/// device, so that this comes after whatever is no difference of two times.
void probe_all_full_sms(Work& work, std::vector<gpu::KernelProbe>& probes) {
  const auto found = [&](const gpu::KernelProbe& probe) { add_probe(work, probes, probe); };
  for (const std::int32_t head_dim : {64, 128, 256}) {
    for (const auto& [paged, masked] : kPagedAndMasked) {
      gpu::probe_full_sms(head_dim, paged, masked, probe_options(), found);
    }
  }
}

/// What a calibration changes: the project's own kernels' file of the shipped machine that this one is, as a device or
/// a calibration of it names none.
std::string own_kernels(const simulator::Machine& machine) {
  const std::string kind = calibration_of(machine.name);
  const std::vector<std::string> shipped = simulator::machine_names();
  const bool is_shipped = std::find(shipped.begin(), shipped.end(), kind) != shipped.end();
  const bool names_none = machine.own_kernels.empty();
  return simulator::kernel_text(
      simulator::own_kernel(names_none && is_shipped ? simulator::load_machine(kind) : machine));
}

/// The kernels' own constants, on the machine that the calibration's file says.
void derive_kernels(Work& work, const std::vector<gpu::KernelProbe>& probes) {
  const simulator::Machine calibrated = simulator::parse_machine(work.result.file, work.result.machine_name);
  work.result.kernel_file = changed_kernel_file(own_kernels(work.machine), gather(probes, device_resources),
                                                probe_base(work.result.points, work.machine, work.source), calibrated);
}

void calibrate_placement(Work& work) {
  const std::int32_t sms = work.device.sms;
  std::vector<std::vector<std::int32_t>> placements;
  for (std::int32_t ctas = 1; ctas <= sms; ++ctas) placements.push_back(gpu::place_ctas(ctas, 1, 1).front());
  const FillOrder fill = fill_order(placements);
  for (std::size_t i = 0; i < fill.order.size(); ++i) {
    work.point("fill_order", static_cast<std::int32_t>(i + 1), fill.order[i], "SM");
  }
  const std::vector<std::int32_t>& full = placements.back();
  for (std::size_t i = 0; i < full.size(); ++i) work.point("sm_of_cta", static_cast<std::int32_t>(i), full[i], "SM");
  const std::vector<std::int32_t> twice = gpu::place_ctas(2 * sms, 2, 1).front();
  for (std::size_t i = 0; i < twice.size(); ++i)
    work.point("sm_of_cta_two", static_cast<std::int32_t>(i), twice[i], "SM");
  std::vector<std::vector<std::int32_t>> companies;
  std::vector<std::vector<std::int32_t>> large;  // clusters of more than two
  std::string clusters;
  for (const gpu::ClusterPlaces& places : gpu::place_clusters()) {
    work.point("most_active_clusters", places.size, places.most_active, "cluster");
    clusters += fmt::format(" {} of {},", places.most_active, places.size);
    companies.insert(companies.end(), places.seen.begin(), places.seen.end());
    if (places.size > 2) large.insert(large.end(), places.seen.begin(), places.seen.end());
  }
  calibrate_ports(work, companies);
  work.add("sms", static_cast<double>(sms), "SM", "as the driver says");
  work.add_list(
      "dispatch_order", fill.order, "SM",
      fmt::format("SMs of launches of 1 to {} CTAs of which an SM holds one: for {} of them the order's first", sms,
                  fill.agreeing));
  if (clusters.empty()) return;  // nothing says which SMs are of one GPC
  const std::vector<std::int32_t> gpcs = connected_groups(sms, companies);
  std::vector<std::int32_t> sizes;
  for (const std::vector<std::int32_t>& members : members_of(gpcs))
    sizes.push_back(static_cast<std::int32_t>(members.size()));
  const std::string how = fmt::format("SMs that share a cluster or a port; clusters at once:{}", clusters);
  work.add_list("cluster_sms_per_gpc", large_cluster_sms(gpcs, large), "SM",
                "SMs of each GPC among which clusters of more than two find room; " + how);
  work.add_list("sms_per_gpc", sizes, "SM", how);
  work.add_list("gpc_of_sm", gpcs, "1", how);
  calibrate_gpcs(work, gpcs);
}

/// Of the device, with what is known of it from the machine `base`.
Work begin(const std::string& base) {
  Work work;
  work.device = gpu::current_device();
  work.machine = simulator::load_machine(base);
  if (work.machine.sms != work.device.sms) {
    throw base::InputError(fmt::format("--like {}: {} SMs; allowed: a machine with the device's {}",
                                       base::printable(base), work.machine.sms, work.device.sms));
  }
  work.source = fmt::format("splitwave calibrate on {} ({}), driver {}, {}", work.device.name, work.device.uuid,
                            work.device.driver, today());
  return work;
}

}  // namespace

std::string calibration_base(const std::string& like) {
  require_cuda();
  if (!like.empty()) return like;
  const gpu::Device device = gpu::current_device();
  const std::string machine = machine_of_device(device.name);
  if (machine.empty()) {
    throw base::InputError(
        fmt::format("--like: no shipped machine is {}; allowed: the machine whose data sheet's rates it has, "
                    "of {}, or a JSON file",
                    base::printable(device.name), base::join(simulator::machine_names())));
  }
  return machine;
}

std::string recalibrate_cuda(const std::string& points, const std::string& machine) {
  const simulator::Machine of_points = simulator::load_machine(machine);
  const nlohmann::json document = nlohmann::json::parse(simulator::machine_text(machine));
  // "splitwave calibrate on NVIDIA H200 (GPU-...), driver ..., 2026-11-25: what was measured"
  std::string source = document["constants"]["launch"]["source"];
  source.resize(std::min(source.size(), source.find(": ")));
  return recalibrated_kernels(read_points(points), of_points, source, own_kernels(of_points));
}

Calibration calibrate_cuda(const std::string& like) {
  const std::string base = calibration_base(like);
  Work work = begin(base);
  const gpu::Timing first_launches = time_first_launches(work);
  std::vector<gpu::KernelProbe> probes = probe_all_kernels(work);
  calibrate_memory(work);
  calibrate_l2(work);
  calibrate_rows(work);
  calibrate_first_burst(work);
  calibrate_empty_launch(work, first_launches);
  calibrate_launches(work);
  calibrate_placement(work);
  const std::vector<gpu::LoadPoint> loads = calibrate_loads(work.result);
  add_clocks(loads, work.source, work.result);
  add_energy(loads, work.source, work.result);
  probe_all_full_sms(work, probes);
  work.result.machine_name = work.machine.name + "-calibrated";
  work.result.file = changed_machine_file(simulator::machine_text(base), base, work.result.machine_name,
                                          work.machine.title + " (calibrated)", work.result.constants);
  derive_kernels(work, probes);
  return work.result;
}

Calibration calibrate_cuda_energy(const std::string& like) {
  const std::string base = calibration_base(like);
  const Work work = begin(base);
  Calibration result;
  add_energy(calibrate_loads(result), work.source, result);
  result.machine_name = work.machine.name;
  result.file = changed_machine_file(simulator::machine_text(base), base, work.machine.name, work.machine.title,
                                     result.constants);
  return result;
}

}  // namespace splitwave::studies
