// SPDX-License-Identifier: Apache-2.0
#include "simulator/ports.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>

namespace splitwave::simulator {
namespace {

/// Bytes in flight on the device up to which every CTA gets the same whatever its port, and from which on every port
/// does. Rings without arithmetic on random SMs of one H200, 500 launches each, how much of a port's equal share shows:
/// nothing with 10 MB in flight, 0.07 with 11.6, 0.26 with 14.7, 0.14 with 15.2, 0.39 with 20.4 and 0.67 with 25.8 MB
/// (docs/measuring.md, "Calibration").
constexpr double kFairBytes = 10.5e6;
constexpr double kPortBytes = 32e6;

}  // namespace

PortKinds port_kinds(const Machine& machine, std::span<const std::int32_t> sm_of_cta) {
  if (machine.port_of_sm.empty()) return {{1}, {}};
  struct Load {
    std::int32_t sms = 0;
    std::int32_t ctas = 0;
    auto operator<=>(const Load&) const = default;
  };
  const auto ports =
      static_cast<std::size_t>(*std::max_element(machine.port_of_sm.begin(), machine.port_of_sm.end())) + 1;
  std::vector<Load> loads(ports);
  const auto port_of = [&](std::size_t sm) { return static_cast<std::size_t>(machine.port_of_sm[sm]); };
  for (std::size_t sm = 0; sm < machine.port_of_sm.size(); ++sm) ++loads[port_of(sm)].sms;
  for (const std::int32_t sm : sm_of_cta) ++loads[port_of(static_cast<std::size_t>(sm))].ctas;
  std::map<Load, std::int32_t> kinds;
  for (const Load& load : loads) kinds.emplace(load, 0);
  std::int32_t number = 0;
  for (auto& [load, kind] : kinds) kind = number++;
  PortKinds result{std::vector<double>(kinds.size(), 0), std::vector<std::int32_t>(machine.port_of_sm.size())};
  for (const Load& load : loads) result.ports[static_cast<std::size_t>(kinds[load])] += 1;
  for (std::size_t sm = 0; sm < machine.port_of_sm.size(); ++sm) result.kind_of_sm[sm] = kinds[loads[port_of(sm)]];
  return result;
}

void share_by_ports(const MemoryLaw& law, std::span<const double> ports, double level, std::span<StreamClass> classes) {
  const std::size_t kinds = ports.size();
  double ctas = 0;
  double left = 0;
  double cap = 0;
  for (const StreamClass& one : classes) {
    ctas += one.ctas;
    left += one.ctas * one.rate;
    cap += one.ctas * std::min(one.cap, 1e15);
  }
  if (kinds < 2 || ctas <= 0) return;
  const double by_port = std::clamp((ctas * law.bytes_in_flight - kFairBytes) / (kPortBytes - kFairBytes), 0.0, 1.0);
  // CTAs that take all that comes keep no requests waiting.
  if (by_port <= 0 || cap <= ctas * level) return;
  // Water-filling: ports whose CTAs cannot use a full share first.
  static thread_local std::vector<std::pair<double, std::size_t>> order;
  order.clear();
  double active = 0;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    double behind = 0;
    for (std::size_t i = kind; i < classes.size(); i += kinds) behind += classes[i].ctas;
    if (behind <= 0) continue;
    order.emplace_back(behind / ports[kind], kind);
    active += ports[kind];
  }
  std::sort(order.begin(), order.end());
  for (const auto& [per_port, kind] : order) {
    const double share = left / active / per_port;
    for (std::size_t i = kind; i < classes.size(); i += kinds) {
      StreamClass& one = classes[i];
      if (one.ctas <= 0) continue;
      const double rate = std::min(one.cap, share);
      left -= rate * one.ctas;
      one.rate += by_port * (rate - one.rate);
    }
    active -= ports[kind];
  }
}

}  // namespace splitwave::simulator
