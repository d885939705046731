// SPDX-License-Identifier: Apache-2.0
// Results in the formats of other tools, as records and back. docs/records.md says what each cannot hold.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "reports/record.h"

namespace splitwave::reports {

/// Takes the records of a document one after another, and the reasons of those that are none, each with its place.
struct RecordTaker {
  std::function<void(Record record, const std::string& place)> take;
  std::function<void(const std::string& reason)> skip;
};

/// A line of FlashInfer-Bench's traces (flashinfer-bench 40e6ca7, flashinfer_bench/data/trace.py:153): workload is
/// "DEFINITION/UUID", schedule the solution, seconds the latency, error.max_abs the greatest absolute error; a status
/// that is not PASSED is a failure. Throws InputError, also for a line without evaluation, which holds no result.
Record parse_flashinfer_trace(std::string_view line, const std::string& where);

/// The record as such a line. It needs an error that was measured, or a failure: a trace that passed has a correctness
/// (trace.py:110), so that predictions are none. What the format has no place for is in correctness.extra. Throws
/// InputError with the reason.
std::string to_flashinfer_trace(const Record& record);

/// A result file of vLLM's attention benchmarks (benchmarks/attention_benchmarks/common.py, BenchmarkResult and
/// ResultsFormatter.save_json; times per layer: runner.py): workload is the spec h=...,d=...,page=...:BATCH, schedule
/// the backend, seconds the median (the mean, where an older file has no median). Throws InputError if the text is
/// none.
void parse_vllm(std::string_view text, const std::string& where, const RecordTaker& taker);

/// The record as an entry of such a file. Its workload's name must be a one-line spec, which has the heads that the
/// format wants. Throws InputError with the reason.
std::string to_vllm(const Record& record);

/// A file of nvbench (nvbench 66212f1, nvbench/json_printer.cu:412, format 1.0.0). States that to_nvbench wrote are the
/// records that they were; of others schedule is the benchmark, workload the axes, seconds the median of the cold GPU
/// times (nvbench/detail/measure_cold.cu:431; the mean if there is none). Throws InputError if the text is none.
void parse_nvbench(std::string_view text, const std::string& where, const RecordTaker& taker);

/// Writes such a file: a benchmark "splitwave" with the axes Workload, Schedule and Executor, and a state per record.
class NvbenchPrinter {
 public:
  std::string begin() const;
  /// The state of a record, with a comma before it but for the first.
  std::string state(const Record& record);
  /// The axes and devices of all states.
  std::string end() const;

 private:
  std::map<std::string, std::int64_t> devices_;          ///< machine -> id
  std::map<std::string, std::set<std::string>> values_;  ///< axis -> values
  bool first_ = true;
};

}  // namespace splitwave::reports
