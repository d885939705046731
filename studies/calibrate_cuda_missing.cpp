// SPDX-License-Identifier: Apache-2.0
// Stands in for calibrate_cuda.cpp where the CUDA kernels are not built.
#include "studies/calibrate_cuda.h"
#include "studies/measure_cuda.h"

namespace splitwave::studies {

Calibration calibrate_cuda(const std::string& /*like*/) {
  require_cuda();
  return {};
}

Calibration calibrate_cuda_energy(const std::string& /*like*/) {
  require_cuda();
  return {};
}

std::string recalibrate_cuda(const std::string& /*points*/, const std::string& /*machine*/) {
  require_cuda();
  return {};
}

std::string calibration_base(const std::string& /*like*/) {
  require_cuda();
  return {};
}

}  // namespace splitwave::studies
