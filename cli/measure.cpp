// SPDX-License-Identifier: Apache-2.0
#include "cli/measure.h"

#include <fmt/format.h>

#include <optional>

#include "cli/predict.h"
#include "cli/signals.h"
#include "cpu_reference/compare.h"
#include "cpu_reference/measure.h"
#include "cpu_reference/oracle.h"
#include "workloads/error.h"
#include "workloads/tensors.h"

namespace splitwave::cli {
namespace {

constexpr const char* kCpuExecutor = "cpu";
/// Share of the available memory that tensors may take: outputs, the oracle's and the system need the rest.
constexpr double kMemoryShare = 0.7;
/// The oracle's time in plain reads of K and V, for the progress bar.
constexpr double kOracleReads = 40;
/// The same for one timed schedule, warm-up and cache flushes included.
constexpr double kTimingReads = 10;

reports::Record measured_record(const workloads::Workload& workload, const Prediction& prediction, const Target& cpu,
                                const cpu_reference::Timing& timing, const cpu_reference::Errors& errors) {
  reports::Record record = plan_record(workload, prediction.plan, prediction.grid, cpu.name);
  record.executor = kCpuExecutor;
  record.seconds = timing.median;
  record.seconds_p20 = timing.p20;
  record.seconds_p80 = timing.p80;
  record.samples = timing.samples;
  if (timing.median > 0) {
    record.bytes_per_second = static_cast<double>(*record.bytes) / timing.median;
  }
  record.error = reports::RecordError{errors.relative_l2, errors.rmse, errors.max_abs};
  return record;
}

/// The prediction, or nothing and a record of why the schedule cannot serve the workload.
std::optional<Prediction> predicted_or_failed(const std::string& schedule, const workloads::Workload& workload,
                                              const Target& cpu, RecordSink& sink) {
  std::string reason;
  try {
    return predict(schedule, workload, cpu);
  } catch (const workloads::InputError& error) {
    reason = error.what();
  }
  sink.add(failed_record(workload.name, schedule, kCpuExecutor, cpu.name, reason));
  return std::nullopt;
}

void check(const reports::Record& record, const cpu_reference::Errors& errors, const cpu_reference::Tolerance& limit,
           CheckCount& checks) {
  ++checks.checked;
  if (!cpu_reference::acceptable(errors, limit)) {
    checks.wrong.push_back(fmt::format(
        "{} by {}: worst row's relative L2 error {:.2e} (allowed {:.2e}), relative LSE error {:.2e} (allowed {:.2e}), "
        "{} misplaced non-finite elements",
        record.workload, record.schedule, errors.worst_row_relative_l2, limit.relative_l2, errors.lse_max_relative,
        limit.lse_relative, errors.mismatched_non_finite));
  }
}

}  // namespace

std::string CheckCount::sentence() const {
  return wrong.empty() ? fmt::format("All {} outputs are within tolerance of the oracle.", checked)
                       : fmt::format("{} of {} outputs are out of tolerance, the first: {}.", wrong.size(), checked,
                                     wrong.front());
}

double measuring_work(const workloads::Workload& workload, std::size_t schedules) {
  return static_cast<double>(workloads::minimal_bytes(workload)) *
         (kOracleReads + kTimingReads * static_cast<double>(schedules));
}

void measure_workload(const workloads::Workload& workload, const std::vector<std::string>& schedules, const Target& cpu,
                      const TimingBudget& budget, bool predicted, RecordSink& sink, Progress& progress,
                      CheckCount& checks) {
  const auto bytes = static_cast<double>(workloads::minimal_bytes(workload));
  stop_if_asked();
  progress.show("oracle of " + workload.name);
  const workloads::Tensors tensors = workloads::make_tensors(
      workload, static_cast<std::int64_t>(kMemoryShare * static_cast<double>(workloads::available_memory_bytes())));
  const cpu_reference::Result<double> exact = cpu_reference::attend(workload, tensors);
  progress.add(bytes * kOracleReads);
  const cpu_reference::Tolerance limit = cpu_reference::tolerance(workload.geometry.dtype);
  for (const std::string& schedule : schedules) {
    stop_if_asked();
    progress.show(schedule + " on " + workload.name);
    const std::optional<Prediction> prediction = predicted_or_failed(schedule, workload, cpu, sink);
    if (prediction) {
      cpu_reference::Result<float> result;
      const cpu_reference::Timing timing = cpu_reference::time_plan(
          workload, tensors, prediction->plan, cpu.machine.sms, budget.samples, budget.seconds, result);
      const cpu_reference::Errors errors = cpu_reference::compare(result, exact);
      if (predicted) {
        sink.add(record_of(*prediction, workload, cpu));
      }
      sink.add(measured_record(workload, *prediction, cpu, timing, errors));
      check(sink.records().back(), errors, limit, checks);
    }
    progress.add(bytes * kTimingReads);
  }
}

}  // namespace splitwave::cli
