// SPDX-License-Identifier: Apache-2.0
#include "studies/rounding.h"

#include <optional>
#include <utility>

#include "base/error.h"
#include "cpu_reference/compare.h"
#include "cpu_reference/numerics/emulate.h"
#include "cpu_reference/numerics/predict_error.h"
#include "cpu_reference/oracle.h"
#include "studies/measure.h"
#include "studies/predict.h"
#include "studies/records.h"
#include "workloads/tensors.h"

namespace splitwave::studies {
namespace {

namespace numerics = cpu_reference::numerics;

constexpr const char* kCpuExecutor = "cpu";
/// The time of one emulation and its prediction in plain reads of K and V.
constexpr double kEmulationReads = 400;

/// The schedule's plan, or nothing, told to the watcher, if it cannot serve the workload.
std::optional<Prediction> plan_or_failure(const workloads::Workload& workload, const std::string& schedule,
                                          const Target& target, const Watcher& watcher) {
  try {
    return predict(workload, schedule, target);
  } catch (const base::InputError& error) {
    watcher.record(failed_record(workload.name, schedule, kCpuExecutor, target.name, error.what()));
    return std::nullopt;
  }
}

reports::Record record_of(const workloads::Workload& workload, const Prediction& made, const Target& target,
                          const numerics::Scheme& scheme, const cpu_reference::Errors& errors, double predicted_rmse) {
  reports::Record record = plan_record(workload, made.plan, made.grid, target.name, made.by_auto);
  record.executor = kCpuExecutor;
  record.rounding = scheme.name;
  record.error = record_error(errors);
  record.error->predicted_rmse = predicted_rmse;
  return record;
}

}  // namespace

std::vector<const numerics::Scheme*> chosen_roundings(const std::vector<std::string>& names) {
  std::vector<const numerics::Scheme*> chosen;
  for (const std::string& name : names) {
    if (name != kAllRoundings) {
      chosen.push_back(&numerics::find_scheme(name));
      continue;
    }
    for (const numerics::Scheme& scheme : numerics::schemes()) chosen.push_back(&scheme);
  }
  return chosen;
}

double rounding_work(const workloads::Workload& workload, std::size_t schedules, std::size_t roundings) {
  const auto pairs = static_cast<double>(schedules * roundings);
  return static_cast<double>(workloads::minimal_bytes(workload)) * (kOracleReads + kEmulationReads * pairs);
}

void measure_roundings(const workloads::Workload& workload, const std::vector<std::string>& schedules,
                       const std::vector<const numerics::Scheme*>& roundings, const Target& target,
                       const Watcher& watcher) {
  const auto bytes = static_cast<double>(workloads::minimal_bytes(workload));
  watcher.begin("oracle of " + workload.name);
  const workloads::Tensors tensors = workloads::make_tensors(workload, tensor_memory_bytes());
  const cpu_reference::Result<double> exact = cpu_reference::attend(workload, tensors);
  watcher.done(bytes * kOracleReads);
  for (const std::string& schedule : schedules) {
    const std::optional<Prediction> made = plan_or_failure(workload, schedule, target, watcher);
    for (const numerics::Scheme* scheme : roundings) {
      if (made) {
        watcher.begin(schedule + " rounded as " + std::string(scheme->name) + " on " + workload.name);
        const cpu_reference::Errors errors =
            cpu_reference::compare(numerics::emulate(workload, tensors, made->plan, scheme->rounding), exact);
        const double predicted = numerics::predict_error(workload, tensors, made->plan, scheme->rounding).rmse();
        watcher.record(record_of(workload, *made, target, *scheme, errors, predicted));
      }
      watcher.done(bytes * kEmulationReads);
    }
  }
}

}  // namespace splitwave::studies
