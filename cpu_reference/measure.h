// SPDX-License-Identifier: Apache-2.0
// Timing on this CPU: plans, and the constants from which the simulator predicts them.
#pragma once

#include <string>
#include <vector>

#include "cpu_reference/run_plan.h"

namespace splitwave::cpu_reference {

/// Wall-clock statistics of repeated runs. Seconds.
struct Timing {
  double median = 0;
  double p20 = 0;
  double p80 = 0;
  int samples = 0;
};

/// Runs the plan until `min_samples` runs and `min_seconds` are reached, each run with cold caches (other memory is
/// read in between), and keeps the last result in `result`.
Timing time_plan(const workloads::Workload& workload, const workloads::Tensors& tensors, const schedules::Plan& plan,
                 int threads, int min_samples, double min_seconds, Result<float>& result);

/// What the simulator needs to know of this CPU, measured on it.
struct CpuConstants {
  std::string model;                          ///< processor name of /proc/cpuinfo
  int threads = 0;                            ///< hardware threads used
  std::vector<double> read_bytes_per_second;  ///< plain OpenMP read, by 1..threads threads
  double token_seconds_per_kv_byte = 0;       ///< one thread's tile time in cache, per byte of K and V, fp16
  double fork_seconds = 0;                    ///< an empty OpenMP parallel region
  double item_seconds = 0;                    ///< extra time of one more item (setup, partial write)
  double merge_seconds_per_row_split = 0;     ///< merging one partial row of value_dim 128
};

/// Measures the constants (about a second).
CpuConstants measure_cpu(int threads);

/// measure_cpu, cached as JSON in $XDG_CACHE_HOME/splitwave (or ~/.cache/splitwave) under the processor's name and
/// thread count. A missing or damaged cache file is measured again; one that cannot be written is no error.
CpuConstants cached_cpu_constants(int threads);

}  // namespace splitwave::cpu_reference
