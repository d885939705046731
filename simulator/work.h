// SPDX-License-Identifier: Apache-2.0
// A plan, a machine and a kernel turned into what the event loop needs: bytes, costs and where bytes come from.
#pragma once

#include <cstdint>
#include <vector>

#include "schedules/plan.h"
#include "simulator/bandwidth.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "workloads/workload.h"

namespace splitwave::simulator {

struct Work {
  double bytes_per_token = 0;  ///< K and V of one token of one KV head
  /// Arithmetic per byte, one per different height of output tile; at least one.
  std::vector<TokenSeconds> seconds_per_byte;
  std::vector<std::uint8_t> cost_of_output;  ///< index into seconds_per_byte; empty if there is only one
  MemoryLaw law;
  double cold_seconds = 0;  ///< of the first wave
};

/// Where the data are when the kernel starts. cold: K and V come from DRAM; warm: what fits of them is in L2.
enum class L2State { cold, warm };

Work make_work(const workloads::Workload& workload, const schedules::Plan& plan, const Machine& machine,
               const Kernel& kernel, L2State l2, std::int32_t resident);

}  // namespace splitwave::simulator
