// SPDX-License-Identifier: Apache-2.0
// What gpu/'s kernels do, on the host: each item attends in double, naively. What a kernel may read and write, and
// where, is what gpu/kernels/params.h says; only partial results lie in an order of their own.
#pragma once

#include "gpu/kernels/params.h"
#include "gpu/kernels/table.h"
#include "gpu/kernels/utilities.h"
#include "tests/gpu/stand_in/runtime.h"

namespace splitwave::gpu {

/// Reads and writes outside of what the device was given are told to runtime.h.
void run_decode(const DecodeKernel& kernel, const stand_in::KernelLaunch& launch, const DecodeParams& params);
/// run: fragments of a warp.
void run_merge(const MergeKernel& kernel, std::int32_t run, const stand_in::KernelLaunch& launch,
               const MergeParams& params);

/// Fills a tensor with the values that workloads/tensor_values.h has for it.
void run_fill(const FillParams& params);

}  // namespace splitwave::gpu
