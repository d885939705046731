// SPDX-License-Identifier: Apache-2.0
// From a variant to its compiled kernel. Private to gpu/.
#pragma once

#include "gpu/kernels/table.h"
#include "gpu/variant.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// Throws InputError as variants() does.
std::span<const DecodeKernel> kernels_for(const workloads::Geometry& geometry);

/// Throws InputError if it is not compiled.
const DecodeKernel& find_kernel(const workloads::Workload& workload, const Variant& variant);
/// The simple kernel of the same shape, for uniform plans; null if there is none.
const DecodeKernel* find_simple_kernel(const workloads::Workload& workload, const Variant& variant);

const MergeKernel& find_merge_kernel(const workloads::Geometry& geometry, std::int32_t row_tiles);

std::int32_t shared_bytes(const DecodeKernel& kernel, std::int32_t cluster);

}  // namespace splitwave::gpu
