// SPDX-License-Identifier: Apache-2.0
// How fast the simulator is: microseconds per plan, one core. `ctas` of the growth curves are CTAs of the plan.
#include <benchmark/benchmark.h>

#include <string>

#include "schedules/schedules.h"
#include "simulator/simulate.h"
#include "studies/choice_cache.h"
#include "studies/choose.h"
#include "studies/predict.h"
#include "workloads/load.h"

namespace {

using namespace splitwave;

void run(benchmark::State& state, const workloads::Workload& workload, const schedules::Plan& plan,
         const studies::Target& target) {
  const simulator::KernelProfile kernel = studies::simulate_plan(workload, plan, target).kernel;
  double seconds = 0;
  while (state.KeepRunning()) {
    seconds = simulator::simulate(workload, plan, target.machine, kernel).seconds;
    benchmark::DoNotOptimize(seconds);
  }
  state.counters["ctas"] = plan.ctas();
  state.counters["predicted_us"] = seconds * 1e6;
}

/// A decode plan as a serving engine would ask for it.
void decode(benchmark::State& state, const std::string& schedule, const std::string& spec) {
  const studies::Target target = studies::target("h200");
  const workloads::Workload workload = workloads::parse_spec(spec);
  const schedules::Plan plan = schedules::make_plan(schedule, workload, studies::grid_for(workload, schedule, target));
  run(state, workload, plan, target);
}

constexpr const char* kUniform = "llama-3-8b:8q1s32k";
constexpr const char* kRagged =
    "llama-3-8b:1q1s65536_1q1s3818_1q1s11348_1q1s19623_1q1s14060_1q1s8623_1q1s32212_1q1s54490";

BENCHMARK_CAPTURE(decode, fixed_split_uniform, "fixed-split:fa2", kUniform)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(decode, fixed_split_ragged, "fixed-split:fa2", kRagged)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(decode, fa3_ragged, "fa3", kRagged)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(decode, flashinfer_ragged, "flashinfer", kRagged)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(decode, lean_uniform, "lean", kUniform)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(decode, lean_ragged, "lean", kRagged)->Unit(benchmark::kMicrosecond);

/// Growth: state.range(0) CTAs of one item each, all of one length or all of different lengths.
void grow(benchmark::State& state, bool ragged) {
  studies::Overrides own_kernel;
  own_kernel.kernel = "splitwave";
  const studies::Target target = studies::target("h200", own_kernel);
  workloads::Workload workload = workloads::parse_spec("h=1/1,d=128:1q1s1k");
  const auto ctas = static_cast<std::int32_t>(state.range(0));
  workload.requests.clear();
  schedules::Plan plan;
  plan.schedule = "benchmark";
  plan.tile_q = 64;
  plan.tile_kv = 128;
  for (std::int32_t i = 0; i < ctas; ++i) {
    const std::int32_t tokens = ragged ? 1024 + static_cast<std::int32_t>(i * 7919LL % 4093) : 2048;
    workload.requests.push_back({1, tokens});
    plan.outputs.push_back({i, 0, 1, 0, 1});
    plan.items.push_back({i, 0, tokens, -1});
    plan.cta_begin.push_back(i + 1);
  }
  run(state, workload, plan, target);
  state.SetComplexityN(ctas);
}

void curve(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t ctas : {132, 264, 1'000, 10'000, 100'000, 1'000'000, 10'000'000}) benchmark->Arg(ctas);
  benchmark->Unit(benchmark::kMicrosecond);
}

BENCHMARK_CAPTURE(grow, uniform, false)->Apply(curve)->Complexity();
BENCHMARK_CAPTURE(grow, ragged, true)->Apply(curve)->Complexity(benchmark::oNLogN);

/// The choice of plan and kernel for a shape that was not seen before: a decode step's question. Shapes differ from
/// call to call. The goals are 200 us for a uniform batch and 1 ms for a ragged one of 256 requests.
void choose(benchmark::State& state, bool ragged) {
  studies::Overrides own_kernel;
  own_kernel.kernel = simulator::kOwnKernel;
  const studies::Target target = studies::target("h200-calibrated", own_kernel);
  const auto batch = static_cast<std::size_t>(state.range(0));
  workloads::Workload workload = workloads::parse_spec("llama-3-8b:1q1s1k");
  std::int32_t step = 0;
  while (state.KeepRunning()) {
    ++step;
    workload.requests.clear();
    for (std::size_t i = 0; i < batch; ++i) {
      const auto scatter = static_cast<std::int32_t>(i * 7919 % 4093);
      workload.requests.push_back({1, 1000 + step % 1000 + (ragged ? scatter : 0)});
    }
    benchmark::DoNotOptimize(studies::choose(workload, target).timeline.seconds);
  }
}

BENCHMARK_CAPTURE(choose, uniform, false)->Arg(1)->Arg(8)->Arg(64)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(choose, ragged, true)->RangeMultiplier(2)->Range(2, 512)->Unit(benchmark::kMicrosecond);

/// The same where a choice for such a batch is there already. The goal is 2 us.
void choose_again(benchmark::State& state) {
  studies::Overrides own_kernel;
  own_kernel.kernel = simulator::kOwnKernel;
  studies::ChoiceCache choices(studies::target("h200-calibrated", own_kernel));
  workloads::Workload workload = workloads::parse_spec("llama-3-8b:1q1s8k");
  workload.requests.assign(static_cast<std::size_t>(state.range(0)), workload.requests.front());
  while (state.KeepRunning()) benchmark::DoNotOptimize(choices.get(workload).grid.sms);
}

BENCHMARK(choose_again)->Arg(8)->Arg(256)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
