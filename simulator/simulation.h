// SPDX-License-Identifier: Apache-2.0
// simulate() in steps, for those who look at many plans to find the fastest.
#pragma once

#include <limits>
#include <optional>

#include "schedules/head_pairs.h"
#include "schedules/plan.h"
#include "schedules/timeline.h"
#include "simulator/alternatives.h"
#include "simulator/engine.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "simulator/work.h"
#include "workloads/workload.h"

namespace splitwave::simulator {

/// Seconds of a plan, and what a run is given up by.
struct LeastSeconds {
  double surely = 0;
  double likely = 0;
  double expected = 0;
  double after_streams = 0;     ///< from the last byte to the end
  double bytes_per_second = 0;  ///< of all CTAs, at most
};

/// A plan on its machine: bounds of its time cost a fraction of the event loop, which can be left early. Keeps
/// references to its arguments.
class Simulation {
 public:
  /// Throws as simulate() does.
  Simulation(const workloads::Workload& workload, const schedules::Plan& plan, const Machine& machine,
             const KernelProfile& kernel, const SimulateOptions& options = {});

  /// simulator::least_seconds().
  double least_seconds() { return least().surely; }

  /// The same if, where all lists start at once, the output of most parts is among the last to end: of 32,000 plans for
  /// drawn batches two took less, by 0.5 % at most.
  double likely_least_seconds() { return least().likely; }

  /// A guess of the prediction.
  double expected_seconds() { return least().expected; }

  /// Whether L2 is asked to keep K and V for those that read them again. Of the project's own kernels, which else ask
  /// it to drop them first.
  bool keeps_kv_in_l2() const { return work_.keeps_kv_in_l2; }

  /// The prediction, or nothing once what is left to read takes it beyond `limit_seconds`. To be called once.
  std::optional<schedules::Timeline> run(double limit_seconds = std::numeric_limits<double>::infinity());

 private:
  /// As the kernel sees them.
  const workloads::Workload& workload() const { return pairs_ ? pairs_->workload : workload_; }
  const schedules::Plan& whole_plan() const { return pairs_ ? pairs_->plan : plan_; }
  const schedules::Plan& plan() const { return in_blocks_ ? in_blocks_->plan : whole_plan(); }
  const Machine& machine() const { return clusters_ ? *clusters_ : machine_; }
  const LeastSeconds& least();
  EngineOptions engine_options(double limit_seconds);
  double most_of_sm() const;
  /// From the GPC on that a launch fills first; -1: it makes no difference.
  std::optional<schedules::Timeline> run_from(std::int32_t first_gpc, double limit_seconds);

  const workloads::Workload& workload_;
  const schedules::Plan& plan_;
  const Machine& machine_;
  const KernelProfile& kernel_;
  SimulateOptions options_;
  std::int32_t per_sm_ = 0;
  std::optional<schedules::HeadPairs> pairs_;  ///< in kernels for such
  std::optional<RowBlocks> in_blocks_;         ///< of rows, where a tile has more than a CTA takes
  std::optional<Machine> clusters_;            ///< instead of machine_, where workers are clusters
  Work work_;
  std::optional<LeastSeconds> least_;
};

}  // namespace splitwave::simulator
