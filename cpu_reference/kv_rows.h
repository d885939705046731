// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "cpu_reference/kernels/tile_block.h"
#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::cpu_reference {

/// Addresses of the K and V rows of up to kBlockTokens tokens, whatever the layout. After the last token its address is
/// repeated kPadElements times.
struct KvRows {
  using Addresses = std::array<const std::byte*, kBlockTokens + kPadElements>;
  Addresses k;
  Addresses v;
  std::int32_t tokens = 0;
  bool k_contiguous = false;  ///< each row begins where the one before it ends
  bool v_contiguous = false;
};

/// Addresses for the first kBlockTokens (or fewer) tokens of the range.
void locate(const workloads::Workload& workload, const workloads::Tensors& tensors, std::int32_t request,
            std::int32_t kv_head, workloads::KvRange range, KvRows& rows);

}  // namespace splitwave::cpu_reference
