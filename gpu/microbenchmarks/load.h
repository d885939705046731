// SPDX-License-Identifier: Apache-2.0
// Clock and power of the device at one kind of work at a time, and what its tensor cores give.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/nvml.h"

namespace splitwave::gpu {

/// Work that went on for more than a second, and what came of it.
struct LoadPoint {
  /// "hold": CTAs that sleep; "ring", "ring_l2": reading by cp.async; "multiply", "multiply_shared": mma.sync, operands
  /// in registers or from shared memory.
  std::string work;
  std::int32_t ctas = 0;             ///< each on an SM of its own
  std::int64_t bytes_in_flight = 0;  ///< of a CTA that reads
  double dram_bytes_per_second = 0;
  double l2_bytes_per_second = 0;      ///< from L2 to the SMs, those from DRAM too
  double shared_bytes_per_second = 0;  ///< into and out of shared memory
  double flops = 0;                    ///< of matrix instructions, FLOP/s
  std::optional<double> watts;         ///< mean by the energy counter
  std::optional<double> sm_clock_mhz;
};

/// Each kind of work on a quarter, half and all of the SMs; reading with small and with large windows, so that rates
/// and numbers of SMs differ. The fastest of each kind comes last.
std::vector<LoadPoint> measure_loads();

/// FLOP/s of mma.sync m16n8k16 (fp16 into fp32) on all SMs, operands in registers.
double time_multiplications();

}  // namespace splitwave::gpu
