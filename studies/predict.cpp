// SPDX-License-Identifier: Apache-2.0
#include "studies/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "schedules/cut.h"
#include "schedules/merge_choice.h"
#include "schedules/schedules.h"
#include "simulator/alternatives.h"
#include "simulator/bound.h"
#include "simulator/simulate.h"
#include "simulator/simulation.h"
#include "studies/choose.h"

namespace splitwave::studies {
namespace {

/// The kernel that runs the schedule on the target, before its plan is made.
simulator::KernelProfile kernel_before(const workloads::Workload& workload, std::string_view schedule,
                                       const Target& target, const PredictOptions& options) {
  simulator::KernelProfile kernel = target.kernel ? simulator::kernel_for(*target.kernel, workload, target.machine)
                                                  : simulator::native_kernel(schedule, workload, target.machine);
  if (options.edit_kernel) options.edit_kernel(kernel, nullptr);
  return kernel;
}

/// The kernel that runs the plan on the machine.
simulator::KernelProfile kernel_after(const workloads::Workload& workload, const schedules::Plan& plan,
                                      const Target& target, const simulator::Machine& machine,
                                      const PredictOptions& options) {
  simulator::KernelProfile kernel = target.kernel
                                        ? with_tile_of(plan, simulator::kernel_for(*target.kernel, workload, machine))
                                        : simulator::native_kernel(plan, workload, machine);
  if (options.edit_kernel) options.edit_kernel(kernel, &plan);
  return kernel;
}

/// A plan and what it meets. Only this computer's CPU is another machine for every plan; others are not copied.
class Meeting {
 public:
  Meeting(const workloads::Workload& workload, const schedules::Plan& plan, const Target& target,
          const PredictOptions& options)
      : workload_(workload), plan_(plan), target_(target) {
    if (target.cpu) own_ = machine_for(target, workload, plan);
    kernel_ = kernel_after(workload, plan, target, machine(), options);
    simulate_ = simulate_options(target, options);
  }

  double least_seconds() const { return simulator::least_seconds(workload_, plan_, machine(), kernel_, simulate_); }

  Simulated simulate() && {
    schedules::Timeline timeline = simulator::simulate(workload_, plan_, machine(), kernel_, simulate_);
    return {std::move(kernel_), std::move(timeline)};
  }

 private:
  const simulator::Machine& machine() const { return own_ ? *own_ : target_.machine; }

