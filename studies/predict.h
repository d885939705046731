// SPDX-License-Identifier: Apache-2.0
// The one way from a question to a prediction: grid, plan, kernel, simulation. Every verb, study and benchmark goes
// through it, whole by predict() or step by step.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "schedules/grid.h"
#include "schedules/plan.h"
#include "schedules/timeline.h"
#include "simulator/kernel.h"
#include "simulator/work.h"
#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// What a question may ask besides workload, schedule and target.
struct PredictOptions {
  std::int32_t tile_q = 0;   ///< query rows of an output tile; 0: the schedule's own rule
  std::int32_t tile_kv = 0;  ///< tokens of a KV tile; 0: the schedule's own rule
  bool spans = false;        ///< record Timeline::spans
  simulator::L2State l2 = simulator::L2State::cold;
  /// Changes the kernel before it is used. The plan is null while the kernel's occupancy is asked for.
  std::function<void(simulator::KernelProfile& kernel, const schedules::Plan* plan)> edit_kernel;
};

/// A schedule's plan on a target, and the simulator's timeline of it.
struct Prediction {
  schedules::Plan plan;
  schedules::Grid grid;
  simulator::KernelProfile kernel;
  schedules::Timeline timeline;
  /// Whether the schedule was chosen: the question was "auto".
  bool by_auto = false;
};

/// Plans the workload for the target's grid and simulates the plan. `schedule` may be "auto" (studies/choose.h). Throws
/// InputError if the schedule does not exist or cannot serve the workload, or if its kernel cannot exist on the target.
Prediction predict(const workloads::Workload& workload, std::string_view schedule, const Target& target,
                   const PredictOptions& options = {});

/// The same for one schedule that is not "auto", or nothing if a bound shows that it takes longer than `limit_seconds`:
/// then it is not simulated.
std::optional<Prediction> predict_within(double limit_seconds, const workloads::Workload& workload,
                                         std::string_view schedule, const Target& target,
                                         const PredictOptions& options = {});

/// The same where the schedule's kernel is compiled in many configs: on the one that is fastest with a plan for its own
/// grid. Nothing if its kernel has no configs.
std::optional<Prediction> predict_on_fastest_config(const workloads::Workload& workload, std::string_view schedule,
                                                    const Target& target, const PredictOptions& options = {});

/// First step: what the schedule may know of the target. Where its kernel is compiled in many configs, of the one that
/// runs it fastest.
schedules::Grid grid_for(const workloads::Workload& workload, std::string_view schedule, const Target& target,
                         const PredictOptions& options = {});

/// The same with one kernel.
schedules::Grid grid_with(const workloads::Workload& workload, std::string_view schedule,
                          const simulator::KernelProfile& kernel, const Target& target, const PredictOptions& options);

/// A grid for the schedule whose tiles have all rows, where LeanAttention ("lean") meets more than a CTA's `most_rows`
/// in latent attention. Each list then is as many CTAs as hold them, side by side, which read K together. Its tiles of
/// fewer rows come one after the other, and read K again each: 1.5 to 2.6 times as long on an H100. Requests of
/// different queries keep them: a CTA for rows that few have would do nothing for the others.
schedules::Grid with_whole_rows(schedules::Grid grid, std::string_view schedule, const workloads::Workload& workload,
                                std::int32_t most_rows);

/// What the options and the target ask of the simulator.
simulator::SimulateOptions simulate_options(const Target& target, const PredictOptions& options);

/// Last step, with the plan that schedules::make_plan gives for the grid, or with one from elsewhere: what the plan
/// meets on the target, and its timeline.
struct Simulated {
  simulator::KernelProfile kernel;
  schedules::Timeline timeline;
};
Simulated simulate_plan(const workloads::Workload& workload, const schedules::Plan& plan, const Target& target,
                        const PredictOptions& options = {});

/// A schedule on one kernel, with tiles as the options say, or nothing if it cannot run the plan or takes longer than
/// `limit_seconds`.
std::optional<Prediction> predict_with(double limit_seconds, const workloads::Workload& workload,
                                       std::string_view schedule, const simulator::KernelProfile& kernel,
                                       const Target& target, const PredictOptions& options = {});

/// A schedule on the compiled config of its kernel that has this name ("r1w4s4t16c1"), whatever is fastest. Throws
/// InputError if its kernel has no such config for the workload, or if that cannot run the plan.
Prediction predict_on_config(const workloads::Workload& workload, std::string_view schedule, std::string_view config,
                             const Target& target, const PredictOptions& options = {});

/// The same with one kernel, or nothing if it cannot run the plan or a bound shows that it takes longer than
/// `limit_seconds`.
std::optional<Simulated> run_within(double limit_seconds, const workloads::Workload& workload,
                                    const schedules::Plan& plan, const simulator::KernelProfile& kernel,
                                    const Target& target, const PredictOptions& options = {});

}  // namespace splitwave::studies
