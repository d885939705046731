// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "cli/targets.h"
#include "simulator/machine.h"

namespace splitwave::tests {

/// A shipped machine, with `sms` SMs unless that is 0.
inline cli::Target target(const std::string& name, std::int32_t sms = 0) {
  cli::Target result;
  result.machine = simulator::with_overrides(simulator::load_machine(name), {.sms = sms});
  result.name = result.machine.name;
  return result;
}

}  // namespace splitwave::tests
