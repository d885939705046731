// SPDX-License-Identifier: Apache-2.0
#include "gpu/addressing.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"

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

void check_addressing(const KvAddressing& addressing, const workloads::Workload& workload) {
  const auto refuse = [&](const char* what, std::int64_t value, const std::string& allowed) {
    throw base::InputError(
        fmt::format("workload {}: {} of K and V is {}; allowed: {}", workload.name, what, value, allowed));
  };
  const auto require_rows = [&](const char* what, std::int64_t elements) {
    if (elements < 0 || elements % 8 != 0) refuse(what, elements, "multiples of 8 elements, 16 bytes");
  };
  const auto require_size = [&](const char* what, std::size_t size, std::size_t needed) {
    if (size != needed) refuse(what, static_cast<std::int64_t>(size), fmt::format("{}", needed));
  };
  const std::size_t requests = workload.requests.size();
  require_rows("the stride of tokens", addressing.token_stride);
  if (addressing.token_stride * bytes_per_element(workload.geometry.dtype) > std::numeric_limits<std::int32_t>::max()) {
    throw base::InputError(
        fmt::format("workload {}: K and V of neighbouring tokens lie 2 GiB apart or more", workload.name));
  }
  if (workload.kv.layout == KvLayout::paged) {
    if (addressing.page_size != workload.kv.page_size) {
      refuse("the page size", addressing.page_size, fmt::format("kv.page_size, {}", workload.kv.page_size));
    }
    require_rows("the stride of pages", addressing.page_stride);
    require_rows("the stride of heads in a page", addressing.page_head_stride);
    require_size("the number of first pages", addressing.first_page.size(), requests + 1);
    return;
  }
  if (addressing.page_size != 0) refuse("the page size", addressing.page_size, "0 with a layout that is not paged");
  require_size("the number of offsets", addressing.request_offset.size(), requests);
  require_size("the number of head strides", addressing.head_stride.size(), requests);
  for (const std::int64_t offset : addressing.request_offset) require_rows("a request's offset", offset);
  for (const std::int64_t stride : addressing.head_stride) require_rows("the stride of heads", stride);
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
