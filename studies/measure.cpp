// SPDX-License-Identifier: Apache-2.0
#include "studies/measure.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "base/memory.h"
#include "cpu_reference/compare.h"
#include "cpu_reference/measure.h"
#include "cpu_reference/oracle.h"
#include "studies/predict.h"
#include "studies/records.h"
#include "workloads/tensors.h"

namespace splitwave::studies {
namespace {

constexpr const char* kCpuExecutor = "cpu";
/// The time of one timed schedule in plain reads of K and V, warm-up and cache flushes included.
constexpr double kTimingReads = 10;

reports::Record measured_record(const workloads::Workload& workload, const Prediction& prediction, const Target& cpu,
                                const cpu_reference::Timing& timing, const cpu_reference::Errors& errors) {
  reports::Record record = plan_record(workload, prediction.plan, prediction.grid, cpu.name, prediction.by_auto);
  record.executor = kCpuExecutor;
  set_times(record, timing.median, timing.p20, timing.p80, timing.samples);
  record.error = record_error(errors);
  return record;
}

/// The prediction, or nothing and a record of why the schedule cannot serve the workload.
std::optional<Prediction> predicted_or_failed(const std::string& schedule, const workloads::Workload& workload,
                                              const Target& cpu, const Watcher& watcher) {
  std::string reason;
  try {
    return predict(workload, schedule, cpu);
  } catch (const base::InputError& error) {
    reason = error.what();
  }
  watcher.record(failed_record(workload.name, schedule, kCpuExecutor, cpu.name, reason));
  return std::nullopt;
}

double cpu_work(const workloads::Workload& workload, std::size_t schedules) {
  return static_cast<double>(workloads::minimal_bytes(workload)) *
         (kOracleReads + kTimingReads * static_cast<double>(schedules));
}

void measure_on_cpu(const workloads::Workload& workload, const std::vector<std::string>& schedules, const Target& cpu,
                    const TimingBudget& budget, bool predicted, const MeasureOutput& output) {
  const auto bytes = static_cast<double>(workloads::minimal_bytes(workload));
  output.watcher.begin("oracle of " + workload.name);
  const workloads::Tensors tensors = workloads::make_tensors(workload, tensor_memory_bytes());
  const cpu_reference::Result<double> exact = cpu_reference::attend(workload, tensors);
  output.watcher.done(bytes * kOracleReads);
  const cpu_reference::Tolerance limit = cpu_reference::tolerance(workload.geometry.dtype);
  for (const std::string& schedule : schedules) {
    output.watcher.begin(schedule + " on " + workload.name);
    const std::optional<Prediction> prediction = predicted_or_failed(schedule, workload, cpu, output.watcher);
    if (prediction) {
      cpu_reference::Result<float> result;
      const cpu_reference::Timing timing = cpu_reference::time_plan(
          workload, tensors, prediction->plan, cpu.machine.sms, budget.samples, budget.seconds, result);
      const cpu_reference::Errors errors = cpu_reference::compare(result, exact);
      if (predicted) {
        output.watcher.record(record_of(*prediction, workload, cpu));
      }
      reports::Record record = measured_record(workload, *prediction, cpu, timing, errors);
      output.checks.add(record, errors, limit);
      output.watcher.record(std::move(record));
    }
    output.watcher.done(bytes * kTimingReads);
  }
}

}  // namespace

void CheckCount::add(const reports::Record& record, const cpu_reference::Errors& errors,
                     const cpu_reference::Tolerance& limit) {
  ++checked;
  if (!cpu_reference::acceptable(errors, limit)) {
    wrong.push_back(fmt::format(
        "{} by {}: worst row's relative L2 error {:.2e} (allowed {:.2e}), relative LSE error {:.2e} (allowed {:.2e}), "
        "{} misplaced non-finite elements",
        record.workload, record.schedule, errors.worst_row_relative_l2, limit.relative_l2, errors.lse_max_relative,
        limit.lse_relative, errors.mismatched_non_finite));
  }
}

std::string CheckCount::sentence() const {
  std::string text = wrong.empty() ? fmt::format("All {} outputs are within tolerance of the oracle.", checked)
                                   : fmt::format("{} of {} outputs are out of tolerance, the first: {}.", wrong.size(),
                                                 checked, wrong.front());
  if (unchecked > 0) {
    text += fmt::format(" {} more were not checked: too large for the oracle.", unchecked);
  }
  return text;
}

std::int64_t tensor_memory_bytes() {
  constexpr double kShare = 0.7;
  return static_cast<std::int64_t>(kShare * static_cast<double>(base::available_memory_bytes()));
}

Executor cpu_executor(std::int32_t threads, bool measured_now, const TimingBudget& budget) {
  Executor cpu;
  cpu.target = this_cpu(threads, measured_now);
  cpu.environment = {
      {"CPU", cpu.target.name},
      {"Timing", fmt::format("cold caches, at least {} runs and {} s of each plan; median, p20, p80 in records.jsonl",
                             budget.samples, budget.seconds)},
      {"Plans on the CPU", "one CTA per thread, each schedule's own tile sizes"},
      {"CPU prediction",
       "from bandwidth, tile time and overheads measured at the start of this run, apart from the plans"}};
  cpu.work = cpu_work;
  cpu.measure = measure_on_cpu;
  return cpu;
}

}  // namespace splitwave::studies
