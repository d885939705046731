// SPDX-License-Identifier: Apache-2.0
// Machines to predict for: where the simulator, the schedules and the measured constants of this CPU meet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cpu_reference/measure.h"
#include "schedules/plan.h"
#include "simulator/machine.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// The name that stands for this computer's CPU among the machines.
inline constexpr std::string_view kThisCpu = "cpu";

/// A machine with the user's overrides.
struct Target {
  simulator::Machine machine;
  std::string name;                                ///< for records: the machine's name and what was overridden
  std::int32_t ctas_per_sm = 0;                    ///< 0: from the kernel's occupancy
  std::optional<cpu_reference::CpuConstants> cpu;  ///< this computer's CPU: what was measured on it
};

/// Machines by name or file, and what if.
struct MachineOptions {
  std::vector<std::string> gpus;
  std::int32_t sms = 0;           ///< 0: the machine's own
  double bandwidth_gb_per_s = 0;  ///< 10^9 bytes per second; 0: the machine's own
  std::int64_t l2_bytes = 0;      ///< 0: the machine's own
  double clock_mhz = 0;           ///< 0: the machine's own
  std::int32_t ctas_per_sm = 0;   ///< 0: from the kernel's occupancy
};

/// The overrides as words of a command line: " --sms 66 --clock 1500", or nothing.
std::string override_words(const MachineOptions& options);

/// The machines of the options in order; "cpu" is this_cpu(). Throws InputError for a machine that does not exist.
std::vector<Target> targets(const MachineOptions& options, std::int32_t threads);

/// The shipped machine that a CUDA device of this name is ("NVIDIA H100 80GB HBM3": h100-sxm), or an empty text.
std::string machine_of_device(std::string_view device_name);

/// This computer's CPU with constants measured on it, taken from the cache where they are there (`measured_now`: never,
/// for predictions that are about to be set against runs on the machine as it is): threads are SMs, one CTA each. Plans
/// made for it keep each schedule's own tile sizes, so that what runs here is the plan that the schedule's GPU kernel
/// would run on so small a machine.
Target this_cpu(std::int32_t threads, bool measured_now = false);

/// The machine that a plan of the workload meets. A CPU's bandwidth depends on the KV layout, and its tile time on the
/// query rows that share a load: the mean over the plan's outputs, weighted by their KV tokens.
simulator::Machine machine_for(const Target& target, const workloads::Workload& workload, const schedules::Plan& plan);

}  // namespace splitwave::studies
