// SPDX-License-Identifier: Apache-2.0
// A program that links the component gpu; with a device it runs a plan there.
#include <gpu/decode.h>
#include <gpu/device.h>
#include <splitwave.h>
#include <studies/measure_cuda.h>

#include <cstdio>
#include <utility>

using namespace splitwave;

int main() {
  if (!gpu::has_device()) {
    try {
      studies::require_cuda();
    } catch (const base::MissingError& error) {
      std::printf("%s\n", error.what());
      return 0;
    }
    return 1;
  }
  const workloads::Workload workload = workloads::load("llama-3-8b:2q1s300").front();
  const workloads::Tensors tensors = workloads::make_tensors(workload, base::available_memory_bytes());
  const studies::Prediction chosen = studies::choose(workload, studies::device_target());
  gpu::HostResult out = gpu::run(workload, tensors, chosen.plan, gpu::parse_kernel_config(chosen.kernel.config));
  const cpu_reference::Result<float> result{std::move(out.output), std::move(out.lse)};
  const cpu_reference::Errors errors = cpu_reference::compare(result, cpu_reference::attend(workload, tensors));
  return cpu_reference::acceptable(errors, cpu_reference::tolerance(workload.geometry.dtype)) ? 0 : 1;
}
