// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace splitwave::simulator {

/// A machine as the simulator sees it, read from simulator/machines/*.json or a user's file. A CPU is one too: its
/// threads are the SMs, one CTA each. Every key of the file carries unit, source and how sure it is
/// (docs/simulator.md).
struct Machine {
  std::string name;
  std::int32_t sms = 0;
  double clock_hz = 0;               ///< SM clock under load
  double dram_bytes_per_second = 0;  ///< plateau that a plain read reaches
  double dram_latency_seconds = 0;   ///< unloaded, from a CTA's request to its data
  double sm_bytes_per_second = 0;    ///< most that one SM can take in
  std::int64_t l2_bytes = 0;
  double l2_bytes_per_second = 0;
  double mma_flops = 0;       ///< dense fp16 tensor-core rate of the whole machine, FLOP/s
  double exp_per_second = 0;  ///< special-function unit, whole machine
  std::int32_t threads_per_sm = 0;
  std::int32_t ctas_per_sm_limit = 0;
  std::int32_t registers_per_sm = 0;  ///< 32-bit registers
  std::int64_t shared_bytes_per_sm = 0;
  std::int64_t shared_bytes_per_cta = 0;  ///< most that one CTA may take
  double launch_seconds = 0;              ///< a kernel node of a CUDA graph
  double launch_seconds_per_cta = 0;      ///< dispatch rate of CTAs
  double flag_seconds = 0;                ///< a flag written by one CTA is seen by another
  /// Read bandwidth by number of active SMs, for machines where it was measured (index 0: one SM). Empty: Little's law.
  std::vector<double> bytes_per_second_by_sms;
};

/// What a user may override on the command line; 0 leaves the machine's own value.
struct MachineOverrides {
  std::int32_t sms = 0;
  double dram_bytes_per_second = 0;
};

/// A shipped machine by name ("h200"; case does not matter) or a JSON file by path. Throws InputError with the nearest
/// names, or with file, key, value and what is allowed.
Machine load_machine(const std::string& name_or_file);

/// The same from text; `where` begins error messages.
Machine parse_machine(const std::string& text, const std::string& where);

/// The machine with overrides applied; bandwidth limits scale with the SM count only where physics says so.
Machine with_overrides(Machine machine, const MachineOverrides& overrides);

/// Names of the shipped machines, sorted.
std::vector<std::string> machine_names();

}  // namespace splitwave::simulator