  const workloads::Workload& workload_;
  const schedules::Plan& plan_;
  const Target& target_;
  std::optional<simulator::Machine> own_;
  simulator::KernelProfile kernel_;
  simulator::SimulateOptions simulate_;
};

/// The compiled configs that may run the schedule on the target, single CTAs as workers, as in the schedule's own
/// kernel: those of any number of rows. None if its kernel has no configs.
std::vector<simulator::KernelProfile> configs_for(const workloads::Workload& workload, std::string_view schedule,
                                                  const Target& target, std::int32_t num_splits) {
  if (target.cpu) return {};
  const simulator::KernelFamily& family =
      target.kernel ? *target.kernel : simulator::family_of(schedule, num_splits, workload, target.machine);
  std::vector<simulator::KernelProfile> all =
      simulator::alternatives(family, workload, target.machine, simulator::kAnyRows);
  std::erase_if(all, [&](const simulator::KernelProfile& kernel) {
    return kernel.cluster > 1 || simulator::ctas_per_sm(target.machine, kernel) < target.ctas_per_sm;
  });
  return all;
}

[[noreturn]] void refuse_configs(const schedules::Plan& plan, std::size_t configs) {
  throw base::InputError(
      fmt::format("schedule {}: none of the {} configs of its kernel can run {} CTAs with tiles of {} rows; allowed: "
                  "another schedule, or another --kernel",
                  plan.schedule, configs, plan.ctas(), simulator::most_rows(plan)));
}

/// Rows that a CTA of a config should have for the plan: the least that hold its tiles, or else the most.
std::int32_t rows_for(const schedules::Plan& plan, std::span<const simulator::KernelProfile> configs) {
  const std::int32_t rows = simulator::most_rows(plan);
  std::int32_t least = 0;
  std::int32_t most = 0;
  for (const simulator::KernelProfile& kernel : configs) {
    if (kernel.most_rows >= rows && (least == 0 || kernel.most_rows < least)) least = kernel.most_rows;
    most = std::max(most, kernel.most_rows);
  }
  return least > 0 ? least : most;
}

/// The config that runs the schedule fastest, with the plan for its grid.
std::optional<Prediction> fastest_config(double limit_seconds, const workloads::Workload& workload,
                                         std::string_view schedule, const Target& target,
                                         std::span<const simulator::KernelProfile> configs,
                                         const PredictOptions& options) {
  std::optional<Prediction> best;
  Prediction candidate;
  for (const simulator::KernelProfile& kernel : configs) {
    const schedules::Grid grid = grid_with(workload, schedule, kernel, target, options);
    if (candidate.plan.schedule.empty() || !(grid == candidate.grid)) {
      candidate.grid = grid;
      candidate.plan = schedules::make_plan(schedule, workload, grid);
    }
    if (kernel.most_rows != rows_for(candidate.plan, configs)) continue;
    std::optional<Simulated> met = run_within(limit_seconds, workload, candidate.plan, kernel, target, options);
    if (!met) continue;
    limit_seconds = std::min(limit_seconds, met->timeline.seconds);
    if (best && best->timeline.seconds <= met->timeline.seconds) continue;
    candidate.kernel = std::move(met->kernel);
    candidate.timeline = std::move(met->timeline);
    best = candidate;
  }
  if (!best && !std::isfinite(limit_seconds)) refuse_configs(candidate.plan, configs.size());
  return best;
}

}  // namespace

simulator::SimulateOptions simulate_options(const Target& target, const PredictOptions& options) {
  simulator::SimulateOptions simulate;
  simulate.ctas_per_sm = target.ctas_per_sm;
  simulate.spans = options.spans;
  simulate.l2 = options.l2;
  return simulate;
}

schedules::Grid grid_with(const workloads::Workload& workload, std::string_view schedule,
                          const simulator::KernelProfile& kernel, const Target& target, const PredictOptions& options) {
  schedules::Grid grid = simulator::grid_of(target.machine, kernel, target.ctas_per_sm);
  grid.tile_q = options.tile_q;
  grid.tile_kv = options.tile_kv;
  if (kernel.config.empty() || grid.tile_q > 0) return grid;
  return with_whole_rows(grid, schedule, workload, kernel.most_rows);
}

schedules::Grid with_whole_rows(schedules::Grid grid, std::string_view schedule, const workloads::Workload& workload,
                                std::int32_t most_rows) {
  // Asked for every candidate of a choice: what costs nothing first.
  if (workload.geometry.kind != workloads::AttentionKind::mla) return grid;
  if (schedules::without_merge(schedule) != "lean" || !workloads::has_one_query_len(workload)) return grid;
  const std::int32_t rows = workload.geometry.group() * workloads::max_query_len(workload);
  const auto blocks = static_cast<std::int32_t>(schedules::ceil_div(rows, most_rows));
  if (blocks <= 1 || blocks > grid.resident()) return grid;
  grid.tile_q = blocks * most_rows;
  grid.row_blocks = blocks;
  return grid;
}

std::optional<Simulated> run_within(double limit_seconds, const workloads::Workload& workload,
                                    const schedules::Plan& plan, const simulator::KernelProfile& kernel,
                                    const Target& target, const PredictOptions& options) {
  const std::int64_t resident = simulator::grid_of(target.machine, kernel, target.ctas_per_sm).resident();
  std::optional<simulator::KernelProfile> run = simulator::as_run(kernel, workload, plan, resident);
  if (!run) return std::nullopt;
  if (options.edit_kernel) options.edit_kernel(*run, &plan);
  simulator::Simulation simulation(workload, plan, target.machine, *run, simulate_options(target, options));
  if (std::isfinite(limit_seconds) && simulation.least_seconds() > limit_seconds) return std::nullopt;
  std::optional<schedules::Timeline> timeline = simulation.run();
  return Simulated{std::move(*run), std::move(*timeline)};
}

std::optional<Prediction> predict_with(double limit_seconds, const workloads::Workload& workload,
                                       std::string_view schedule, const simulator::KernelProfile& kernel,
                                       const Target& target, const PredictOptions& options) {
  Prediction result;
  result.grid = grid_with(workload, schedule, kernel, target, options);
  result.plan = schedules::make_plan(schedule, workload, result.grid);
  std::optional<Simulated> met = run_within(limit_seconds, workload, result.plan, kernel, target, options);
  if (!met) return std::nullopt;
  result.kernel = std::move(met->kernel);
  result.timeline = std::move(met->timeline);
  return result;
}

std::optional<Prediction> predict_on_fastest_config(const workloads::Workload& workload, std::string_view schedule,
                                                    const Target& target, const PredictOptions& options) {
  schedules::find(schedule);  // a name that does not exist is told before a kernel is looked for
  const std::vector<simulator::KernelProfile> configs = configs_for(workload, schedule, target, 0);
  if (configs.empty()) return std::nullopt;
  return fastest_config(std::numeric_limits<double>::infinity(), workload, schedule, target, configs, options);
}

Prediction predict_on_config(const workloads::Workload& workload, std::string_view schedule, std::string_view config,
                             const Target& target, const PredictOptions& options) {
  for (const simulator::KernelProfile& kernel : configs_for(workload, schedule, target, 0)) {
    if (kernel.config != config) continue;
    constexpr double kNoLimit = std::numeric_limits<double>::infinity();
    if (auto made = predict_with(kNoLimit, workload, schedule, kernel, target, options)) return std::move(*made);
  }
  throw base::InputError(
      fmt::format("schedule {}: config {} of its kernel cannot run a batch of {} requests; allowed: "
                  "one that can run every batch",
                  schedule, config, workload.requests.size()));
}

schedules::Grid grid_for(const workloads::Workload& workload, std::string_view schedule, const Target& target,
                         const PredictOptions& options) {
  if (const auto made = predict_on_fastest_config(workload, schedule, target, options)) return made->grid;
  return grid_with(workload, schedule, kernel_before(workload, schedule, target, options), target, options);
}

Simulated simulate_plan(const workloads::Workload& workload, const schedules::Plan& plan, const Target& target,
                        const PredictOptions& options) {
  const std::vector<simulator::KernelProfile> configs = configs_for(workload, plan.schedule, target, plan.num_splits);
  if (configs.empty()) return Meeting(workload, plan, target, options).simulate();
  std::optional<Simulated> best;
  double limit = std::numeric_limits<double>::infinity();
  for (const simulator::KernelProfile& kernel : configs) {
    if (kernel.most_rows != rows_for(plan, configs)) continue;
    std::optional<Simulated> met = run_within(limit, workload, plan, kernel, target, options);
    if (!met || (best && best->timeline.seconds <= met->timeline.seconds)) continue;
    limit = met->timeline.seconds;
    best = std::move(met);
  }
  if (!best) refuse_configs(plan, configs.size());
  return std::move(*best);
}

std::optional<Prediction> predict_within(double limit_seconds, const workloads::Workload& workload,
                                         std::string_view schedule, const Target& target,
                                         const PredictOptions& options) {
  schedules::find(schedule);
  const std::vector<simulator::KernelProfile> configs = configs_for(workload, schedule, target, 0);
  if (!configs.empty()) return fastest_config(limit_seconds, workload, schedule, target, configs, options);
  Prediction result;
  result.grid = grid_with(workload, schedule, kernel_before(workload, schedule, target, options), target, options);
  result.plan = schedules::make_plan(schedule, workload, result.grid);
  Meeting meeting(workload, result.plan, target, options);
  if (std::isfinite(limit_seconds) && meeting.least_seconds() > limit_seconds) return std::nullopt;
  Simulated simulated = std::move(meeting).simulate();
  result.kernel = std::move(simulated.kernel);
  result.timeline = std::move(simulated.timeline);
  return result;
}

Prediction predict(const workloads::Workload& workload, std::string_view schedule, const Target& target,
                   const PredictOptions& options) {
  if (schedule == kAuto) return choose(workload, target, options);
  return *predict_within(std::numeric_limits<double>::infinity(), workload, schedule, target, options);
}

}  // namespace splitwave::studies
