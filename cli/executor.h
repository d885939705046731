// SPDX-License-Identifier: Apache-2.0
// What --executor names.
#pragma once

#include <cstdint>
#include <string>

#include "studies/measure.h"
#include "studies/measure_cuda.h"

namespace splitwave::cli {

/// What the user may say of an executor.
struct ExecutorChoice {
  std::string name = "cpu";            ///< or "cuda"
  std::int32_t threads = 0;            ///< of a CPU; 0: all
  bool measure_cpu = false;            ///< measure a CPU's constants anew
  std::int32_t sms = 0;                ///< of a CUDA device; 0: all
  studies::DeviceConstants constants;  ///< of a CUDA device
};

/// Throws InputError if the user says of another executor what only a CUDA device has.
void require_device(const ExecutorChoice& choice);

/// Throws MissingError, naming what is allowed, if this binary or this computer lacks what the executor needs.
void require_executor(const std::string& name);

/// Throws MissingError if the executor is there, but does not record what it runs (run --trace).
void require_timelines(const std::string& name);

/// The executor: studies::cpu_executor or studies::cuda_executor. Tells the user what there is to know about it.
studies::Executor make_executor(const ExecutorChoice& choice, const studies::TimingBudget& budget);

}  // namespace splitwave::cli
