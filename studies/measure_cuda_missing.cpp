// SPDX-License-Identifier: Apache-2.0
// Stands in for measure_cuda.cpp where the CUDA kernels are not built.
#include "studies/measure_cuda.h"

#include "base/error.h"

namespace splitwave::studies {

void require_cuda() {
  throw base::MissingError(
      "--executor cuda: this binary was built without CUDA kernels (-DSPLITWAVE_CUDA=ON builds them); allowed: cpu");
}

void require_cuda_timelines() {
  require_cuda();
}

Target device_target(const DeviceConstants& /*constants*/) {
  require_cuda();
  return {};
}

BatchRunner cuda_batch_runner() {
  require_cuda();
  return {};
}

Executor cuda_executor(const TimingBudget& /*budget*/, std::int32_t /*sms*/, const DeviceConstants& /*constants*/) {
  require_cuda();
  return {};
}

}  // namespace splitwave::studies
