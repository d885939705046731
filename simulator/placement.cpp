// SPDX-License-Identifier: Apache-2.0
#include "simulator/placement.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

namespace splitwave::simulator {
namespace {

/// Share of the time in which memory delivers all from which on what a GPC or a side has to take in shows where lists
/// differ: long ones read on when others have ended. Of equal ones that is all of it.
constexpr double kCrowded = 0.75;
/// Times the mean from which on a list is long.
constexpr double kLong = 1.5;
/// Calls that read less are made of latencies.
constexpr double kLeastSeconds = 1e-6;

/// All SMs in the order in which a launch of as many CTAs fills them.
void order_by_gpc(const Machine& machine, std::int32_t first_gpc, std::vector<std::int32_t>& order) {
  order.clear();
  std::vector<std::int32_t> seen(machine.sms_per_gpc.size(), 0);
  std::vector<bool> apart(machine.gpc_of_sm.size(), false);
  for (std::size_t sm = 0; sm < machine.gpc_of_sm.size(); ++sm) {
    const auto gpc = static_cast<std::size_t>(machine.gpc_of_sm[sm]);
    apart[sm] = !machine.cluster_sms_per_gpc.empty() && seen[gpc] >= machine.cluster_sms_per_gpc[gpc];
    ++seen[gpc];
    if (apart[sm]) order.push_back(static_cast<std::int32_t>(sm));
  }
  const auto gpcs = static_cast<std::int32_t>(machine.sms_per_gpc.size());
  for (std::int32_t i = 0; i < gpcs; ++i) {
    const std::int32_t gpc = (first_gpc + i) % gpcs;
    for (std::size_t sm = 0; sm < machine.gpc_of_sm.size(); ++sm) {
      if (machine.gpc_of_sm[sm] == gpc && !apart[sm]) order.push_back(static_cast<std::int32_t>(sm));
    }
  }
}

/// Whether a group of SMs has more than `most_bytes` to read, by SMs that have at least `reads_on` and ask together for
/// more than the group takes in, of which each asks for a share. False where the groups are not known.
bool any_crowded(const std::vector<std::int32_t>& group_of_sm, const std::vector<double>& bytes_of_sm, double reads_on,
                 double sm_share, double most_bytes) {
  if (group_of_sm.empty()) return false;
  const auto groups = static_cast<std::size_t>(*std::max_element(group_of_sm.begin(), group_of_sm.end())) + 1;
  std::vector<double> bytes(groups, 0);
  std::vector<double> asked(groups, 0);
  for (std::size_t sm = 0; sm < group_of_sm.size(); ++sm) {
    const auto group = static_cast<std::size_t>(group_of_sm[sm]);
    bytes[group] += bytes_of_sm[sm];
    if (bytes_of_sm[sm] >= reads_on) asked[group] += sm_share;
  }
  for (std::size_t group = 0; group < groups; ++group) {
    if (asked[group] > 1 && bytes[group] > most_bytes) return true;
  }
  return false;
}

}  // namespace

void place_first_wave(const Machine& machine, std::int32_t ctas_per_sm, std::int32_t ctas,
                      std::vector<std::int32_t>& sm_of_cta) {
  sm_of_cta.resize(static_cast<std::size_t>(ctas));
  if (!machine.dispatch_order.empty()) {
    for (std::size_t cta = 0; cta < sm_of_cta.size(); ++cta) {
      sm_of_cta[cta] = machine.dispatch_order[cta % machine.dispatch_order.size()];
    }
    return;
  }
  auto next = sm_of_cta.begin();
  // Round r gives every GPC with room its CTA number r, which goes to SM r mod size: breadth first inside the GPC.
  for (std::int32_t round = 0; next != sm_of_cta.end(); ++round) {
    std::int32_t first_sm = 0;
    for (const std::int32_t size : machine.sms_per_gpc) {
      if (next == sm_of_cta.end()) return;
      if (round < size * ctas_per_sm) {
        std::int32_t sm = round;  // modulo size; a division takes longer than one or two steps
        while (sm >= size) sm -= size;
        *next++ = first_sm + sm;
      }
      first_sm += size;
    }
  }
}

std::vector<std::int32_t> group_sizes(std::span<const std::int32_t> group_of_sm) {
  std::vector<std::int32_t> sizes;
  for (const std::int32_t group : group_of_sm) {
    const auto index = static_cast<std::size_t>(group);
    if (index >= sizes.size()) sizes.resize(index + 1, 0);
    ++sizes[index];
  }
  std::erase(sizes, 0);
  return sizes;
}

std::array<std::int32_t, 3> first_gpcs(const Machine& machine) {
  const auto gpcs = static_cast<std::int32_t>(machine.sms_per_gpc.size());
  return {0, (gpcs + 2) / 3, (2 * gpcs + 2) / 3};
}

void place_by_gpc(const Machine& machine, std::int32_t ctas, std::int32_t first_gpc,
                  std::vector<std::int32_t>& sm_of_cta) {
  static thread_local std::vector<std::int32_t> order;
  order_by_gpc(machine, first_gpc, order);
  sm_of_cta.clear();
  for (std::int32_t placed = 0; placed < ctas; placed += machine.sms) {
    const auto part = static_cast<std::size_t>(std::min(machine.sms, ctas - placed));
    std::vector<bool> has_one(order.size(), false);
    for (std::size_t i = 0; i < part; ++i) has_one[static_cast<std::size_t>(machine.dispatch_order[i])] = true;
    std::copy_if(order.begin(), order.end(), std::back_inserter(sm_of_cta),
                 [&](std::int32_t sm) { return has_one[static_cast<std::size_t>(sm)]; });
  }
}

bool crowds_gpcs(const Machine& machine, const schedules::Plan& plan, std::int32_t ctas, double bytes_per_token,
                 double sm_bytes_per_second) {
  if (machine.gpc_of_sm.empty() || machine.port_of_sm.empty() || machine.dispatch_order.empty()) return false;
  static thread_local std::vector<double> bytes_of_cta;
  bytes_of_cta.clear();
  double all = 0;
  double at_once = 0;
  double longest = 0;
  std::int32_t reading = 0;  // CTAs without tokens are no lists: the others are no longer for them
  for (std::int32_t list = 0; list < plan.lists(); ++list) {
    double bytes = 0;
    for (const schedules::Item& item : plan.list(list)) bytes += item.tokens() * bytes_per_token;
    all += bytes;
    if (list >= ctas) continue;
    at_once += bytes;
    longest = std::max(longest, bytes);
    if (bytes > 0) ++reading;
    bytes_of_cta.push_back(bytes);
  }
  double all_seconds = all / machine.dram_bytes_per_second;
  if (all_seconds < kLeastSeconds) return false;
  if (longest * reading > kLong * at_once) all_seconds *= kCrowded;
  const std::int32_t most_ctas = (ctas + machine.sms - 1) / machine.sms;  // of an SM
  const auto may_be_crowded = [&](const std::vector<std::int32_t>& group_of_sm, double group_bytes_per_second) {
    const std::vector<std::int32_t> sizes = group_sizes(group_of_sm);
    return !sizes.empty() &&
           *std::max_element(sizes.begin(), sizes.end()) * (most_ctas * longest) > all_seconds * group_bytes_per_second;
  };
  if (!may_be_crowded(machine.gpc_of_sm, machine.gpc_bytes_per_second) &&
      !may_be_crowded(machine.side_of_sm, machine.side_bytes_per_second)) {
    return false;
  }
  // SMs with less than half of the mean are soon through.
  const double reads_on = at_once / std::clamp(reading, 1, machine.sms) / 2;
  static thread_local std::vector<std::int32_t> sm_of_cta;
  static thread_local std::vector<double> bytes_of_sm;
  for (const std::int32_t first_gpc : first_gpcs(machine)) {
    place_by_gpc(machine, ctas, first_gpc, sm_of_cta);
    bytes_of_sm.assign(machine.gpc_of_sm.size(), 0);
    for (std::size_t cta = 0; cta < sm_of_cta.size(); ++cta) {
      bytes_of_sm[static_cast<std::size_t>(sm_of_cta[cta])] += bytes_of_cta[cta];
    }
    const auto is_crowded = [&](const std::vector<std::int32_t>& group_of_sm, double group_bytes_per_second) {
      return any_crowded(group_of_sm, bytes_of_sm, reads_on, sm_bytes_per_second / group_bytes_per_second,
                         all_seconds * group_bytes_per_second);
    };
    if (is_crowded(machine.gpc_of_sm, machine.gpc_bytes_per_second)) return true;
    if (is_crowded(machine.side_of_sm, machine.side_bytes_per_second)) return true;
  }
  return false;
}

}  // namespace splitwave::simulator
