// SPDX-License-Identifier: Apache-2.0
#include "workloads/workload.h"

#include <algorithm>
#include <cmath>

namespace splitwave::workloads {

double Geometry::scale() const {
  return softmax_scale.value_or(1.0 / std::sqrt(static_cast<double>(head_dim)));
}

KvRange visible_to_query(const Geometry& geometry, const Request& request, std::int32_t query) {
  const std::int64_t position = static_cast<std::int64_t>(request.context_len) - request.query_len + query;
  const std::int64_t context = request.context_len;
  std::int64_t begin = 0;
  std::int64_t end = context;
  if (geometry.causal) end = std::clamp<std::int64_t>(position + 1, 0, context);
  if (geometry.window) {
    begin = std::clamp<std::int64_t>(position + 1 - *geometry.window, 0, end);
    end = std::clamp<std::int64_t>(position + *geometry.window, begin, end);
  }
  return {static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)};
}

KvRange visible_to_queries(const Geometry& geometry, const Request& request, std::int32_t query_begin,
                           std::int32_t query_end) {
  if (query_begin >= query_end) return {};
  if (!geometry.window) return {0, visible_to_query(geometry, request, query_end - 1).end};
  // Both ends of visible_to_query never decrease with the query; an empty first range carries no useful begin.
  std::int32_t first = query_begin;
  while (first + 1 < query_end && visible_to_query(geometry, request, first).size() == 0) ++first;
  return {visible_to_query(geometry, request, first).begin, visible_to_query(geometry, request, query_end - 1).end};
}

std::int64_t bytes_per_element(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
    case Dtype::bf16:
      return 2;
    case Dtype::f32:
      return 4;
    case Dtype::fp8_e4m3:
    case Dtype::fp8_e5m2:
      return 1;
  }
  return 0;
}

std::int64_t kv_bytes_per_token(const Geometry& geometry) {
  const std::int64_t elements = geometry.kind == AttentionKind::mla
                                    ? geometry.head_dim
                                    : static_cast<std::int64_t>(geometry.head_dim) + geometry.value_dim;
  return elements * bytes_per_element(geometry.dtype);
}

std::int64_t kv_bytes(const Workload& workload) {
  std::int64_t tokens = 0;
  for (const Request& request : workload.requests) {
    tokens += visible_to_queries(workload.geometry, request, 0, request.query_len).size();
  }
  return tokens * workload.geometry.kv_heads * kv_bytes_per_token(workload.geometry);
}

std::int64_t minimal_bytes(const Workload& workload) {
  const Geometry& g = workload.geometry;
  std::int64_t query_tokens = 0;
  for (const Request& request : workload.requests) query_tokens += request.query_len;
  const std::int64_t row_elements = static_cast<std::int64_t>(g.head_dim) + g.value_dim;
  return kv_bytes(workload) + query_tokens * g.query_heads * row_elements * bytes_per_element(g.dtype);
}

double flops(const Workload& workload) {
  const Geometry& g = workload.geometry;
  double pairs = 0;
  for (const Request& request : workload.requests) {
    for (std::int32_t query = 0; query < request.query_len; ++query) {
      pairs += visible_to_query(g, request, query).size();
    }
  }
  return 2.0 * pairs * g.query_heads * (static_cast<double>(g.head_dim) + g.value_dim);
}

std::int32_t padded_context_len(const Workload& workload) {
  std::int32_t longest = 0;
  for (const Request& request : workload.requests) longest = std::max(longest, request.context_len);
  return std::max(longest, workload.kv.cache_len.value_or(0));
}

bool is_uniform(const Workload& workload) {
  return std::all_of(workload.requests.begin(), workload.requests.end(),
                     [&](const Request& request) { return request == workload.requests.front(); });
}

bool has_one_query_len(const Workload& workload) {
  return std::all_of(workload.requests.begin(), workload.requests.end(),
                     [&](const Request& request) { return request.query_len == workload.requests.front().query_len; });
}

std::int32_t max_query_len(const Workload& workload) {
  std::int32_t longest = 0;
  for (const Request& request : workload.requests) longest = std::max(longest, request.query_len);
  return longest;
}

std::string to_string(AttentionKind kind) {
  switch (kind) {
    case AttentionKind::mha:
      return "mha";
    case AttentionKind::gqa:
      return "gqa";
    case AttentionKind::mqa:
      return "mqa";
    case AttentionKind::mla:
      return "mla";
  }
  return "";
}

std::string to_string(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
      return "f16";
    case Dtype::bf16:
      return "bf16";
    case Dtype::f32:
      return "f32";
    case Dtype::fp8_e4m3:
      return "fp8_e4m3";
    case Dtype::fp8_e5m2:
      return "fp8_e5m2";
  }
  return "";
}

std::string to_string(KvLayout layout) {
  switch (layout) {
    case KvLayout::bshd:
      return "bshd";
    case KvLayout::bhsd:
      return "bhsd";
    case KvLayout::paged:
      return "paged";
  }
  return "";
}

std::string to_string(Distribution distribution) {
  return distribution == Distribution::normal ? "normal" : "outliers";
}

}  // namespace splitwave::workloads
