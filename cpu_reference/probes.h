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

/// What outputs of so many query rows cost a thread while all work, with made-up K and V of the workload's geometry and
/// layout.
struct ProbedRows {
  double tile_seconds_per_kv_byte = 0;    ///< in cache, per byte of K and V
  double stream_seconds_per_kv_byte = 0;  ///< from memory, the heads of a request one after the other
  double list_seconds = 0;                ///< before a list streams
  double item_seconds = 0;                ///< more of each further item of a list
};

/// What threads that work at once reach, in two ways to share: a virtual machine's processors are seldom equally fast.
struct ProbedThreads {
  /// Plain read of the workload's K and V from cold caches, by 1..threads threads, asking for lines as run_plan does:
  /// the heads of a request one after the other, or a head of all requests before the next. Where rows of several heads
  /// lie side by side the second is slower.
  std::vector<double> read_by_heads;
  std::vector<double> read_by_requests;
  std::map<std::int32_t, ProbedRows> rows;  ///< by query rows of an output
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
