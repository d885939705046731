// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "cpu_reference/kernels/tile_block.h"
#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::cpu_reference {

/// Addresses of the K and V rows of up to kBlockTokens tokens, whatever the layout.
struct KvRows {
  std::array<const std::byte*, kBlockTokens> k;
  std::array<const std::byte*, kBlockTokens> v;
  std::int32_t tokens = 0;
};

/// Addresses for the first kBlockTokens (or fewer) tokens of the range.
void locate(const workloads::Workload& workload, const workloads::Tensors& tensors, std::int32_t request,
            std::int32_t kv_head, workloads::KvRange range, KvRows& rows);

}  // namespace splitwave::cpu_reference
