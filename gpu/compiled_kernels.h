// SPDX-License-Identifier: Apache-2.0
// From a kernel config to its compiled kernel. Private to gpu/.
#pragma once

#include "gpu/kernel_config.h"
#include "gpu/kernels/table.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// Whether the device has what kernels of the team in such clusters are made of: wgmma, and clusters at all. Others are
/// compiled, too, and do nothing.
bool has_instructions(const Device& device, Team team, std::int32_t cluster);

/// Of warps for themselves. waits: those for CTAs that wait and merge. Throws InputError as kernel_configs() does.
std::span<const DecodeKernel> kernels_for(const workloads::Geometry& geometry, bool waits = false);

/// waits: for plans whose CTAs wait and merge, which kernels whose warps work together take as any others. Throws
/// InputError if it is not compiled.
const DecodeKernel& find_kernel(const workloads::Workload& workload, const KernelConfig& config, bool waits = false);
/// The single-item kernel of the same config, for outputs in parts or not; null if there is none. workload: as the
/// kernel sees it, of head pairs if the config is for such.
const DecodeKernel* find_single_item_kernel(const workloads::Workload& workload, const KernelConfig& config,
                                            bool parts = false);

/// The same of a workload as users see it, for outputs that are whole.
const DecodeKernel* single_item_kernel_of(const workloads::Workload& workload, const KernelConfig& config);

/// Whether the plan, as the kernel sees it, is one for single-item kernels with so many rows and tokens.
bool takes_single_items(const workloads::Workload& workload, const schedules::Plan& plan, const KernelConfig& config);

/// Of the current device. Also allows the kernel its shared memory and clusters.
Residency residency_of(const DecodeKernel& kernel, const KernelConfig& config);

const MergeKernel& find_merge_kernel(const workloads::Geometry& geometry, std::int32_t row_tiles);

std::int32_t shared_bytes(const DecodeKernel& kernel, std::int32_t cluster);

}  // namespace splitwave::gpu
