// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/fields.h"
#include "base/text.h"
#include "workloads/limits.h"
#include "workloads/workload.h"

namespace splitwave::workloads {

namespace {

// Where a message begins, and the checks that need nothing else.
struct Check {
  const std::string& where;

  void range(const std::string& key, std::int64_t value, std::int64_t least, std::int64_t most) const {
    if (value < least || value > most) {
      base::refuse_value(where, key, std::to_string(value), fmt::format("an integer from {} to {}", least, most));
    }
  }

  void row_size(const std::string& key, std::int32_t value) const {
    if (value < kHeadDimStep || value > kMaxHeadDim || value % kHeadDimStep != 0) {
      base::refuse_value(where, key, std::to_string(value),
                         fmt::format("multiples of {} from {} to {}", kHeadDimStep, kHeadDimStep, kMaxHeadDim));
    }
  }

  void label(const std::string& key, const std::string& value, std::int64_t most) const {
    if (!base::is_plain_line(value) || static_cast<std::int64_t>(value.size()) > most) {
      base::refuse_value(where, key, '"' + base::printable(value) + '"',
                         fmt::format("UTF-8 text of at most {} bytes without control characters", most));
    }
  }
};

void check_geometry(const Geometry& g, const Check& check) {
  check.range("geometry.query_heads", g.query_heads, 1, kMaxHeads);
  check.range("geometry.kv_heads", g.kv_heads, 1, kMaxHeads);
  check.row_size("geometry.head_dim", g.head_dim);
  check.row_size("geometry.value_dim", g.value_dim);
  if (g.query_heads % g.kv_heads != 0) {
    base::refuse_value(check.where, "geometry.kv_heads", std::to_string(g.kv_heads),
                       fmt::format("divisors of query_heads ({})", g.query_heads));
  }
  if (g.kind == AttentionKind::mha && g.kv_heads != g.query_heads) {
    base::refuse_value(check.where, "geometry.kv_heads", std::to_string(g.kv_heads),
                       fmt::format("query_heads ({}), since kind is mha", g.query_heads));
  }
  if ((g.kind == AttentionKind::mqa || g.kind == AttentionKind::mla) && g.kv_heads != 1) {
    base::refuse_value(check.where, "geometry.kv_heads", std::to_string(g.kv_heads),
                       fmt::format("1, since kind is {}", to_string(g.kind)));
  }
  if (g.kind == AttentionKind::mla && g.value_dim > g.head_dim) {
    base::refuse_value(check.where, "geometry.value_dim", std::to_string(g.value_dim),
                       fmt::format("at most head_dim ({}), since V of mla is a part of K", g.head_dim));
  }
  if (g.dtype == Dtype::fp8_e4m3 || g.dtype == Dtype::fp8_e5m2) {
    base::refuse_value(check.where, "geometry.dtype", to_string(g.dtype), "f16, bf16, f32 (fp8 has no kernels yet)");
  }
  if (g.window) check.range("geometry.window", *g.window, 1, kMaxContextLen);
  if (g.softmax_scale && !std::isfinite(*g.softmax_scale)) {
    base::refuse_value(check.where, "geometry.softmax_scale", std::to_string(*g.softmax_scale), "a finite number");
  }
}

void check_storage(const Workload& workload, const Check& check) {
  const KvStorage& kv = workload.kv;
  if (kv.layout == KvLayout::paged) {
    check.range("kv.page_size", kv.page_size, 1, kMaxPageSize);
  } else if (kv.page_size != 0) {
    base::refuse_value(check.where, "kv.page_size", std::to_string(kv.page_size), "nothing, unless kv.layout is paged");
  }
  if (kv.cache_len) check.range("kv.cache_len", *kv.cache_len, 1, kMaxContextLen);
}

void check_request(const Workload& workload, std::size_t index, const Check& check) {
  const Request& request = workload.requests[index];
  const auto refuse = [&](const char* key, std::int32_t value, std::int64_t least, std::int64_t most) {
    check.range(fmt::format("requests[{}].{}", index, key), value, least, most);
  };
  if (request.query_len < 1 || request.query_len > kMaxQueryLen) {
    refuse("query_len", request.query_len, 1, kMaxQueryLen);
  }
  if (request.context_len < 0 || request.context_len > kMaxContextLen) {
    refuse("context_len", request.context_len, 0, kMaxContextLen);
  }
  if (workload.kv.cache_len && request.context_len > *workload.kv.cache_len) {
    base::refuse_value(check.where, fmt::format("requests[{}].context_len", index), std::to_string(request.context_len),
                       fmt::format("at most kv.cache_len ({})", *workload.kv.cache_len));
  }
}

// The sums over the batch. No intermediate wraps: 2^20 requests of 2^30 tokens are 2^50, and the products are checked.
void check_sizes(const Workload& workload, const Check& check) {
  const Geometry& g = workload.geometry;
  std::int64_t query_tokens = 0;
  std::int64_t kv_tokens = 0;
  std::int64_t pages = 0;
  const std::int64_t page_size = std::max(workload.kv.page_size, 1);
  for (const Request& request : workload.requests) {
    query_tokens += request.query_len;
    kv_tokens += request.context_len;
    pages += (request.context_len + page_size - 1) / page_size;
  }
  check.range("the sum of query_len", query_tokens, 0, kMaxQueryTokens);
  check.range("query tokens times query_heads", query_tokens * g.query_heads, 0, kMaxQueryRows);
  if (workload.kv.layout == KvLayout::paged) {
    check.range("the number of pages", pages, 0, kMaxPages);
    kv_tokens = pages * page_size;
  }
  const std::int64_t row_bytes = std::max(g.head_dim, g.value_dim) * bytes_per_element(g.dtype);
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(kv_tokens, g.kv_heads * row_bytes, &bytes) || bytes > kMaxTensorBytes) {
    base::refuse_value(check.where, "the size of K or V",
                       fmt::format("{} slots times {} heads times {} bytes", kv_tokens, g.kv_heads, row_bytes),
                       fmt::format("at most {} bytes", kMaxTensorBytes));
  }
}

}  // namespace

void validate(const Workload& workload, const std::string& where) {
  const Check check{where};
  if (workload.name.empty()) base::refuse_value(where, "name", "empty", "a name of at least one character");
  check.label("name", workload.name, kMaxNameLength);
  check.label("note", workload.note, kMaxNoteLength);
  check_geometry(workload.geometry, check);
  check_storage(workload, check);
  check.range("the number of requests", static_cast<std::int64_t>(workload.requests.size()), 0, kMaxRequests);
  for (std::size_t i = 0; i < workload.requests.size(); ++i) check_request(workload, i, check);
  check_sizes(workload, check);
}

void validate(const Workload& workload) {
  validate(workload, "workload " + base::printable(workload.name, 200));
}

}  // namespace splitwave::workloads
