// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/kv_rows.h"

#include <algorithm>

namespace splitwave::cpu_reference {

using workloads::KvLayout;

void locate(const workloads::Workload& workload, const workloads::Tensors& tensors, std::int32_t request,
            std::int32_t kv_head, workloads::KvRange range, KvRows& rows) {
  const workloads::Geometry& geometry = workload.geometry;
  const bool v_in_k = geometry.kind == workloads::AttentionKind::mla;
  const std::byte* const v_tensor = v_in_k ? tensors.k.data() : tensors.v.data();
  const std::int64_t element_bytes = workloads::bytes_per_element(geometry.dtype);
  const std::int64_t row_distance = workload.kv.layout == KvLayout::bhsd ? 1 : geometry.kv_heads;
  const std::int64_t k_stride = row_distance * geometry.head_dim * element_bytes;
  const std::int64_t v_stride = v_in_k ? k_stride : row_distance * geometry.value_dim * element_bytes;
  rows.tokens = std::min(range.size(), kBlockTokens);
  rows.k_contiguous =
      workload.kv.layout != KvLayout::paged && k_stride == std::int64_t{geometry.head_dim} * element_bytes;
  rows.v_contiguous =
      workload.kv.layout != KvLayout::paged && v_stride == std::int64_t{geometry.value_dim} * element_bytes;
  const std::int32_t end = range.begin + rows.tokens;
  for (std::int32_t begin = range.begin; begin < end;) {
    // Rows lie evenly as far as the page goes.
    std::int32_t even_end = end;
    if (workload.kv.layout == KvLayout::paged) {
      even_end = std::min(end, begin - begin % workload.kv.page_size + workload.kv.page_size);
    }
    const std::byte* k = tensors.k.data() + k_row(workload, tensors, request, begin, kv_head) * element_bytes;
    const std::byte* v = v_tensor + v_row(workload, tensors, request, begin, kv_head) * element_bytes;
    for (; begin < even_end; ++begin) {
      rows.k[begin - range.begin] = k;
      rows.v[begin - range.begin] = v;
      k += k_stride;
      v += v_stride;
    }
  }
  if (rows.tokens == 0) return;
  std::fill_n(rows.k.begin() + rows.tokens, kPadElements, rows.k[rows.tokens - 1]);
  std::fill_n(rows.v.begin() + rows.tokens, kPadElements, rows.v[rows.tokens - 1]);
}

}  // namespace splitwave::cpu_reference
