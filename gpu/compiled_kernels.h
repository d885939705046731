// SPDX-License-Identifier: Apache-2.0
// From a kernel config to its compiled kernel. Private to gpu/.
#pragma once

#include "gpu/kernel_config.h"
#include "gpu/kernels/table.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// Throws InputError as kernel_configs() does.
std::span<const DecodeKernel> kernels_for(const workloads::Geometry& geometry);

/// Throws InputError if it is not compiled.
const DecodeKernel& find_kernel(const workloads::Workload& workload, const KernelConfig& config);
/// The single-item kernel of the same config; null if there is none.
const DecodeKernel* find_single_item_kernel(const workloads::Workload& workload, const KernelConfig& config);

const MergeKernel& find_merge_kernel(const workloads::Geometry& geometry, std::int32_t row_tiles);

std::int32_t shared_bytes(const DecodeKernel& kernel, std::int32_t cluster);

}  // namespace splitwave::gpu
