// SPDX-License-Identifier: Apache-2.0
// The CPU as a machine: its threads are the SMs, with one CTA each and the measured bandwidth of so many threads.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/error.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"

namespace splitwave::simulator {
namespace {

void require(bool good, const char* key, double value, const char* allowed) {
  if (!good) throw base::InputError(fmt::format("cpu: {} is {:g}; allowed: {}", key, value, allowed));
}

}  // namespace

Machine cpu_machine(const CpuFigures& figures) {
  if (figures.read_bytes_per_second.empty()) {
    throw base::InputError("cpu: read_bytes_per_second is empty; allowed: one figure per number of threads");
  }
  for (const double rate : figures.read_bytes_per_second) {
    require(std::isfinite(rate) && rate > 0, "read_bytes_per_second", rate, "a positive number");
  }
  const auto check = [](double value, const char* key) {
    require(std::isfinite(value) && value >= 0, key, value, "0 or more");
  };
  require(std::isfinite(figures.seconds_per_kv_byte) && figures.seconds_per_kv_byte > 0, "seconds_per_kv_byte",
          figures.seconds_per_kv_byte, "a positive number");
  for (const auto& [rows, seconds] : figures.seconds_per_kv_byte_of_rows) {
    require(std::isfinite(seconds) && seconds > 0, "seconds_per_kv_byte_of_rows", seconds, "positive numbers");
  }
  require(std::isfinite(figures.overlap) && figures.overlap > 0, "overlap", figures.overlap, "a positive number");
  check(figures.fork_seconds, "fork_seconds");
  check(figures.list_seconds, "list_seconds");
  check(figures.item_seconds, "item_seconds");
  check(figures.merge_seconds_per_row_split, "merge_seconds_per_row_split");
  Machine machine;
  machine.name = "cpu";
  machine.title = figures.model;
  machine.cpu = figures;
  machine.bytes_per_second_by_sms = figures.read_bytes_per_second;
  machine.sms = static_cast<std::int32_t>(figures.read_bytes_per_second.size());
  machine.sms_per_gpc = {machine.sms};
  machine.dram_bytes_per_second =
      *std::max_element(figures.read_bytes_per_second.begin(), figures.read_bytes_per_second.end());
  machine.dram_peak_bytes_per_second = machine.dram_bytes_per_second;
  machine.dram_asymptote = machine.dram_bytes_per_second;
  machine.sm_bytes_per_second = std::numeric_limits<double>::infinity();  // part of the measured bandwidth
  machine.threads_per_sm = 32;  // one warp of the occupancy rule is one thread here
  machine.ctas_per_sm_limit = 1;
  machine.registers_per_sm = 1 << 20;
  machine.launch_seconds = figures.fork_seconds;
  return machine;
}

KernelProfile cpu_kernel(const Machine& machine) {
  if (!machine.cpu) throw std::logic_error("cpu_kernel: " + machine.name + " is no CPU");
  const CpuFigures& figures = *machine.cpu;
  KernelProfile kernel;
  kernel.name = "cpu";
  kernel.threads = 1;
  kernel.registers_per_thread = 16;
  kernel.instruction = MmaInstruction::cuda_core;
  kernel.mma_rows = 1;
  kernel.exposed_latencies = 0;
  kernel.prologue_seconds = figures.list_seconds;
  kernel.item_seconds = figures.item_seconds;
  kernel.merge_seconds_per_row_split = figures.merge_seconds_per_row_split;
  return kernel;
}

}  // namespace splitwave::simulator
