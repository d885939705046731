// SPDX-License-Identifier: Apache-2.0
// Speed of run_plan against a plain read of the same bytes, sample by sample in the same run, so that both meet the
// same state of a shared machine. Counters: fraction_of_read (median over the samples of read time / run time),
// kv_GB_per_s, read_GB_per_s. docs/performance.md has the table and the goal.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/memory.h"
#include "benchmarks/timed_cases.h"
#include "cpu_reference/measure.h"
#include "schedules/schedules.h"
#include "workloads/load.h"

namespace {

using namespace splitwave;
using workloads::KvLayout;

struct Case {
  const char* spec;
  KvLayout layout;
  const char* schedule;
};

constexpr Case kCases[] = {
    // The goal's shapes: 0.8 head-major, 0.6 token-major.
    {"h=32/8,d=128:1q1s4k", KvLayout::bhsd, "fa2"},
    {"h=32/8,d=128:4q1s4k", KvLayout::bhsd, "fa2"},
    {"h=32/8,d=128:1q1s32k", KvLayout::bhsd, "fa2"},
    {"h=32/8,d=128:4q1s32k", KvLayout::bhsd, "fa2"},
    {"h=32/8,d=128:1q1s4k", KvLayout::bshd, "fa2"},
    {"h=32/8,d=128:4q1s4k", KvLayout::bshd, "fa2"},
    {"h=32/8,d=128:1q1s32k", KvLayout::bshd, "fa2"},
    {"h=32/8,d=128:4q1s32k", KvLayout::bshd, "fa2"},
    // Other schedules, group sizes, dimensions and types.
    {"h=32/8,d=128:1q1s32k", KvLayout::bhsd, "lean"},
    {"h=32/8,d=128:1q1s32k", KvLayout::bhsd, "fixed-split:16"},
    {"h=32/8,d=128:64q1s256", KvLayout::bhsd, "fa2"},
    {"h=32/32,d=128:1q1s8k", KvLayout::bhsd, "fa2"},
    {"h=64/8,d=128:1q1s16k", KvLayout::bhsd, "fa2"},
    {"h=32/8,d=64:1q1s32k", KvLayout::bhsd, "fa2"},
    {"h=32/8,d=128,dtype=bf16:1q1s16k", KvLayout::bhsd, "fa2"},
    {"h=32/8,d=128,dtype=f32:1q1s8k", KvLayout::bhsd, "fa2"},
    {"deepseek-v3@tp=8:4q1s8k", KvLayout::bshd, "fa2"},
};

double seconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void run(benchmark::State& state, const Case& which) {
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  workloads::Workload workload = workloads::parse_spec(which.spec);
  workload.kv.layout = which.layout;
  const workloads::Tensors tensors = workloads::make_tensors(workload, base::available_memory_bytes() / 2);
  const schedules::Plan plan = schedules::make_plan(which.schedule, workload, {threads, 1, 0, 0});
  const cpu_reference::WorkspacePtr workspace = cpu_reference::make_workspace(workload, plan, threads);
  cpu_reference::Result<float> result;
  const auto attend = [&] { cpu_reference::run_plan(workload, tensors, plan, *workspace, threads, result); };
  const auto read = [&] {
    return cpu_reference::read_seconds(tensors.k, threads) + cpu_reference::read_seconds(tensors.v, threads);
  };
  attend();
  std::vector<double> fractions;
  std::vector<double> run_seconds;
  std::vector<double> read_seconds;
  while (state.KeepRunning()) {
    // Reads before and after a run, so that a drift of the machine cancels.
    cpu_reference::evict(tensors, threads);
    const double before = read();
    cpu_reference::evict(tensors, threads);
    run_seconds.push_back(seconds_of(attend));
    cpu_reference::evict(tensors, threads);
    read_seconds.push_back((before + read()) / 2);
    fractions.push_back(read_seconds.back() / run_seconds.back());
    state.SetIterationTime(run_seconds.back());
  }
  const double bytes = static_cast<double>(tensors.k.size() + tensors.v.size());
  state.counters["fraction_of_read"] = cpu_reference::timing_of(fractions).median;
  state.counters["kv_GB_per_s"] = bytes / cpu_reference::timing_of(run_seconds).median / 1e9;
  state.counters["read_GB_per_s"] = bytes / cpu_reference::timing_of(read_seconds).median / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  for (const Case& which : kCases) {
    const std::string name = std::string(which.spec) + "/" + workloads::to_string(which.layout) + "/" + which.schedule;
    benchmarks::add_case(name, [&which](benchmark::State& state) { run(state, which); });
  }
  return benchmarks::run_cases(argc, argv);
}
