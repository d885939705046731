// SPDX-License-Identifier: Apache-2.0
#include "simulator/ports.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "simulator/placement.h"

namespace splitwave::simulator {
namespace {

/// Requests on their way, in seconds that the memory takes for them, up to which every CTA gets the same whatever its
/// port, and from which on every port does. Rings without arithmetic on random SMs of one H200, whose memory delivers
/// 4.57 TB/s, 500 launches each, how much of a port's equal share shows: nothing with 10 MB in flight, 0.07 with 11.6,
/// 0.26 with 14.7, 0.14 with 15.2, 0.39 with 20.4 and 0.67 with 25.8 MB (docs/measuring.md, "Calibration").
constexpr double kFairSeconds = 2.3e-6;
constexpr double kPortSeconds = 7e-6;
/// The same of sides. Rings without arithmetic of which one side of an H200 has more: in step with 6.3 MB in flight,
/// 0.4 of the way to equal sides with 7.3, 0.6 with 7.9 and all of it with 10.5 (docs/kernels.md, "Ports").
constexpr double kEvenSidesFromSeconds = 1.3e-6;
constexpr double kEvenSidesSeconds = 2e-6;
/// By how much one side is ahead of the other, in what it gets of a full memory. In recorded launches of decode kernels
/// on an H200 the first waves of its sides end 0.3 to 1.5 % apart, either side first: the lists that wait go to the one
/// that is first, which then has more than its half to read.
constexpr double kAhead = 0.01;

struct Load {
  std::int32_t sms = 0;
  std::int32_t ctas = 0;
  std::int32_t side = 0;
  std::int32_t gpc = 0;
  auto operator<=>(const Load&) const = default;
};

/// How far equal shares show: 0 up to `from` seconds of requests on their way, 1 from `to` on, and 0 where CTAs that
/// take all that comes keep no requests waiting.
double evenness(const MemoryLaw& law, double level, std::span<const StreamClass> classes, double from, double to) {
  double ctas = 0;
  double cap = 0;
  for (const StreamClass& one : classes) {
    ctas += one.ctas;
    cap += one.ctas * std::min(one.cap, 1e15);
  }
  if (cap <= ctas * level) return 0;
  return std::clamp((ctas * law.bytes_in_flight / law.plateau - from) / (to - from), 0.0, 1.0);
}

/// Loads of both sides apart, each sorted: the same if it makes no difference on which side a CTA is.
bool alike(const std::vector<Load>& loads) {
  std::array<std::vector<Load>, 2> of_side;
  for (const Load& load : loads) of_side[static_cast<std::size_t>(load.side)].push_back({load.sms, load.ctas, 0, 0});
  for (std::vector<Load>& side : of_side) std::sort(side.begin(), side.end());
  return of_side[0] == of_side[1];
}

std::vector<Load> port_loads(const Machine& machine, std::span<const std::int32_t> sm_of_cta) {
  const auto ports =
      static_cast<std::size_t>(*std::max_element(machine.port_of_sm.begin(), machine.port_of_sm.end())) + 1;
  std::vector<Load> loads(ports);
  const auto load_of = [&](std::size_t sm) -> Load& { return loads[static_cast<std::size_t>(machine.port_of_sm[sm])]; };
  for (std::size_t sm = 0; sm < machine.port_of_sm.size(); ++sm) {
    ++load_of(sm).sms;
    if (!machine.side_of_sm.empty()) load_of(sm).side = machine.side_of_sm[sm];
  }
  for (const std::int32_t sm : sm_of_cta) ++load_of(static_cast<std::size_t>(sm)).ctas;
  return loads;
}

/// What a side of the chip has and may get.
struct Side {
  double ctas = 0;
  double rate = 0;  ///< bytes/s of all of them
  double most = 0;  ///< that they could take in
};

/// Gives the side's classes `rate` bytes/s together, none more than its cap and the same to all others.
template <typename OfSide>
void give(double rate, double lone_rate, const OfSide& of_side, std::span<StreamClass> classes) {
  double level = 0;
  for (;;) {
    double left = rate;
    double free = 0;
    double least_cap = std::numeric_limits<double>::infinity();  // of those above the level
    for (const StreamClass& one : classes) {
      if (one.ctas <= 0 || !of_side(one)) continue;
      const double cap = std::min(one.cap, lone_rate);
      if (cap <= level) {
        left -= one.ctas * cap;
      } else {
        free += one.ctas;
        least_cap = std::min(least_cap, cap);
      }
    }
    if (free <= 0) break;
    const double raised = left / free;
    const bool changed = raised > level * (1 + 1e-12);
    level = std::max(level, raised);
    if (!changed || least_cap > level) break;
  }
  for (StreamClass& one : classes) {
    if (of_side(one)) one.rate = std::min({one.cap, lone_rate, level});
  }
}

}  // namespace

double port_spread(const Machine& machine) {
  if (machine.port_of_sm.empty()) return 0;
  const std::vector<std::int32_t> sms_of_port = group_sizes(machine.port_of_sm);
  const auto ports = static_cast<double>(sms_of_port.size());
  // The SMs of a port have a share of it each, which add up to one.
  const double mean = ports / static_cast<double>(machine.port_of_sm.size());
  double apart = 0;
  for (const std::int32_t sms : sms_of_port) apart += std::abs(1 - sms * mean);
  return apart / ports;
}

PortKinds port_kinds(const Machine& machine, std::span<const std::int32_t> sm_of_cta, bool lists_wait, bool by_gpc) {
  if (machine.port_of_sm.empty()) return {{1}, {}, {}, {}};
  std::vector<Load> loads = port_loads(machine, sm_of_cta);
  const bool sides = !machine.side_of_sm.empty() && (lists_wait || by_gpc || !alike(loads));
  if (!sides) {
    for (Load& load : loads) load.side = 0;
  }
  for (std::size_t sm = 0; by_gpc && sm < machine.port_of_sm.size(); ++sm) {
    loads[static_cast<std::size_t>(machine.port_of_sm[sm])].gpc = machine.gpc_of_sm[sm];
  }
  std::vector<Load> kinds = loads;
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  PortKinds result{std::vector<double>(kinds.size(), 0), {}, {}, std::vector<std::int32_t>(machine.port_of_sm.size())};
  std::vector<std::int32_t> kind_of_port;
  kind_of_port.reserve(loads.size());
  for (const Load& load : loads) {
    const auto kind = std::lower_bound(kinds.begin(), kinds.end(), load) - kinds.begin();
    kind_of_port.push_back(static_cast<std::int32_t>(kind));
    result.ports[static_cast<std::size_t>(kind)] += 1;
  }
  for (const Load& load : kinds) {
    if (sides) result.sides.push_back(load.side);
    if (by_gpc) result.gpcs.push_back(load.gpc);
  }
  for (std::size_t sm = 0; sm < machine.port_of_sm.size(); ++sm) {
    result.kind_of_sm[sm] = kind_of_port[static_cast<std::size_t>(machine.port_of_sm[sm])];
  }
  return result;
}

PortKinds sm_kinds(std::int32_t sms, std::span<const std::int32_t> sm_of_cta) {
  Machine machine;
  machine.port_of_sm.resize(static_cast<std::size_t>(sms));
  std::iota(machine.port_of_sm.begin(), machine.port_of_sm.end(), 0);
  return port_kinds(machine, sm_of_cta, false);
}

void cap_by_gpcs(const PortKinds& kinds, double gpc_bytes_per_second, std::span<StreamClass> classes) {
  if (kinds.gpcs.empty()) return;
  static thread_local std::vector<double> ctas;
  ctas.assign(static_cast<std::size_t>(*std::max_element(kinds.gpcs.begin(), kinds.gpcs.end())) + 1, 0);
  const auto of_gpc = [&](std::size_t i) -> double& {
    return ctas[static_cast<std::size_t>(kinds.gpcs[i % kinds.gpcs.size()])];
  };
  for (std::size_t i = 0; i < classes.size(); ++i) of_gpc(i) += classes[i].ctas;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (of_gpc(i) > 0) classes[i].cap = std::min(classes[i].cap, gpc_bytes_per_second / of_gpc(i));
  }
}

