// SPDX-License-Identifier: Apache-2.0
#include "cli/executor.h"

#include "studies/measure_cuda.h"

namespace splitwave::cli {

void require_executor(const std::string& name) {
  if (name == "cuda") {
    studies::require_cuda();
  }
}

studies::Executor make_executor(const std::string& name, std::int32_t threads, bool measured_now,
                                const studies::TimingBudget& budget) {
  return name == "cuda" ? studies::cuda_executor(budget) : studies::cpu_executor(threads, measured_now, budget);
}

}  // namespace splitwave::cli
