// SPDX-License-Identifier: Apache-2.0
#include "studies/predict.h"

#include <cmath>
#include <limits>

#include "base/build_info.h"
#include "base/error.h"
#include "schedules/schedules.h"
#include "simulator/bound.h"
#include "simulator/simulate.h"
#include "studies/choose.h"

namespace splitwave::studies {

Prediction predict(std::string_view schedule, const workloads::Workload& workload, const Target& target) {
  if (schedule == kAuto) {
    return predict_auto(workload, target);
  }
  return *predict_within(std::numeric_limits<double>::infinity(), schedule, workload, target);
}

std::optional<Prediction> predict_within(double limit, std::string_view schedule, const workloads::Workload& workload,
                                         const Target& target) {
  schedules::find(schedule);  // a name that does not exist is told before a kernel is looked for
  Prediction result;
  result.grid = simulator::grid_of(target.machine, simulator::native_kernel(schedule, workload, target.machine),
                                   target.ctas_per_sm);
  result.plan = schedules::make_plan(schedule, workload, result.grid);
  const simulator::Machine machine = machine_for(target, workload, result.plan);
  const simulator::Kernel kernel = simulator::native_kernel(result.plan, workload, machine);
  simulator::SimulateOptions options;
  options.ctas_per_sm = target.ctas_per_sm;
  if (std::isfinite(limit) && simulator::least_seconds(workload, result.plan, machine, kernel, options) > limit) {
    return std::nullopt;
  }
  result.timeline = simulator::simulate(workload, result.plan, machine, kernel, options);
  return result;
}

reports::Record plan_record(const workloads::Workload& workload, const schedules::Plan& plan,
                            const schedules::Grid& grid, const std::string& machine) {
  reports::Record record;
  record.workload = workload.name;
  record.schedule = plan.schedule;
  record.machine = machine;
  record.bytes = workloads::minimal_bytes(workload);
  record.num_splits = plan.num_splits;
  record.ctas = plan.ctas();
  record.waves = static_cast<double>(plan.ctas()) / grid.resident();
  record.merge = to_string(plan.merge);
  record.commit = base::commit();
  record.version = base::version();
  return record;
}

reports::Record record_of(const Prediction& prediction, const workloads::Workload& workload, const Target& target) {
  reports::Record record = plan_record(workload, prediction.plan, prediction.grid, target.name);
  record.executor = reports::kSimulator;
  record.seconds = prediction.timeline.seconds;
  if (prediction.timeline.seconds > 0) {
    record.bytes_per_second = static_cast<double>(*record.bytes) / prediction.timeline.seconds;
  }
  record.waves = prediction.timeline.waves;
  record.occupancy = prediction.timeline.occupancy;
  record.breakdown = prediction.timeline.breakdown;
  return record;
}

reports::Record predicted_record(std::string_view schedule, const workloads::Workload& workload, const Target& target,
                                 bool strict) {
  try {
    return record_of(predict(schedule, workload, target), workload, target);
  } catch (const base::InputError& error) {
    if (strict) {
      throw;
    }
    return failed_record(workload.name, std::string(schedule), std::string(reports::kSimulator), target.name,
                         error.what());
  }
}

reports::Record failed_record(const std::string& workload, const std::string& schedule, const std::string& executor,
                              const std::string& machine, const std::string& reason) {
  reports::Record record;
  record.workload = workload;
  record.schedule = schedule;
  record.executor = executor;
  record.machine = machine;
  record.failure = reason;
  record.commit = base::commit();
  record.version = base::version();
  return record;
}

}  // namespace splitwave::studies
