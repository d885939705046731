// SPDX-License-Identifier: Apache-2.0
// Tensors of a workload with values that a test chooses, in the layout that workloads/tensors.h documents.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "workloads/tensor_values.h"
#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::testing {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Value of an element: position is the query index for q and the KV position for k and v; head is the query head for
/// q and the KV head for k and v.
using Values = std::function<float(workloads::Tensor tensor, std::int32_t request, std::int32_t position,
                                   std::int32_t head, std::int32_t element)>;

/// Draws from the normal distribution, the same as workloads::make_tensors for this seed.
inline Values normal_values(std::uint64_t seed, bool outliers = false) {
  return [seed, outliers](workloads::Tensor tensor, std::int32_t request, std::int32_t position, std::int32_t head,
                          std::int32_t element) {
    return workloads::element_value(workloads::row_key(seed, tensor, request, position, head), element, outliers);
  };
}

namespace detail {

inline void add_tables(const workloads::Workload& workload, workloads::Tensors& tensors) {
  tensors.first_query = {0};
  tensors.first_token = {0};
  const bool paged = workload.kv.layout == workloads::KvLayout::paged;
  if (paged) tensors.first_page = {0};
  for (const workloads::Request& request : workload.requests) {
    tensors.first_query.push_back(tensors.first_query.back() + request.query_len);
    tensors.first_token.push_back(tensors.first_token.back() + request.context_len);
    if (!paged) continue;
    const std::int32_t page_size = workload.kv.page_size;
    tensors.first_page.push_back(tensors.first_page.back() + (request.context_len + page_size - 1) / page_size);
  }
  if (!paged) return;
  // Physical pages in reverse: a reader that forgets the block table reads something else.
  for (std::int64_t page = tensors.first_page.back() - 1; page >= 0; --page) {
    tensors.block_table.push_back(static_cast<std::int32_t>(page));
  }
}

inline void fill_with_nan(workloads::Dtype dtype, workloads::Bytes& tensor) {
  const std::int64_t elements = static_cast<std::int64_t>(tensor.size()) / workloads::bytes_per_element(dtype);
  for (std::int64_t i = 0; i < elements; ++i) {
    workloads::store_element(dtype, tensor, i, kNan);
  }
}

}  // namespace detail

/// Tensors with `values`, rounded to the workload's dtype. Slots without a token hold NaN.
inline workloads::Tensors tensors_with(const workloads::Workload& workload, const Values& values) {
  using workloads::Tensor;
  const workloads::Geometry& g = workload.geometry;
  const bool mla = g.kind == workloads::AttentionKind::mla;
  workloads::Tensors tensors;
  detail::add_tables(workload, tensors);
  const std::int64_t bytes = workloads::bytes_per_element(g.dtype);
  const std::int64_t slots = workload.kv.layout == workloads::KvLayout::paged
                                 ? tensors.first_page.back() * workload.kv.page_size
                                 : tensors.first_token.back();
  tensors.q.resize(tensors.first_query.back() * g.query_heads * g.head_dim * bytes);
  tensors.k.resize(slots * g.kv_heads * g.head_dim * bytes);
  tensors.v.resize(mla ? 0 : slots * g.kv_heads * g.value_dim * bytes);
  detail::fill_with_nan(g.dtype, tensors.k);
  detail::fill_with_nan(g.dtype, tensors.v);
  const auto store_row = [&](Tensor tensor, workloads::Bytes& to, std::int64_t first, std::int32_t elements,
                             std::int32_t request, std::int32_t position, std::int32_t head) {
    for (std::int32_t e = 0; e < elements; ++e) {
      workloads::store_element(g.dtype, to, first + e, values(tensor, request, position, head, e));
    }
  };
  for (std::int32_t r = 0; r < static_cast<std::int32_t>(workload.requests.size()); ++r) {
    for (std::int32_t i = 0; i < workload.requests[r].query_len; ++i) {
      for (std::int32_t h = 0; h < g.query_heads; ++h) {
        store_row(Tensor::q, tensors.q, workloads::q_row(workload, tensors, r, i, h), g.head_dim, r, i, h);
      }
    }
    for (std::int32_t i = 0; i < workload.requests[r].context_len; ++i) {
      for (std::int32_t h = 0; h < g.kv_heads; ++h) {
        store_row(Tensor::k, tensors.k, workloads::k_row(workload, tensors, r, i, h), g.head_dim, r, i, h);
        if (mla) continue;
        store_row(Tensor::v, tensors.v, workloads::v_row(workload, tensors, r, i, h), g.value_dim, r, i, h);
      }
    }
  }
  return tensors;
}

/// One request of `query_len` queries that all see `context_len` tokens (no mask), contiguous, scale 1.
inline workloads::Workload plain_workload(workloads::Dtype dtype, std::int32_t query_heads, std::int32_t kv_heads,
                                          std::int32_t dim, std::int32_t query_len, std::int32_t context_len) {
  workloads::Workload workload;
  workload.name = "plain";
  workload.geometry.kind = workloads::AttentionKind::gqa;
  workload.geometry.query_heads = query_heads;
  workload.geometry.kv_heads = kv_heads;
  workload.geometry.head_dim = dim;
  workload.geometry.value_dim = dim;
  workload.geometry.dtype = dtype;
  workload.geometry.causal = false;
  workload.geometry.softmax_scale = 1;
  workload.requests = {{query_len, context_len}};
  return workload;
}

}  // namespace splitwave::testing
