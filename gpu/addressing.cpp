// SPDX-License-Identifier: Apache-2.0
#include "gpu/addressing.h"

namespace splitwave::gpu {

using workloads::KvLayout;

KvAddressing dense_addressing(const workloads::Workload& workload) {
  const workloads::Geometry& g = workload.geometry;
  const std::int64_t row = g.head_dim;
  KvAddressing a;
  a.token_stride = workload.kv.layout == KvLayout::bhsd ? row : row * g.kv_heads;
  if (workload.kv.layout == KvLayout::paged) {
    a.page_size = workload.kv.page_size;
    a.page_stride = a.page_size * a.token_stride;
    a.page_head_stride = row;
    a.first_page = {0};
    for (const workloads::Request& request : workload.requests) {
      const std::int64_t pages = (static_cast<std::int64_t>(request.context_len) + a.page_size - 1) / a.page_size;
      a.first_page.push_back(a.first_page.back() + pages);
    }
    return a;
  }
  std::int64_t offset = 0;
  for (const workloads::Request& request : workload.requests) {
    a.request_offset.push_back(offset);
    a.head_stride.push_back(workload.kv.layout == KvLayout::bhsd ? row * request.context_len : row);
    offset += row * g.kv_heads * request.context_len;
  }
  return a;
}

std::int64_t dense_elements(const workloads::Workload& workload) {
  std::int64_t tokens = 0;
  for (const workloads::Request& request : workload.requests) {
    const std::int64_t size = workload.kv.layout == KvLayout::paged ? workload.kv.page_size : 1;
    tokens += (request.context_len + size - 1) / size * size;
  }
  return tokens * workload.geometry.kv_heads * workload.geometry.head_dim;
}

}  // namespace splitwave::gpu
