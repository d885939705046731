// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/progress.h"
#include "cli/record_sink.h"
#include "cli/targets.h"
#include "workloads/workload.h"

namespace splitwave::cli {

/// How long each plan is timed: until both are reached.
struct TimingBudget {
  std::int32_t samples = 5;
  double seconds = 0.05;
};

/// How the outputs fared against the oracle.
struct CheckCount {
  std::int64_t checked = 0;
  std::vector<std::string> wrong;  ///< one line per output that is out of tolerance

  /// One sentence for people.
  std::string sentence() const;
};

/// Work that measure_workload reports to the progress bar, in bytes that pass through the CPU.
double measuring_work(const workloads::Workload& workload, std::size_t schedules);

/// Runs the workload by each schedule on this CPU with cold caches, checks every output against the oracle (which is
/// computed once), and adds one measured record per schedule to the sink, or one with the reason if the schedule cannot
/// serve the workload. With `predicted`, each is preceded by the simulator's record of the same plan. Throws InputError
/// if the tensors do not fit in memory, Stopped if asked to stop.
void measure_workload(const workloads::Workload& workload, const std::vector<std::string>& schedules, const Target& cpu,
                      const TimingBudget& budget, bool predicted, RecordSink& sink, Progress& progress,
                      CheckCount& checks);

}  // namespace splitwave::cli
