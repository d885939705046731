// SPDX-License-Identifier: Apache-2.0
#include "simulator/partition.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace splitwave::simulator {
namespace {

constexpr std::size_t kGroup = 8;  // SMs of a GPC that are given together

/// SMs of the GPC that are given in groups of eight.
std::size_t in_groups(const Machine& machine, std::size_t gpc) {
  const std::vector<std::int32_t>& sizes =
      machine.cluster_sms_per_gpc.empty() ? machine.sms_per_gpc : machine.cluster_sms_per_gpc;
  return static_cast<std::size_t>(sizes[gpc]) / kGroup * kGroup;
}

}  // namespace

std::vector<std::vector<std::int32_t>> sms_by_gpc(const Machine& machine) {
  const bool known = !machine.gpc_of_sm.empty();
  std::vector<std::vector<std::int32_t>> result(known ? machine.sms_per_gpc.size() : 1);
  for (std::int32_t sm = 0; sm < machine.sms; ++sm) {
    const std::int32_t gpc = known ? machine.gpc_of_sm[static_cast<std::size_t>(sm)] : 0;
    result[static_cast<std::size_t>(gpc)].push_back(sm);
  }
  return result;
}

std::vector<std::int32_t> sms_of_partition(const Machine& machine, std::int32_t sms) {
  const std::vector<std::vector<std::int32_t>> gpcs = sms_by_gpc(machine);
  std::vector<std::int32_t> order;
  const std::size_t rounds = machine.gpc_of_sm.size() / kGroup;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t gpc = 0; gpc < gpcs.size(); ++gpc) {
      if ((round + 1) * kGroup > in_groups(machine, gpc)) continue;
      const auto first = gpcs[gpc].begin() + static_cast<std::ptrdiff_t>(round * kGroup);
      order.insert(order.end(), first, first + kGroup);
    }
  }
  std::vector<std::int32_t> rest;
  for (std::size_t gpc = 0; gpc < gpcs.size(); ++gpc) {
    rest.insert(rest.end(), gpcs[gpc].begin() + static_cast<std::ptrdiff_t>(in_groups(machine, gpc)), gpcs[gpc].end());
  }
  std::sort(rest.begin(), rest.end());
  order.insert(order.end(), rest.begin(), rest.end());
  order.resize(std::min(order.size(), static_cast<std::size_t>(sms)));
  std::sort(order.begin(), order.end());
  return order;
}

void keep_sms(Machine& machine, const std::vector<std::int32_t>& kept) {
  const auto of_kept = [&](const std::vector<std::int32_t>& values) {
    std::vector<std::int32_t> result;
    for (const std::int32_t sm : kept) result.push_back(values[static_cast<std::size_t>(sm)]);
    return result;
  };
  if (!machine.port_of_sm.empty()) machine.port_of_sm = of_kept(machine.port_of_sm);
  if (!machine.side_of_sm.empty()) machine.side_of_sm = of_kept(machine.side_of_sm);
  machine.gpc_of_sm = of_kept(machine.gpc_of_sm);
  std::vector<std::int32_t> sizes(machine.sms_per_gpc.size(), 0);
  for (const std::int32_t gpc : machine.gpc_of_sm) ++sizes[static_cast<std::size_t>(gpc)];
  // SMs that clusters cannot use are the last to be given.
  for (std::size_t gpc = 0; gpc < machine.cluster_sms_per_gpc.size(); ++gpc) {
    machine.cluster_sms_per_gpc[gpc] = std::min(machine.cluster_sms_per_gpc[gpc], sizes[gpc]);
  }
  machine.sms_per_gpc = sizes;
  machine.sms = static_cast<std::int32_t>(kept.size());
  machine.dispatch_order.resize(kept.size());
  std::iota(machine.dispatch_order.begin(), machine.dispatch_order.end(), 0);
  std::stable_sort(
      machine.dispatch_order.begin(), machine.dispatch_order.end(), [&](std::int32_t left, std::int32_t right) {
        return machine.gpc_of_sm[static_cast<std::size_t>(left)] < machine.gpc_of_sm[static_cast<std::size_t>(right)];
      });
}

}  // namespace splitwave::simulator
