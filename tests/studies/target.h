// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace splitwave::tests
