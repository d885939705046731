// SPDX-License-Identifier: Apache-2.0
// Timing on this CPU: plans, and the constants from which the simulator predicts them (docs/performance.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
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

/// Statistics of samples in seconds (base/quantile.h); all 0 if there are none.
Timing timing_of(const std::vector<double>& samples);

/// Name of the processor in /proc/cpuinfo.
std::string processor_name();

/// A plan that is timed again and again, each run with K, V and Q out of all caches (evict()). Keeps references
/// to workload, tensors and plan. The constructor runs the plan once; it throws as make_workspace and run_plan do.
class TimedPlan {
 public:
  TimedPlan(const workloads::Workload& workload, const workloads::Tensors& tensors, const schedules::Plan& plan,
            int threads);

  /// Seconds of one run. One during which another process took a processor is repeated, a few times at most
  /// (interruptions.h).
  double sample();

  /// What one such run looked like inside. It is no sample, and its interruptions are not counted.
  schedules::Recording record();

  /// Runs that were interrupted so far.
  std::int64_t interrupted() const { return interrupted_; }

  /// Of the last run.
  const Result<float>& result() const { return result_; }

 private:
  const workloads::Workload& workload_;
  const workloads::Tensors& tensors_;
  const schedules::Plan& plan_;
  int threads_;
  WorkspacePtr workspace_;
  Result<float> result_;
  std::int64_t interrupted_ = 0;
};

/// Takes the tensors out of all caches, by `threads` threads, and leaves these awake. Where the processor can flush
/// lines (x86 with CLFLUSHOPT) only the tensors' go; elsewhere other memory takes the place of all that the caches
/// hold.
void evict(const workloads::Tensors& tensors, int threads);

/// Returns when each thread of the team has run: one from which somebody took the processor meanwhile has it again, so
/// that what follows begins on all of them.
void wake_threads(int threads);

/// Seconds that `threads` threads take to read the bytes once, each a share of its own.
double read_seconds(std::span<const std::byte> bytes, int threads);

/// Time of one thread for a tile of 1 to 4 query rows and one KV token, all in cache.
struct TileCost {
  double token_seconds = 0;          ///< per token
  double token_element_seconds = 0;  ///< per token and element of head_dim + value_dim
};

/// What the simulator needs to know of this CPU, measured on it.
struct CpuConstants {
  std::string model;                          ///< processor name of /proc/cpuinfo
  int threads = 0;                            ///< hardware threads used
  std::vector<double> read_bytes_per_second;  ///< plain read by 1..threads threads
  /// The same for rows of 256 bytes, one in every 2 KiB: one KV head of a token-major layout.
  std::vector<double> row_read_bytes_per_second;
  double token_seconds_per_kv_byte = 0;  ///< one thread's tile time in cache: 4 rows, head_dim 128, f16
  /// By dtype (f16, bf16, f32) and rows - 1. A tile of more rows goes in chunks of 4.
  std::array<std::array<TileCost, 4>, 3> tile;
  double fork_seconds = 0;  ///< an empty OpenMP parallel region
  double overlap = 0;       ///< p: memory time m and tile time c per byte of a thread come to (m^p + c^p)^(1/p)
  double list_seconds = 0;  ///< extra time of one more list: queries, first bytes, output
  double item_seconds = 0;  ///< the same of one more item of a list, whose first bytes are asked for ahead
  double merge_seconds_per_row_split = 0;  ///< merging one partial row of value_dim 128, by one thread
};

/// How quiet the machine was while measure_cpu measured. Spreads are (80th - 20th percentile) / median.
struct Quietness {
  double interruptions_per_second = 0;  ///< of this process by others (interruptions.h)
  double read_spread = 0;               ///< of the plain reads by all threads
  double fork_spread = 0;               ///< of the parallel regions
};

/// The constants, and how far to trust them (why_not_kept()).
struct MeasuredCpu {
  CpuConstants constants;
  Quietness quietness;
};

/// Measures the constants (one to two seconds). Throws std::logic_error unless threads is positive.
MeasuredCpu measure_cpu(int threads);

/// Which of the figures no CPU has, with its value and what is allowed ("fork_seconds is 0.00804; allowed: up to
/// 0.001"); empty if there is none.
std::string absurd_figure(const CpuConstants& constants);

/// Why the constants are not to be kept: the machine was busy, or a figure is absurd. One phrase; empty if they are
/// good.
std::string why_not_kept(const MeasuredCpu& measured);

/// Time of one thread, in cache, for the bytes of K and V that a tile of `rows` query rows reads. Seconds per byte.
double tile_seconds_per_kv_byte(const CpuConstants& constants, const workloads::Geometry& geometry, std::int32_t rows);

/// Read bandwidth for K and V in this layout, by 1..threads threads. Bytes per second.
const std::vector<double>& kv_read_bytes_per_second(const CpuConstants& constants, const workloads::Workload& workload);

/// Constants to predict with, and what the user is to know about them.
struct KnownCpu {
  CpuConstants constants;
  std::string note;  ///< one sentence if they were measured and not kept; else empty
};

/// measure_cpu, cached as JSON in $XDG_CACHE_HOME/splitwave (or ~/.cache/splitwave) under the processor's name and
/// thread count. Measured again is a missing or damaged cache file, an absurd figure, a bandwidth that is no longer
/// this machine's (virtual machines move), and everything if `anew`. What a busy machine gave serves the caller, but is
/// not kept (why_not_kept). A file that cannot be written is no error.
KnownCpu cached_cpu_constants(int threads, bool anew = false);

}  // namespace splitwave::cpu_reference
