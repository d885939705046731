// SPDX-License-Identifier: Apache-2.0
// Machines to predict for: where the simulator, the schedules and the measured constants of this CPU meet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cpu_reference/measure.h"
#include "cpu_reference/probes.h"
#include "schedules/plan.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// The name that stands for this computer's CPU among the machines.
inline constexpr std::string_view kThisCpu = "cpu";

/// What predictions are made for: a machine, and the kernel that runs plans on it.
struct Target {
  simulator::Machine machine;
  std::string name;                                ///< for records: the machine's name and what was overridden
  std::int32_t ctas_per_sm = 0;                    ///< 0: from the kernel's occupancy
  std::optional<simulator::KernelFamily> kernel;   ///< runs all plans; none: of each schedule the library's own
  std::optional<cpu_reference::CpuConstants> cpu;  ///< this computer's CPU: what was measured on it
  /// Stands in for a device that nothing is known of: plans need a model, and its predictions are nobody's.
  bool stand_in = false;
  std::string note;  ///< what the user is to know of how `cpu` came about; empty if nothing
  /// What was probed between the runs of one workload; it takes the place of bandwidth, tile time and fork of `cpu`.
  std::optional<cpu_reference::ProbedCpu> probed;
};

/// What a user may change of a target.
struct Overrides {
  std::int32_t sms = 0;           ///< 0: the machine's own
  double bandwidth_gb_per_s = 0;  ///< DRAM peak, 10^9 bytes per second; 0: the machine's own
  std::int64_t l2_bytes = 0;      ///< 0: the machine's own
  double clock_mhz = 0;           ///< 0: the machine's own
  std::int32_t ctas_per_sm = 0;   ///< 0: from the kernel's occupancy
  std::string kernel;             ///< name or file of a kernel profile; empty: of each schedule the library's own
};

/// Most that users may ask for; least is 1 of integers, and of bandwidth and clock `least`.
struct OverrideLimits {
  static constexpr double least = simulator::kLeastOverride;
  static constexpr std::int64_t sms = 65536;
  static constexpr double bandwidth_gb_per_s = simulator::kMostBandwidthGbPerSecond;
  static constexpr double l2_bytes = 1e12;
  static constexpr double clock_mhz = simulator::kMostClockMhz;
  static constexpr std::int64_t ctas_per_sm = 64;
};

/// Most CPU threads that users may ask for.
inline constexpr std::int64_t kMostThreads = 1024;

/// The overrides as words of a command line, as a shell reads them: " --sms 66 --clock 1500", or nothing.
std::string override_words(const Overrides& overrides);

/// A shipped machine and what was changed of it, from a target's name: "h200 (sms=66, kernel=splitwave)". None if the
/// name says anything else, as names in records may.
struct NamedTarget {
  std::string machine;
  Overrides overrides;
};
std::optional<NamedTarget> parse_target_name(std::string_view name);

/// A GPU by name or file (simulator::load_machine), or "cpu" with all hardware threads. Throws InputError if there is
/// none, if an override does not apply to it, or if there is no such kernel.
Target target(const std::string& machine, const Overrides& overrides = {});

/// The machines in order; "cpu" is this_cpu(threads, measure_cpu). Throws InputError as target() does.
std::vector<Target> targets(const std::vector<std::string>& machines, const Overrides& overrides, std::int32_t threads,
                            bool measure_cpu = false);

/// The shipped machine that a CUDA device of this name is ("NVIDIA H100 80GB HBM3": h100-sxm), or an empty text.
std::string machine_of_device(std::string_view device_name);

/// The shipped machine with measured constants of the one of that name, or the name itself where none is shipped.
std::string calibration_of(const std::string& machine);

/// This computer's CPU with constants measured on it, taken from the cache where they are there and still hold
/// (`measure_cpu`: never): threads are SMs, one CTA each. Plans made for it keep each schedule's own tile sizes, so
/// that what runs here is the plan that the schedule's GPU kernel would run on so small a machine.
Target this_cpu(std::int32_t threads, bool measure_cpu = false);

/// The machine that a plan of the workload meets. A CPU's bandwidth depends on the KV layout, and its tile time on the
/// query rows that share a load: the mean over the plan's outputs, weighted by their KV tokens.
simulator::Machine machine_for(const Target& target, const workloads::Workload& workload, const schedules::Plan& plan);

}  // namespace splitwave::studies
