// SPDX-License-Identifier: Apache-2.0
// Where the rows of a KV cache lie. Offsets and strides in elements, the same for K and V.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// Rows must start at multiples of 8 elements (16 bytes).
struct KvAddressing {
  std::int64_t token_stride = 0;  ///< from a token of a KV head to the next (paged: within a page)
  // contiguous
  std::vector<std::int64_t> request_offset;  ///< of (request, KV head 0, position 0)
  std::vector<std::int64_t> head_stride;     ///< per request
  // paged
  std::int32_t page_size = 0;            ///< 0: contiguous
  std::int64_t page_stride = 0;          ///< from a physical page to the next
  std::int64_t page_head_stride = 0;     ///< from a KV head to the next within a page
  std::vector<std::int64_t> first_page;  ///< per request and one more: its first entry of the block table
};

/// Addressing of the dense layouts of workloads/tensors.h.
KvAddressing dense_addressing(const workloads::Workload& workload);

/// Throws InputError unless the addressing is of the workload's layout and requests, and all rows start at multiples of
/// 16 bytes, lie at no negative stride, and those of neighbouring tokens less than 2 GiB apart.
void check_addressing(const KvAddressing& addressing, const workloads::Workload& workload);

/// Elements of K (and of V) in that layout.
std::int64_t dense_elements(const workloads::Workload& workload);

}  // namespace splitwave::gpu
