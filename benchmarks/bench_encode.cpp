// SPDX-License-Identifier: Apache-2.0
// Host time of turning a plan into the table that the CUDA kernels read: what a serving engine pays per decode step,
// beside the upload. The goal is 20 us for 1,000 CTAs.
#include <benchmark/benchmark.h>

#include <chrono>
#include <vector>

#include "base/quantile.h"
#include "gpu/encode.h"
#include "schedules/schedules.h"
#include "workloads/load.h"

namespace splitwave {
namespace {

/// Median and 90th percentile of single calls as counters, in microseconds: a mean would hide the calls that a server
/// waits for.
void report_percentiles(benchmark::State& state, const std::vector<double>& seconds) {
  state.counters["p50_us"] = 1e6 * base::quantile(seconds, 0.5);
  state.counters["p90_us"] = 1e6 * base::quantile(seconds, 0.9);
}

template <class Work>
void time_calls(benchmark::State& state, const schedules::Plan& plan, Work work) {
  std::vector<double> seconds;
  while (state.KeepRunning()) {
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(work());
    benchmark::ClobberMemory();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  report_percentiles(state, seconds);
  state.counters["ctas"] = plan.ctas();
  state.counters["items"] = static_cast<double>(plan.items.size());
}

schedules::Plan plan_of(const workloads::Workload& workload, const char* schedule, std::int64_t ctas) {
  return schedules::make_plan(schedule, workload, schedules::Grid{static_cast<std::int32_t>(ctas), 1, 0, 64});
}

void encode(benchmark::State& state, const char* schedule, const char* spec) {
  const workloads::Workload workload = workloads::parse_spec(spec);
  const schedules::Plan plan = plan_of(workload, schedule, state.range(0));
  const gpu::KvAddressing addressing = gpu::dense_addressing(workload);
  const gpu::PlanSize size = gpu::size_of(plan);
  std::vector<gpu::DeviceItem> items(static_cast<std::size_t>(gpu::table_size(plan, {})));
  std::vector<gpu::DeviceMerge> merges(static_cast<std::size_t>(size.merges));
  gpu::Encoder encoder;
  time_calls(state, plan, [&] { return encoder.encode(workload, addressing, plan, {}, 0, 3, items, merges); });
}

/// All of a uniform plan's encoding: it needs no table.
void as_uniform(benchmark::State& state, const char* schedule, const char* spec) {
  const workloads::Workload workload = workloads::parse_spec(spec);
  const schedules::Plan plan = plan_of(workload, schedule, state.range(0));
  const gpu::KvAddressing addressing = gpu::dense_addressing(workload);
  time_calls(state, plan, [&] { return gpu::as_uniform(workload, addressing, plan); });
}

BENCHMARK_CAPTURE(encode, lean_ragged, "lean", "llama-3-8b:16q1s8k_48q1s3001_64q1s500")->Arg(132)->Arg(1000);
BENCHMARK_CAPTURE(encode, split_uniform, "fixed-split:8", "llama-3-8b:16q1s32k")->Arg(1000);
BENCHMARK_CAPTURE(as_uniform, split_uniform, "fixed-split:8+last_arriver", "llama-3-8b:16q1s32k")->Arg(1000);

}  // namespace
}  // namespace splitwave

BENCHMARK_MAIN();
