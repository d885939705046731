// SPDX-License-Identifier: Apache-2.0
// Ports and sides: SMs reach the memory in groups, and a saturated memory gives every group the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/bandwidth.h"
#include "simulator/machine.h"

namespace splitwave::simulator {

/// Ports that are alike: as many SMs behind them, as many CTAs of the first wave, and on the same side of the chip and
/// of the same GPC where that makes a difference.
struct PortKinds {
  std::vector<double> ports;             ///< of each kind; at least one entry
  std::vector<std::int32_t> sides;       ///< 0 or 1, of each kind; empty where it makes no difference
  std::vector<std::int32_t> gpcs;        ///< of each kind; empty where it makes no difference
  std::vector<std::int32_t> kind_of_sm;  ///< empty where there is one kind
};

/// How far apart the rates of SMs are while the memory is full and every port gets the same: how far they are from
/// their mean, in the mean, over it. 0 if nothing is known of ports.
double port_spread(const Machine& machine);

/// Sorts the machine's ports by what the first wave puts behind them, and by side unless both sides have the same ports
/// and no list waits for a CTA to end. One kind if nothing is known of ports. sm_of_cta: of the first wave's CTAs.
/// by_gpc: also by GPC, and by side whatever both sides have.
PortKinds port_kinds(const Machine& machine, std::span<const std::int32_t> sm_of_cta, bool lists_wait,
                     bool by_gpc = false);

/// The same if every SM has a port to itself and both sides are alike.
PortKinds sm_kinds(std::int32_t sms, std::span<const std::int32_t> sm_of_cta);

/// Lowers the caps of `classes`, class i behind ports of kind i % kinds.ports.size(), to an equal share of what the
/// CTAs of their GPC may take in together. Nothing if the kinds have no GPCs.
void cap_by_gpcs(const PortKinds& kinds, double gpc_bytes_per_second, std::span<StreamClass> classes);

/// Changes the rates of `classes`, class i behind ports of kind i % kinds.ports.size(), from equal shares of the memory
/// to what the sides of the chip let through: at most `side_bytes_per_second` each from DRAM, and as far as requests
/// queue up, nearly equal shares of the sides. Nothing if the kinds have no sides. level: what share_bandwidth()
/// returned.
void share_by_sides(const MemoryLaw& law, const PortKinds& kinds, double side_bytes_per_second, double level,
                    std::span<StreamClass> classes);

/// The same to equal shares of the ports of a side, as far as requests queue up. The total of a side stays, but for
/// what ports cannot use.
void share_by_ports(const MemoryLaw& law, const PortKinds& kinds, double level, std::span<StreamClass> classes);

}  // namespace splitwave::simulator
