// SPDX-License-Identifier: Apache-2.0
#include "studies/records.h"

#include <nlohmann/json.hpp>

#include "base/build_info.h"
#include "base/error.h"
#include "schedules/plan_json.h"
#include "simulator/energy.h"
#include "studies/choose.h"

namespace splitwave::studies {

reports::Record start_record(const std::string& workload, const std::string& schedule, std::string_view executor,
                             const std::string& machine) {
  reports::Record record;
  record.workload = workload;
  record.schedule = schedule;
  record.executor = executor;
  record.machine = machine;
  record.commit = base::commit();
  record.version = base::version();
  return record;
}

reports::Record plan_record(const workloads::Workload& workload, const schedules::Plan& plan,
                            const schedules::Grid& grid, const std::string& machine, bool by_auto) {
  reports::Record record = start_record(workload.name, by_auto ? std::string(kAuto) : plan.schedule, "", machine);
  if (by_auto) record.chosen = plan.schedule;
  record.bytes = workloads::minimal_bytes(workload);
  record.num_splits = plan.num_splits;
  record.ctas = plan.ctas();
  record.waves = static_cast<double>(plan.ctas()) / grid.resident();
  record.merge = to_string(plan.merge);
  return record;
}

void set_times(reports::Record& record, double median, double p20, double p80, std::int64_t samples) {
  record.seconds = median;
  record.seconds_p20 = p20;
  record.seconds_p80 = p80;
  record.samples = samples;
  if (median > 0) record.bytes_per_second = static_cast<double>(*record.bytes) / median;
}

reports::RecordError record_error(const cpu_reference::Errors& errors) {
  return {errors.relative_l2, errors.rmse, errors.max_abs};
}

reports::Record record_of(const Prediction& prediction, const workloads::Workload& workload, const Target& target) {
  reports::Record record = plan_record(workload, prediction.plan, prediction.grid, target.name, prediction.by_auto);
  record.executor = reports::kSimulator;
  if (!prediction.kernel.config.empty()) record.kernel = prediction.kernel.config;
  record.seconds = prediction.timeline.seconds;
  if (prediction.timeline.seconds > 0) {
    record.bytes_per_second = static_cast<double>(*record.bytes) / prediction.timeline.seconds;
  }
  record.waves = prediction.timeline.waves;
  record.occupancy = prediction.timeline.occupancy;
  record.breakdown = prediction.timeline.breakdown;
  record.traffic = prediction.timeline.traffic;
  record.energy = simulator::energy(workload, prediction.plan, prediction.timeline, target.machine, prediction.kernel);
  if (record.energy) record.joules = record.energy->total();
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

std::string plan_line(const workloads::Workload& workload, const std::string& schedule, const Target& target, bool full,
                      bool strict) {
  using Json = nlohmann::ordered_json;
  const auto line = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  Json names = {{"workload", workload.name}, {"machine", target.name}};
  try {
    const Prediction made = predict(workload, schedule, target);
    const std::string text = plan_to_json(workload, made.plan, made.grid, full);
    if (full) return text;
    if (made.by_auto) names["asked"] = kAuto;
    const std::string begin = line(names);
    return begin.substr(0, begin.size() - 1) + ',' + text.substr(1);
  } catch (const base::InputError& error) {
    if (strict) throw;
    names["schedule"] = schedule;
    names["failure"] = error.what();
    return line(names);
  }
}

reports::Record failed_record(const std::string& workload, const std::string& schedule, const std::string& executor,
                              const std::string& machine, const std::string& reason) {
  reports::Record record = start_record(workload, schedule, executor, machine);
  record.failure = reason;
  return record;
}

}  // namespace splitwave::studies
