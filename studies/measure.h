// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cpu_reference/compare.h"
#include "studies/target.h"
#include "studies/traced_plan.h"
#include "studies/watcher.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// How long the energy of a plan is measured: the counter goes on every 20 to 100 ms.
inline constexpr double kEnergySeconds = 2;

/// How long each plan is timed: until samples and seconds are both reached. On a GPU a sample is a replay of a graph of
/// launches, at least 11 of them, each as long as docs/measuring.md says.
struct TimingBudget {
  std::int32_t samples = 5;
  double seconds = 0.05;
  /// On a CPU that others keep busy: after so long a plan has had its turn, with 3 samples or more.
  double most_seconds = std::numeric_limits<double>::infinity();
  /// On a GPU: replays of each plan for so long under its energy counter. 0: no energy is measured.
  double energy_seconds = 0;
  /// Runs of each plan whose outputs are compared bit by bit with the first; below 2: none.
  std::int32_t repeats = 0;
};

/// How the outputs fared against the oracle.
struct CheckCount {
  std::int64_t checked = 0;
  std::int64_t unchecked = 0;        ///< too large for the oracle
  std::vector<std::string> wrong;    ///< one line per output that is out of tolerance
  std::int64_t repeated = 0;         ///< plans that were run again and again
  std::vector<std::string> unequal;  ///< one line per plan of these whose runs did not have the same bits

  /// Counts an output, and keeps a line about it if it is out of tolerance.
  void add(const reports::Record& record, const cpu_reference::Errors& errors, const cpu_reference::Tolerance& limit);

  /// Counts a plan that was run again and again, and keeps a line about it if its runs were not bitwise equal.
  void add_repeat(const reports::Record& record);

  /// Whether all that was checked was right.
  bool passed() const { return wrong.empty() && unequal.empty(); }

  /// One sentence for people, and one more about repeated runs.
  std::string sentence() const;
};

/// What measuring writes to.
struct MeasureOutput {
  const Watcher& watcher;
  CheckCount& checks;
  /// Where not null, each plan is run once more and recorded: its timelines, predicted and measured.
  std::vector<TracedPlan>* traces = nullptr;
};

/// What runs plans here: this CPU or the current CUDA device.
struct Executor {
  Target target;
  /// Rows of a report's environment: what was measured, and how.
  std::vector<std::pair<std::string, std::string>> environment;
  /// What has to live as long as the executor: the part of the device's SMs that it runs on.
  std::shared_ptr<const void> held;

  /// Work that measure() reports to the watcher for a workload, in bytes that pass through the CPU.
  double (*work)(const workloads::Workload& workload, std::size_t schedules) = nullptr;

  /// Runs the workload by each schedule with cold caches, checks every output against the oracle (which is computed
  /// once), and gives the watcher one measured record per schedule, or one with the reason if the schedule cannot serve
  /// the workload. With `predicted`, each is preceded by the simulator's record of the same plan. Throws InputError if
  /// the tensors do not fit in memory.
  void (*measure)(const workloads::Workload& workload, const std::vector<std::string>& schedules, const Target& target,
                  const TimingBudget& budget, bool predicted, const MeasureOutput& output) = nullptr;
};

/// This computer's CPU with so many threads, as this_cpu(threads, measure_cpu) knows it. The CUDA device's:
/// studies/measure_cuda.h.
Executor cpu_executor(std::int32_t threads, bool measure_cpu, const TimingBudget& budget);

/// The schedule that speed-ups are relative to: the first fixed split, or the first schedule where there is none.
std::string baseline_of(std::span<const std::string> schedules);

/// Bytes of tensors that the host's memory has room for: outputs, the oracle's and the system need the rest.
std::int64_t tensor_memory_bytes();

/// The oracle's time in plain reads of K and V by the CPU, for the progress bar.
inline constexpr double kOracleReads = 40;

}  // namespace splitwave::studies
