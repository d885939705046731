// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cpu_reference/isa.h"
#include "cpu_reference/kernels/tile_block.h"
#include "workloads/workload.h"

namespace splitwave::cpu_reference {

/// The kernel for an element type. Throws std::logic_error if `isa` is not among supported_isas(), or for fp8.
TileKernel tile_kernel(workloads::Dtype dtype, Isa isa);

}  // namespace splitwave::cpu_reference
