// SPDX-License-Identifier: Apache-2.0
// Stands in for measure_cuda.cpp where the CUDA kernels are not built.
#include "base/error.h"
#include "studies/measure.h"

namespace splitwave::studies {

void require_cuda() {
  throw base::MissingError("--executor cuda: this binary was built without CUDA kernels; allowed: cpu");
}

Executor cuda_executor(const TimingBudget& /*budget*/) {
  require_cuda();
  return {};
}

}  // namespace splitwave::studies
