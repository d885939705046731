// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "studies/target.h"

namespace splitwave::tests {

/// A shipped machine, with `sms` SMs unless that is 0.
inline studies::Target target(const std::string& name, std::int32_t sms = 0) {
  studies::Target result;
  result.machine = simulator::with_overrides(simulator::load_machine(name), {.sms = sms});
  result.name = result.machine.name;
  return result;
}

/// A calibrated machine with the project's own kernels.
inline studies::Target own_kernels(const std::string& name = "h200-calibrated") {
  studies::Overrides overrides;
  overrides.kernel = simulator::kOwnKernel;
  return studies::target(name, overrides);
}

}  // namespace splitwave::tests
