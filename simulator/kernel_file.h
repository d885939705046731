// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/kernel.h"

namespace splitwave::simulator {

/// One variant of a kernel file: a kernel and the geometries that it is for.
struct KernelVariant {
  Kernel kernel;
  std::int32_t head_dim_least = 0;
  std::int32_t head_dim_most = 0;
  std::int32_t group_least = 1;  ///< query heads per KV head
  std::int32_t group_most = 65536;
};

/// Variants in the order of the file. Throws InputError with file, key, value and what is allowed.
std::vector<KernelVariant> read_kernel_file(std::string_view text, const std::string& where);

}  // namespace splitwave::simulator
