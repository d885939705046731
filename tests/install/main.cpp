// SPDX-License-Identifier: Apache-2.0
// A program of somebody else: the five calls of splitwave.h against the installed library, each with its check.
#include <splitwave.h>

#include <cstdio>
#include <string>

using namespace splitwave;

namespace {

int failures = 0;

void check(bool good, const char* what) {
  if (!good) {
    std::printf("wrong: %s\n", what);
    ++failures;
  }
}

bool right(const cpu_reference::Result<float>& result, const cpu_reference::Result<double>& exact,
           workloads::Dtype dtype) {
  return cpu_reference::acceptable(cpu_reference::compare(result, exact), cpu_reference::tolerance(dtype));
}

}  // namespace

int main() {
  check(base::version() == SPLITWAVE_EXPECTED_VERSION, "the library's version is the package's");

  const workloads::Workload workload = workloads::load("llama-3-8b:2q1s300").front();
  check(workload.requests.size() == 2 && workload.geometry.kv_heads == 8, "the workload of the spec");

  const studies::Target h200 = studies::target("h200");
  const schedules::Grid grid = studies::grid_for(workload, "lean", h200);
  const schedules::Plan plan = schedules::make_plan("lean", workload, grid);
  check(grid.sms == 132 && plan.ctas() > 1 && plan.ctas() <= grid.resident(), "a plan for the H200's grid");

  const double seconds = studies::simulate_plan(workload, plan, h200).timeline.seconds;
  check(seconds > 1e-6 && seconds < 1e-3, "a predicted time of microseconds");
  check(seconds == studies::predict(workload, "lean", h200).timeline.seconds, "predict() is the same question");

  const workloads::Tensors tensors = workloads::make_tensors(workload, base::available_memory_bytes());
  cpu_reference::Result<float> result = cpu_reference::run_plan(workload, tensors, plan, 2);
  const cpu_reference::Result<double> exact = cpu_reference::attend(workload, tensors);
  check(right(result, exact, workload.geometry.dtype), "the plan's result is within tolerance");
  const auto verdict = [&] {
    return splitwave::verify(workload, tensors,
                             base::c_order_view(result.output.data(), base::ElementType::f32, {2, 32, 128}),
                             base::c_order_view(result.lse.data(), base::ElementType::f32, {2, 32}));
  };
  check(verdict().passed, "verify() passes the plan's result");
  result.output[0] += 1;
  check(!verdict().passed, "verify() fails a wrong result");
  check(!right(result, exact, workload.geometry.dtype), "the oracle refuses a wrong result");

  try {
    workloads::load("llama-3-8x:2q1s300");
    check(false, "an unknown model is refused");
  } catch (const base::InputError& error) {
    check(std::string(error.what()).find("llama-3-8b") != std::string::npos, "the message names the nearest model");
  }
  return failures == 0 ? 0 : 1;
}