void share_by_sides(const MemoryLaw& law, const PortKinds& kinds, double side_bytes_per_second, double level,
                    std::span<StreamClass> classes) {
  if (kinds.sides.empty()) return;
  const double lone_rate = law.lone_rate();
  std::array<Side, 2> sides;
  const auto side_of = [&](const StreamClass& one) {
    return static_cast<std::size_t>(kinds.sides[static_cast<std::size_t>(one.port)]);
  };
  for (const StreamClass& one : classes) {
    Side& side = sides[side_of(one)];
    side.ctas += one.ctas;
    side.rate += one.ctas * one.rate;
    side.most += one.ctas * std::min(one.cap, lone_rate);
  }
  const double all = sides[0].rate + sides[1].rate;
  const double limit = side_bytes_per_second / law.dram_share;
  const double even = evenness(law, level, classes, kEvenSidesFromSeconds, kEvenSidesSeconds);
  const double half = std::clamp(all / 2 * (1 + kAhead), std::min(all - sides[1].most, sides[0].most), sides[0].most);
  std::array<double, 2> rates{};
  rates[0] = sides[0].rate + even * (half - sides[0].rate);
  rates[1] = all - rates[0];
  // What one side does not let through is left for the other.
  for (std::size_t s = 0; s < 2; ++s) {
    if (rates[s] <= limit) continue;
    rates[1 - s] = std::min({rates[1 - s] + rates[s] - limit, sides[1 - s].most, limit});
    rates[s] = limit;
  }
  for (std::size_t s = 0; s < 2; ++s) {
    if (rates[s] == sides[s].rate) continue;
    give(
        rates[s], lone_rate, [&](const StreamClass& one) { return side_of(one) == s; }, classes);
  }
}

void share_by_ports(const MemoryLaw& law, const PortKinds& kinds, double level, std::span<StreamClass> classes) {
  const std::size_t count = kinds.ports.size();
  if (count < 2) return;
  const double even = evenness(law, level, classes, kFairSeconds, kPortSeconds);
  if (even <= 0) return;
  static thread_local std::vector<std::pair<double, std::size_t>> order;
  for (std::int32_t side = 0; side < (kinds.sides.empty() ? 1 : 2); ++side) {
    order.clear();
    double active = 0;
    double left = 0;
    for (std::size_t kind = 0; kind < count; ++kind) {
      if ((kinds.sides.empty() ? 0 : kinds.sides[kind]) != side) continue;
      double behind = 0;
      for (std::size_t i = kind; i < classes.size(); i += count) {
        behind += classes[i].ctas;
        left += classes[i].ctas * classes[i].rate;
      }
      if (behind <= 0) continue;
      order.emplace_back(behind / kinds.ports[kind], kind);
      active += kinds.ports[kind];
    }
    // Water-filling: ports whose CTAs cannot use a full share first.
    std::sort(order.begin(), order.end());
    for (const auto& [per_port, kind] : order) {
      const double share = left / active / per_port;
      for (std::size_t i = kind; i < classes.size(); i += count) {
        StreamClass& one = classes[i];
        if (one.ctas <= 0) continue;
        const double rate = std::min(one.cap, share);
        left -= rate * one.ctas;
        one.rate += even * (rate - one.rate);
      }
      active -= kinds.ports[kind];
    }
  }
}

}  // namespace splitwave::simulator
