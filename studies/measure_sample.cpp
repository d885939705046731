// SPDX-License-Identifier: Apache-2.0
#include "studies/measure_sample.h"

#include "base/error.h"
#include "cpu_reference/compare.h"
#include "cpu_reference/oracle.h"
#include "cpu_reference/run_plan.h"
#include "schedules/sample.h"
#include "studies/predict.h"
#include "studies/records.h"
#include "workloads/sample.h"

namespace splitwave::studies {
namespace {

/// The output of a plan for the groups beside the exact one.
cpu_reference::Errors check(const workloads::Workload& workload, const schedules::Plan& plan,
                            const std::vector<workloads::KvGroup>& groups, const workloads::Workload& sample,
                            const workloads::Tensors& tensors, const cpu_reference::Result<double>& exact,
                            std::int32_t threads) {
  const schedules::Plan part = schedules::sampled_plan(workload, plan, groups);
  return cpu_reference::compare(cpu_reference::run_plan(sample, tensors, part, threads), exact);
}

}  // namespace

double sample_work(const workloads::Workload& workload, std::size_t schedules, std::int64_t groups) {
  const std::vector<workloads::KvGroup> chosen = workloads::sample_groups(workload, groups);
  return static_cast<double>(workloads::minimal_bytes(workloads::sampled_workload(workload, chosen))) *
         (kOracleReads + static_cast<double>(schedules));
}

void measure_sample(const workloads::Workload& workload, const std::vector<std::string>& schedules, const Target& cpu,
                    std::int64_t groups, const MeasureOutput& output) {
  const std::vector<workloads::KvGroup> chosen = workloads::sample_groups(workload, groups);
  const workloads::Workload sample = workloads::sampled_workload(workload, chosen);
  const auto bytes = static_cast<double>(workloads::minimal_bytes(sample));
  output.watcher.begin("oracle of " + workload.name);
  const workloads::Tensors tensors = workloads::make_sampled_tensors(workload, chosen, tensor_memory_bytes());
  const cpu_reference::Result<double> exact = cpu_reference::attend(sample, tensors);
  output.watcher.done(bytes * kOracleReads);
  for (const std::string& schedule : schedules) {
    output.watcher.begin(workload.name);
    try {
      const Prediction made = predict(workload, schedule, cpu);
      const cpu_reference::Errors errors = check(workload, made.plan, chosen, sample, tensors, exact, cpu.machine.sms);
      reports::Record record = plan_record(workload, made.plan, made.grid, cpu.name, made.by_auto);
      record.executor = "cpu";
      record.sampled_groups = static_cast<std::int64_t>(chosen.size());
      record.error = record_error(errors);
      output.checks.add(record, errors, cpu_reference::tolerance(workload.geometry.dtype));
      output.watcher.record(std::move(record));
    } catch (const base::InputError& error) {
      output.watcher.record(failed_record(workload.name, schedule, "cpu", cpu.name, error.what()));
    }
    output.watcher.done(bytes);
  }
}

}  // namespace splitwave::studies
