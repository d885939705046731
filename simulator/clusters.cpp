// SPDX-License-Identifier: Apache-2.0
#include "simulator/clusters.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "simulator/partition.h"

namespace splitwave::simulator {
namespace {

/// Groups of SMs that can hold a cluster. Those of two lie on the two SMs of a TPC, which are never parted.
const std::vector<std::int32_t>& groups_for(const Machine& machine, std::int32_t cluster) {
  const bool whole = cluster <= 2 || machine.cluster_sms_per_gpc.empty();
  return whole ? machine.sms_per_gpc : machine.cluster_sms_per_gpc;
}

/// Pairs of SMs of one TPC, which are behind one port: two that follow each other in their GPC, of which a partition
/// has the first ones. An SM that is left over in its GPC is a place of its own as far as `result` has more than pairs.
void pair_up(const Machine& machine, Machine& result) {
  std::vector<std::int32_t> firsts;
  std::vector<std::int32_t> left;
  std::vector<std::int32_t> first_of(static_cast<std::size_t>(machine.sms), -1);
  for (const std::vector<std::int32_t>& sms : sms_by_gpc(machine)) {
    for (std::size_t i = 0; i < sms.size(); i += 2) {
      const bool pair = i + 1 < sms.size();
      (pair ? firsts : left).push_back(sms[i]);
      first_of[static_cast<std::size_t>(sms[i])] = sms[i];
      if (pair) first_of[static_cast<std::size_t>(sms[i + 1])] = sms[i];
    }
  }
  left.resize(std::min(left.size(), static_cast<std::size_t>(result.sms) - firsts.size()));
  firsts.insert(firsts.end(), left.begin(), left.end());
  std::sort(firsts.begin(), firsts.end());
  result.port_of_sm.clear();
  result.side_of_sm.clear();
  std::vector<std::int32_t> place_of(static_cast<std::size_t>(machine.sms), -1);
  for (std::size_t place = 0; place < firsts.size(); ++place) {
    const auto first = static_cast<std::size_t>(firsts[place]);
    place_of[first] = static_cast<std::int32_t>(place);
    result.port_of_sm.push_back(machine.port_of_sm[first]);
    if (!machine.side_of_sm.empty()) result.side_of_sm.push_back(machine.side_of_sm[first]);
  }
  result.dispatch_order.clear();
  for (const std::int32_t sm : machine.dispatch_order) {
    std::int32_t& place = place_of[static_cast<std::size_t>(first_of[static_cast<std::size_t>(sm)])];
    if (place >= 0) result.dispatch_order.push_back(std::exchange(place, -1));
  }
}

/// Larger clusters lie behind several ports of a GPC, which has as many of them as others: a GPC is their port.
void spread_over_gpcs(const Machine& machine, std::int32_t cluster, Machine& result) {
  const std::vector<std::int32_t>& sms_of_gpc = groups_for(machine, cluster);
  std::vector<std::int32_t> side_of_gpc(machine.side_of_sm.empty() ? 0 : sms_of_gpc.size());
  for (std::size_t sm = 0; sm < machine.side_of_sm.size(); ++sm) {
    side_of_gpc[static_cast<std::size_t>(machine.gpc_of_sm[sm])] = machine.side_of_sm[sm];
  }
  result.port_of_sm.clear();
  result.side_of_sm.clear();
  result.dispatch_order.clear();
  for (std::int32_t round = 0; static_cast<std::int32_t>(result.port_of_sm.size()) < result.sms; ++round) {
    for (std::size_t gpc = 0; gpc < sms_of_gpc.size(); ++gpc) {
      const bool room = round < (sms_of_gpc[gpc] + cluster - 1) / cluster || round > result.sms;
      if (!room || static_cast<std::int32_t>(result.port_of_sm.size()) == result.sms) continue;
      result.port_of_sm.push_back(static_cast<std::int32_t>(gpc));
      if (!side_of_gpc.empty()) result.side_of_sm.push_back(side_of_gpc[gpc]);
    }
  }
}

}  // namespace

std::int32_t resident_workers(const Machine& machine, std::int32_t cluster, std::int32_t per_sm) {
  std::int32_t workers = 0;
  for (const std::int32_t size : groups_for(machine, cluster)) {
    if (size >= cluster) workers += size * per_sm / cluster;
  }
  return workers;
}

Machine clustered(const Machine& machine, std::int32_t cluster, std::int32_t per_sm) {
  Machine result = machine;
  if (cluster <= 1) return result;
  result.sms = (resident_workers(machine, cluster, per_sm) + per_sm - 1) / per_sm;
  result.sms_per_gpc = {result.sms};
  result.gpc_of_sm.clear();
  // Rates of the whole machine are those of the SMs that clusters can use.
  const double used = static_cast<double>(result.sms) * cluster / machine.sms;
  result.sm_bytes_per_second *= cluster;
  result.mma_flops *= used;
  result.mma_sync_flops *= used;
  result.exp_per_second *= used;
  result.fp32_lanes *= cluster;
  result.shared_bytes_per_clock *= cluster;
  result.launch_seconds_per_cta *= cluster;
  if (machine.port_of_sm.empty()) {
    result.side_of_sm.clear();
    result.dispatch_order.clear();
  } else if (cluster == 2) {
    pair_up(machine, result);
  } else {
    spread_over_gpcs(machine, cluster, result);
  }
  return result;
}

}  // namespace splitwave::simulator
