// SPDX-License-Identifier: Apache-2.0
// Benchmarks that time themselves, sample by sample.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string>

namespace splitwave::benchmarks {

/// 15 samples in milliseconds, of the times that `run` sets (State::SetIterationTime).
inline void add_case(const std::string& name, const std::function<void(benchmark::State&)>& run) {
  benchmark::RegisterBenchmark(name.c_str(), run)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(15);
}

/// Runs the cases that the command line asks for. Returns the exit status.
inline int run_cases(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace splitwave::benchmarks
