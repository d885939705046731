// SPDX-License-Identifier: Apache-2.0
// Ports: SMs reach the memory in groups, and a saturated memory gives every group the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/bandwidth.h"
#include "simulator/machine.h"

namespace splitwave::simulator {

/// Ports that are alike: as many SMs behind them, and as many CTAs of the first wave.
struct PortKinds {
  std::vector<double> ports;             ///< of each kind; at least one entry
  std::vector<std::int32_t> kind_of_sm;  ///< empty where there is one kind
};

/// Sorts the machine's ports by what the first wave puts behind them. One kind if nothing is known of ports.
/// sm_of_cta: of the first wave's CTAs.
PortKinds port_kinds(const Machine& machine, std::span<const std::int32_t> sm_of_cta);

/// Changes the rates of `classes` from equal shares of the memory to equal shares of the ports, as far as requests
/// queue up: class i is of kind i % ports.size(). The total stays, but for what ports cannot use.
void share_by_ports(const MemoryLaw& law, std::span<const double> ports, double level, std::span<StreamClass> classes);

}  // namespace splitwave::simulator
