// SPDX-License-Identifier: Apache-2.0
// What compiled kernels take of an SM.
#pragma once

#include <cstdint>

#include "gpu/kernel_config.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// What the compiled kernel of a config takes of an SM, as the CUDA runtime reports it.
struct KernelResources {
  std::int32_t threads = 0;  ///< of a CTA
  std::int32_t registers_per_thread = 0;
  std::int64_t shared_bytes = 0;  ///< of a CTA, by its cluster
  Residency where;
  bool single_item = false;  ///< the config has a kernel for lists of one item, whose figures follow
  std::int32_t single_item_registers_per_thread = 0;
  std::int64_t single_item_shared_bytes = 0;
  Residency single_item_where;
};
/// Of the config's kernel for the workload, on the current device; the kernel for single items alone where the config
/// has no other (one stage). Throws InputError if the config is not compiled for the workload, and DeviceError if the
/// CUDA runtime fails.
KernelResources resources(const workloads::Workload& workload, const KernelConfig& config);

}  // namespace splitwave::gpu
