// SPDX-License-Identifier: Apache-2.0
#include "studies/algorithms.h"

#include "cpu_reference/algorithms/batch.h"
#include "cpu_reference/measure.h"
#include "cpu_reference/oracle.h"
#include "studies/records.h"
#include "workloads/tensors.h"

namespace splitwave::studies {
namespace {

namespace algorithms = cpu_reference::algorithms;

/// The time of one run of an algorithm in plain reads of K and V.
constexpr double kAlgorithmReads = 40;

reports::Record record_of(const workloads::Workload& workload, const algorithms::Call& call,
                          const algorithms::BatchResult& batch, const cpu_reference::Errors& errors) {
  const cpu_reference::Timing timing = cpu_reference::timing_of(batch.seconds);
  const algorithms::Traffic& bytes = batch.bytes;
  reports::Record record = start_record(workload.name, call.name(), "cpu", cpu_reference::processor_name());
  record.bytes = workloads::minimal_bytes(workload);
  set_times(record, timing.median, timing.p20, timing.p80, timing.samples);
  record.io = reports::RecordIo{bytes.q.total(),      bytes.k.total() + bytes.v.total(), bytes.scores.total(),
                                bytes.output.total(), bytes.statistics.total(),          bytes.partials.total()};
  record.error = record_error(errors);
  return record;
}

double bytes_of(const workloads::Workload& workload) {
  return static_cast<double>(workloads::minimal_bytes(workload));
}

}  // namespace

std::vector<algorithms::Call> chosen_algorithms(const std::vector<std::string>& names) {
  std::vector<algorithms::Call> calls;
  for (const std::string& name : names) {
    if (name != kAllAlgorithms) {
      calls.push_back(algorithms::parse(name));
      continue;
    }
    for (const algorithms::Algorithm& algorithm : algorithms::all()) calls.push_back(algorithms::parse(algorithm.name));
  }
  return calls;
}

double algorithm_work(const workloads::Workload& workload, std::size_t count, std::int32_t samples) {
  return bytes_of(workload) * (kOracleReads + kAlgorithmReads * static_cast<double>(count) * samples);
}

void measure_algorithms(const workloads::Workload& workload, const std::vector<algorithms::Call>& calls,
                        std::int32_t samples, const MeasureOutput& output) {
  output.watcher.begin("oracle of " + workload.name);
  const workloads::Tensors tensors = workloads::make_tensors(workload, tensor_memory_bytes());
  const cpu_reference::Result<double> exact = cpu_reference::attend(workload, tensors);
  output.watcher.done(bytes_of(workload) * kOracleReads);
  for (const algorithms::Call& call : calls) {
    output.watcher.begin(call.name() + " on " + workload.name);
    const algorithms::BatchResult batch = algorithms::attend_by(call, workload, tensors, samples);
    const cpu_reference::Errors errors = cpu_reference::compare(batch.result, exact);
    reports::Record record = record_of(workload, call, batch, errors);
    output.checks.add(record, errors, cpu_reference::double_tolerance());
    output.watcher.record(std::move(record));
    output.watcher.done(bytes_of(workload) * kAlgorithmReads * samples);
  }
}

}  // namespace splitwave::studies
