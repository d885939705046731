// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention on one CPU thread against what its arithmetic allows: run_plan beside a loop of nothing
// but independent fp32 multiply-adds, sample by sample in the same run, for each instruction set, in the thread's own
// CPU time, since other work on the machine takes from both. Counters: fraction_of_fma (median over the samples),
// GFMA_per_s, peak_GFMA_per_s, kv_GB_per_s. docs/performance.md has the table and the goal.
#include <benchmark/benchmark.h>

#include <ctime>
#include <string>
#include <vector>

#include "base/memory.h"
#include "benchmarks/timed_cases.h"
#include "cpu_reference/isa.h"
#include "cpu_reference/measure.h"
#include "cpu_reference/run_plan.h"
#include "schedules/schedules.h"
#include "workloads/load.h"

namespace {

using namespace splitwave;
using cpu_reference::Isa;

/// Chains of multiply-adds that do not wait for one another: more than any core needs to keep its units busy.
constexpr int kChains = 12;

/// Rounds of kChains multiply-adds of `width` floats each. No two chains are known to be equal, or one would do for
/// both.
#define SPLITWAVE_FMA_LOOP(name, width, isa)                                       \
  isa void name(long rounds) {                                                     \
    using Vec = float __attribute__((vector_size((width) * sizeof(float))));       \
    Vec sums[kChains] = {};                                                        \
    Vec factor = Vec{} + 0.5F;                                                     \
    for (Vec & sum : sums) asm volatile("" : "+x"(sum));                           \
    asm volatile("" : "+x"(factor));                                               \
    for (long i = 0; i < rounds; ++i) {                                            \
      _Pragma("GCC unroll 16") for (Vec & sum : sums) sum = sum * factor + factor; \
    }                                                                              \
    for (Vec & sum : sums) asm volatile("" : "+x"(sum));                           \
  }

#if defined(__x86_64__)
SPLITWAVE_FMA_LOOP(fma_avx512, 16, __attribute__((target("avx512f,fma"), optimize("fp-contract=fast"))))
SPLITWAVE_FMA_LOOP(fma_avx2, 8, __attribute__((target("avx2,fma"), optimize("fp-contract=fast"))))
#endif
SPLITWAVE_FMA_LOOP(fma_baseline, 4, )

struct Peak {
  void (*loop)(long rounds);
  int width;
};

Peak peak_of(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return {fma_avx512, 16};
  if (isa == Isa::avx2) return {fma_avx2, 8};
#endif
  return {fma_baseline, 4};
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double seconds_of(const auto& work) {
  const double begin = cpu_seconds();
  work();
  return cpu_seconds() - begin;
}

/// Multiply-adds per second.
double peak_per_second(Isa isa) {
  constexpr long rounds = 1'000'000;
  const Peak peak = peak_of(isa);
  const double seconds = seconds_of([&] { peak.loop(rounds); });
  return static_cast<double>(rounds) * kChains * peak.width / seconds;
}

/// One multiply-add per score and element of K, and one per weight and element of V.
double multiply_adds(const workloads::Workload& workload) {
  const workloads::Geometry& g = workload.geometry;
  double tokens = 0;
  for (const workloads::Request& request : workload.requests) tokens += request.context_len;
  return tokens * g.query_heads * (g.head_dim + g.value_dim);
}

void run(benchmark::State& state, const std::string& spec, Isa isa) {
  constexpr int threads = 1;
  const workloads::Workload workload = workloads::parse_spec(spec);
  const workloads::Tensors tensors = workloads::make_tensors(workload, base::available_memory_bytes() / 2);
  const schedules::Plan plan = schedules::make_plan("lean", workload, {threads, 1, 0, 0});
  const cpu_reference::WorkspacePtr workspace = cpu_reference::make_workspace(workload, plan, threads, isa);
  cpu_reference::Result<float> result;
  const auto attend = [&] { cpu_reference::run_plan(workload, tensors, plan, *workspace, threads, result); };
  attend();
  std::vector<double> fractions;
  std::vector<double> rates;
  std::vector<double> peaks;
  while (state.KeepRunning()) {
    // The limit before and after a run, so that a drift of the machine cancels.
    const double before = peak_per_second(isa);
    const double seconds = seconds_of(attend);
    peaks.push_back((before + peak_per_second(isa)) / 2);
    rates.push_back(multiply_adds(workload) / seconds);
    fractions.push_back(rates.back() / peaks.back());
    state.SetIterationTime(seconds);
  }
  const double rate = cpu_reference::timing_of(rates).median;
  state.counters["fraction_of_fma"] = cpu_reference::timing_of(fractions).median;
  state.counters["GFMA_per_s"] = rate / 1e9;
  state.counters["peak_GFMA_per_s"] = cpu_reference::timing_of(peaks).median / 1e9;
  state.counters["kv_GB_per_s"] = rate / multiply_adds(workload) * static_cast<double>(tensors.k.size()) / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* spec : {"deepseek-v3@tp=8:4q1s8k", "deepseek-v3@tp=8,dtype=bf16:4q1s8k", "deepseek-v3:1q1s8k",
                           "deepseek-v3,dtype=bf16:1q1s8k"}) {
    for (const Isa isa : cpu_reference::supported_isas()) {
      const std::string name = std::string(spec) + "/" + cpu_reference::to_string(isa);
      benchmarks::add_case(name, [spec, isa](benchmark::State& state) { run(state, spec, isa); });
    }
  }
  return benchmarks::run_cases(argc, argv);
}
