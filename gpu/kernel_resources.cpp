// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernel_resources.h"

#include "gpu/compiled_kernels.h"
#include "gpu/cuda_check.h"

namespace splitwave::gpu {
namespace {

void take_resources(const DecodeKernel& kernel, std::int32_t cluster, std::int32_t& registers, std::int64_t& shared) {
  cudaFuncAttributes attributes{};
  SPLITWAVE_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel.function));
  registers = attributes.numRegs;
  shared = shared_bytes(kernel, cluster) + static_cast<std::int64_t>(attributes.sharedSizeBytes);
}

}  // namespace

KernelResources resources(const workloads::Workload& workload, const KernelConfig& config) {
  KernelResources result;
  result.where = residency(workload, config);  // refuses what is not compiled
  const DecodeKernel* single_item = single_item_kernel_of(workload, config);
  const DecodeKernel& kernel = config.single_items_only() ? *single_item : find_kernel(workload, config);
  result.threads = kernel.threads;
  take_resources(kernel, config.cluster, result.registers_per_thread, result.shared_bytes);
  result.single_item = single_item != nullptr;
  if (!result.single_item) return result;
  take_resources(*single_item, config.cluster, result.single_item_registers_per_thread,
                 result.single_item_shared_bytes);
  result.single_item_where = single_item_residency(workload, config);
  return result;
}

}  // namespace splitwave::gpu
