// SPDX-License-Identifier: Apache-2.0
// What a workload's plans meet on this CPU while they are timed: short probes between the runs, so that a prediction
// and the time that it is set against belong to one state of the machine. No attention over the workload is timed here
// (docs/performance.md).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::cpu_reference {

/// What threads that work at once reach, in two ways to share: a virtual machine's processors are seldom equally fast.
struct ProbedThreads {
  /// Plain read of the workload's K and V from cold caches, by 1..threads threads, asking for lines as run_plan does.
  std::vector<double> read_bytes_per_second;
  /// Tile time in cache per byte of K and V, by query rows of an output.
  std::map<std::int32_t, double> tile_seconds_per_kv_byte;
};

/// Medians over the rounds of probes.
struct ProbedCpu {
  ProbedThreads equal_shares;  ///< each thread has the same work, so that the slowest sets the time
  ProbedThreads queue;         ///< who is free takes the next part, so that the threads' speeds add up
  double fork_seconds = 0;     ///< an empty parallel region
  std::int64_t rounds = 0;
  double read_spread = 0;  ///< (80th - 20th percentile) / median of the reads by all threads
  double tile_spread = 0;  ///< the same of the tile times, the greatest over the rows
};

/// The probes of one workload.
class Probes {
 public:
  /// `rows`: query rows of the outputs of the plans that are to be predicted. Keeps references to workload and tensors.
  /// Throws std::logic_error unless threads and all of `rows` are positive.
  Probes(const workloads::Workload& workload, const workloads::Tensors& tensors, const std::vector<std::int32_t>& rows,
         int threads);
  ~Probes();
  Probes(const Probes&) = delete;
  Probes& operator=(const Probes&) = delete;

  /// One round: each probe once, some milliseconds in all.
  void measure();

  /// Throws std::logic_error before the first round.
  ProbedCpu result() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace splitwave::cpu_reference
