// SPDX-License-Identifier: Apache-2.0
#include "studies/predict.h"

#include <cmath>
#include <utility>

#include "schedules/schedules.h"
#include "simulator/bound.h"
#include "simulator/simulate.h"
#include "studies/choose.h"

namespace splitwave::studies {
namespace {

/// The kernel that runs the schedule on the target, before its plan is made.
simulator::KernelProfile kernel_before(const workloads::Workload& workload, std::string_view schedule,
                                       const Target& target, const PredictOptions& options) {
  schedules::find(schedule);  // a name that does not exist is told before a kernel is looked for
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
    simulate_.ctas_per_sm = target.ctas_per_sm;
    simulate_.spans = options.spans;
    simulate_.l2 = options.l2;
    simulate_.new_pages = options.new_pages;
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

}  // namespace

schedules::Grid grid_for(const workloads::Workload& workload, std::string_view schedule, const Target& target,
                         const PredictOptions& options) {
  schedules::Grid grid =
      simulator::grid_of(target.machine, kernel_before(workload, schedule, target, options), target.ctas_per_sm);
  grid.tile_q = options.tile_q;
  grid.tile_kv = options.tile_kv;
  return grid;
}

Simulated simulate_plan(const workloads::Workload& workload, const schedules::Plan& plan, const Target& target,
                        const PredictOptions& options) {
  return Meeting(workload, plan, target, options).simulate();
}

std::optional<Prediction> predict_within(double limit_seconds, const workloads::Workload& workload,
                                         std::string_view schedule, const Target& target,
                                         const PredictOptions& options) {
  Prediction result;
  result.grid = grid_for(workload, schedule, target, options);
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
