// SPDX-License-Identifier: Apache-2.0
// studies/this_cpu.h in a browser, which lets nobody measure its computer.
#include <stdexcept>

#include "base/error.h"
#include "studies/this_cpu.h"

namespace splitwave::studies {

Target this_cpu(std::int32_t /*threads*/, bool /*measure_cpu*/) {
  throw base::InputError("gpu: cpu cannot be measured in a browser; allowed: the GPUs");
}

simulator::Machine cpu_for(const Target& /*target*/, const workloads::Workload& /*workload*/,
                           const schedules::Plan& /*plan*/) {
  throw std::logic_error("no target of this program is a CPU");
}

}  // namespace splitwave::studies
