// SPDX-License-Identifier: Apache-2.0
// What share of a call its merge kernel takes, from 2 to 64 splits: measured, by timing each plan with and without that
// kernel in turn, and predicted. LeanAttention's Table 2 is the like of it for merges by a host CTA. Prints CSV.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/quantile.h"
#include "benchmarks/exit_status.h"
#include "gpu/decode.h"
#include "gpu/measure.h"
#include "studies/measure_cuda.h"
#include "studies/predict.h"
#include "workloads/load.h"

namespace splitwave {
namespace {

constexpr int kRounds = 5;

double seconds_of(const workloads::Workload& workload, const gpu::DeviceTensors& tensors,
                  const studies::Prediction& made, bool with_merge) {
  const gpu::KernelConfig config = gpu::parse_kernel_config(made.kernel.config);
  gpu::LaunchOptions launch;
  launch.skip_merge_kernel = !with_merge;
  gpu::Decoder decoder(gpu::capacity_of(workload, made.plan, config));
  decoder.set_plan(workload, tensors.addressing(), made.plan, config, launch);
  return gpu::time_plan(workload, tensors, decoder, false, {}).median;
}

void print_row(const workloads::Workload& workload, const gpu::DeviceTensors& tensors, const studies::Target& target,
               int splits) {
  const std::string schedule = fmt::format("fixed-split:{}+kernel", splits);
  const studies::Prediction made = studies::predict(workload, schedule, target);
  std::vector<double> with;
  std::vector<double> without;
  for (int round = 0; round < kRounds; ++round) {
    with.push_back(seconds_of(workload, tensors, made, true));
    without.push_back(seconds_of(workload, tensors, made, false));
  }
  const double all = base::quantile(with, 0.5);
  const double rest = base::quantile(without, 0.5);
  fmt::print("\"{}\",{},{},{},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f}\n", workload.name, splits, made.plan.ctas(),
             made.kernel.config, all * 1e6, rest * 1e6, 1 - rest / all, made.timeline.seconds * 1e6,
             made.timeline.breakdown.merge / made.timeline.seconds);
  std::fflush(stdout);
}

void print_all() {
  const studies::Target target = studies::device_target();
  fmt::print(
      "workload,splits,ctas,kernel,microseconds,microseconds_without_merge,merge_share,predicted_microseconds,"
      "predicted_merge_share\n");
  // Eight KV heads of groups of four, and the heads of the paper's energy figure.
  for (const char* spec : {"llama-3-8b:1q1s4k", "llama-3-8b:1q1s32k", "llama-3-8b:1q1s128k", "h=56/56,d=64:1q1s64k"}) {
    const workloads::Workload workload = workloads::parse_spec(spec);
    const auto tensors = gpu::DeviceTensors::generate(workload, gpu::copies_for(workload, {}));
    for (int splits = 2; splits <= 64; splits *= 2) print_row(workload, tensors, target, splits);
  }
}

}  // namespace
}  // namespace splitwave

int main() {
  return splitwave::benchmarks::exit_status("bench_merge_share", [] {
    splitwave::print_all();
    return 0;
  });
}
