// SPDX-License-Identifier: Apache-2.0
#include "studies/records.h"

#include "base/build_info.h"
#include "base/error.h"
#include "studies/choose.h"

namespace splitwave::studies {

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
  if (prediction.by_auto) {
    record.schedule = kAuto;
    record.chosen = prediction.plan.schedule;
  }
  record.executor = reports::kSimulator;
  record.seconds = prediction.timeline.seconds;
  if (prediction.timeline.seconds > 0) {
    record.bytes_per_second = static_cast<double>(*record.bytes) / prediction.timeline.seconds;
  }
  record.waves = prediction.timeline.waves;
  record.occupancy = prediction.timeline.occupancy;
  record.breakdown = prediction.timeline.breakdown;
  record.traffic = prediction.timeline.traffic;
  return record;
}

reports::Record predicted_record(const workloads::Workload& workload, std::string_view schedule, const Target& target,
                                 bool strict) {
  try {
    return record_of(predict(workload, schedule, target), workload, target);
  } catch (const base::InputError& error) {
    if (strict) throw;
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
