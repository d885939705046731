// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schedules/plan.h"
#include "simulator/machine.h"
#include "workloads/workload.h"

namespace splitwave::simulator {

/// The resources and costs of the kernel that runs a plan: what one CTA takes and how it moves and computes a tile.
struct Kernel {
  std::string name;
  std::int32_t threads = 128;
  std::int32_t registers_per_thread = 255;
  std::int64_t shared_bytes = 0;
  std::int64_t bytes_in_flight = 0;    ///< per CTA
  std::int32_t mma_rows = 16;          ///< query rows a tile is padded to by the instruction (16, 64, or 1 for none)
  double prologue_seconds = 0;         ///< of a CTA, before its first request to memory
  double item_seconds = 0;             ///< extra per further item of a CTA
  double merge_launch_seconds = 0;     ///< of a separate merge kernel
  double merge_seconds_per_split = 0;  ///< serial cost of one more partial in a merge
  std::string source;
};

/// CTAs of the kernel that fit on one SM: the least of threads, registers (allocated per warp in units of 256), shared
/// memory (1 KB reserved per CTA) and the CTA limit. 0 if even one does not fit.
std::int32_t ctas_per_sm(const Machine& machine, const Kernel& kernel);

/// Profile of the kernel that the schedule's own library runs for this geometry (docs/simulator.md lists them); the
/// CPU machine has one of its own.
Kernel native_kernel(std::string_view schedule, const workloads::Workload& workload, const Machine& machine);

}  // namespace splitwave::simulator
