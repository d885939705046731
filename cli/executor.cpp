// SPDX-License-Identifier: Apache-2.0
#include "cli/executor.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/options.h"
#include "cli/output.h"

namespace splitwave::cli {

void require_device(const ExecutorChoice& choice) {
  if (choice.name == "cuda" || choice.constants.machine.empty()) return;
  throw base::InputError(
      fmt::format("--calibration: --executor {} has no such constants; allowed: --executor cuda", choice.name));
}

void require_executor(const std::string& name) {
  if (name == "cuda") studies::require_cuda();
}

void require_timelines(const std::string& name) {
  if (name == "cuda") studies::require_cuda_timelines();
}

studies::Executor make_executor(const ExecutorChoice& choice, const studies::TimingBudget& budget) {
  studies::Executor executor = choice.name == "cuda"
                                   ? studies::cuda_executor(budget, choice.sms, choice.constants)
                                   : studies::cpu_executor(thread_count(choice.threads), choice.measure_cpu, budget);
  if (!executor.target.note.empty()) note(executor.target.note);
  return executor;
}

}  // namespace splitwave::cli
