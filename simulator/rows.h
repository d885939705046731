// SPDX-License-Identifier: Apache-2.0
// What a memory delivers of K and V whose rows lie between those of other heads.
#pragma once

#include <cstdint>

#include "schedules/plan.h"
#include "simulator/machine.h"
#include "workloads/workload.h"

namespace splitwave::simulator {

/// Share of DRAM's bandwidth that the workload's rows of K and V let through where heads are read out of step: one
/// token's of one head, which lies between those of other heads, opens a DRAM page of its own for few bytes.
double row_share(const workloads::Workload& workload, const Machine& machine);

/// The lists of a plan as they run.
struct Streaming {
  std::int32_t resident = 1;   ///< lists at a time
  double bytes_per_token = 0;  ///< K and V
  double bytes_in_flight = 0;  ///< of a list, asked for and not there yet
  double drift = 0;            ///< share of what a list has read by which others are ahead or behind (port_spread())
};

/// Share of a list of so many bytes in which lists that begin together are in step: until they have drifted apart by
/// more than is on its way.
double together_share(const Streaming& streaming, double list_bytes);

/// Share of what the plan's lists read for which another list reads the same tokens by the request's next KV head at
/// the same time: together they read whole rows of the cache. Lists of one item with the same tokens begin together if
/// all lists run at a time, or one follows the other in the plan.
double in_step_share(const workloads::Workload& workload, const schedules::Plan& plan, const Streaming& streaming);

}  // namespace splitwave::simulator
