// SPDX-License-Identifier: Apache-2.0
#include "workloads/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "base/text.h"
#include "workloads/random.h"
#include "workloads/rounding.h"
#include "workloads/rows.h"
#include "workloads/sample.h"
#include "workloads/tensor_values.h"

namespace splitwave::workloads {

namespace {

constexpr std::uint64_t kPageOrder = 0x70616765;  // purpose of the random stream

bool paged(const Workload& workload) {
  return workload.kv.layout == KvLayout::paged;
}
bool has_v(const Workload& workload) {
  return workload.geometry.kind != AttentionKind::mla;
}

std::vector<std::int64_t> prefix_sum(const Workload& workload, std::int64_t (*count)(const Workload&, const Request&)) {
  std::vector<std::int64_t> sum = {0};
  sum.reserve(workload.requests.size() + 1);
  for (const Request& request : workload.requests) sum.push_back(sum.back() + count(workload, request));
  return sum;
}

std::int64_t query_tokens(const Workload&, const Request& request) {
  return request.query_len;
}
std::int64_t kv_tokens(const Workload&, const Request& request) {
  return request.context_len;
}
std::int64_t pages(const Workload& workload, const Request& request) {
  const std::int64_t size = workload.kv.page_size;
  return (request.context_len + size - 1) / size;
}

struct Sizes {
  std::int64_t q = 0;
  std::int64_t k = 0;
  std::int64_t v = 0;
  std::int64_t table = 0;
};

[[noreturn]] void refuse_memory(const Workload& workload, const std::string& needed, std::int64_t limit) {
  throw base::InputError(fmt::format("workload {}: its tensors need {} bytes of memory; allowed: at most {}",
                                     base::printable(workload.name, 200), needed, limit));
}

// tokens * heads * row elements * element bytes; more than 2^63 is too much for any limit.
std::int64_t tensor_bytes(const Workload& workload, std::int64_t tokens, std::int64_t heads, std::int64_t row,
                          std::int64_t limit) {
  std::int64_t bytes = 0;
  const std::int64_t row_bytes = row * bytes_per_element(workload.geometry.dtype);
  if (__builtin_mul_overflow(tokens, heads * row_bytes, &bytes)) refuse_memory(workload, "more than 2^63", limit);
  return bytes;
}

Sizes check_sizes(const Workload& workload, const Tensors& tensors, std::int64_t limit) {
  const Geometry& g = workload.geometry;
  const std::int64_t kv_slots =
      paged(workload) ? tensors.first_page.back() * workload.kv.page_size : tensors.first_token.back();
  Sizes sizes;
  sizes.q = tensor_bytes(workload, tensors.first_query.back(), g.query_heads, g.head_dim, limit);
  sizes.k = tensor_bytes(workload, kv_slots, g.kv_heads, g.head_dim, limit);
  if (has_v(workload)) sizes.v = tensor_bytes(workload, kv_slots, g.kv_heads, g.value_dim, limit);
  if (paged(workload)) sizes.table = tensors.first_page.back() * static_cast<std::int64_t>(sizeof(std::int32_t));
  const double total = static_cast<double>(sizes.q) + static_cast<double>(sizes.k) + static_cast<double>(sizes.v) +
                       static_cast<double>(sizes.table);
  if (total > static_cast<double>(limit)) refuse_memory(workload, fmt::format("{:.0f}", total), limit);
  return sizes;
}

// Request whose tokens hold batch token `token`; prefix sums may repeat where requests are empty.
std::int32_t request_of(const std::vector<std::int64_t>& first, std::int64_t token) {
  return static_cast<std::int32_t>(std::upper_bound(first.begin(), first.end(), token) - first.begin() - 1);
}

using RowOffset = std::int64_t (*)(const Workload&, const Tensors&, std::int32_t, std::int32_t, std::int32_t);

// Where the values of a request's head come from: itself, or if there are groups, from the request and heads of the one
// that the request is. `heads`: of one request in the tensors.
KvGroup source_of(std::span<const KvGroup> groups, std::int32_t heads, std::int32_t request, std::int32_t head) {
  if (groups.empty()) return {request, head};
  const KvGroup& group = groups[static_cast<std::size_t>(request)];
  return {group.request, group.kv_head * heads + head};
}

// Writes all heads of all tokens. Rows are computed apart from each other, so that any split over threads gives the
// same bits.
void fill(const Workload& workload, const Tensors& tensors, std::span<const KvGroup> groups, Tensor tensor,
          const std::vector<std::int64_t>& first, std::int32_t heads, std::int32_t row, RowOffset offset, Bytes& out) {
  const std::int64_t tokens = first.back();
  const Dtype dtype = workload.geometry.dtype;
  base::parallel(base::default_threads(), [&](int thread, int team) {
    for (std::int64_t token = tokens * thread / team; token < tokens * (thread + 1) / team && !base::stop_asked();
         ++token) {
      const std::int32_t request = request_of(first, token);
      const auto position = static_cast<std::int32_t>(token - first[static_cast<std::size_t>(request)]);
      for (std::int32_t head = 0; head < heads; ++head) {
        const KvGroup source = source_of(groups, heads, request, head);
        const std::uint64_t key =
            row_key(workload.seed, tensor, static_cast<std::uint32_t>(source.request),
                    static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(source.kv_head));
        const std::int64_t at = offset(workload, tensors, request, position, head) * bytes_per_element(dtype);
        write_row(key, row, workload.distribution, dtype, out.data() + at);
      }
    }
  });
  base::stop_if_asked();
}

// Offset of a K or V row of `row` elements.
std::int64_t kv_row(const Workload& workload, const Tensors& tensors, std::int32_t request, std::int64_t position,
                    std::int64_t head, std::int64_t row) {
  const auto r = static_cast<std::size_t>(request);
  const std::int64_t heads = workload.geometry.kv_heads;
  switch (workload.kv.layout) {
    case KvLayout::bshd:
      return ((tensors.first_token[r] + position) * heads + head) * row;
    case KvLayout::bhsd:
      return (tensors.first_token[r] * heads + head * workload.requests[r].context_len + position) * row;
    case KvLayout::paged:
      break;
  }
  const std::int64_t size = workload.kv.page_size;
  const std::int64_t page = tensors.block_table[static_cast<std::size_t>(tensors.first_page[r] + position / size)];
  return ((page * size + position % size) * heads + head) * row;
}

// Sets all bits of the slots that no token has, those at the end of each request's last page: a NaN in every dtype.
void fill_unused_slots(const Workload& workload, const Tensors& tensors, Bytes& out) {
  if (out.empty()) return;
  const std::int64_t size = workload.kv.page_size;
  const std::int64_t slot_bytes = static_cast<std::int64_t>(out.size()) / (tensors.first_page.back() * size);
  for (std::size_t r = 0; r < workload.requests.size(); ++r) {
    const std::int64_t used = workload.requests[r].context_len % size;
    if (used == 0) continue;
    const std::int64_t page = tensors.block_table[static_cast<std::size_t>(tensors.first_page[r + 1] - 1)];
    std::memset(out.data() + (page * size + used) * slot_bytes, 0xff,
                static_cast<std::size_t>((size - used) * slot_bytes));
  }
}

// The tensors of a workload, whose requests are `groups` of another where there are groups.
Tensors fill_tensors(const Workload& workload, std::span<const KvGroup> groups, std::int64_t memory_limit_bytes) {
  const Geometry& g = workload.geometry;
  Tensors tensors;
  tensors.first_query = prefix_sum(workload, query_tokens);
  tensors.first_token = prefix_sum(workload, kv_tokens);
  if (paged(workload)) tensors.first_page = prefix_sum(workload, pages);
  const Sizes sizes = check_sizes(workload, tensors, memory_limit_bytes);
  if (paged(workload)) tensors.block_table = page_order(workload, tensors.first_page.back());

  tensors.q.resize(static_cast<std::size_t>(sizes.q));
  tensors.k.resize(static_cast<std::size_t>(sizes.k));
  tensors.v.resize(static_cast<std::size_t>(sizes.v));
  if (paged(workload)) {
    fill_unused_slots(workload, tensors, tensors.k);
    fill_unused_slots(workload, tensors, tensors.v);
  }
  fill(workload, tensors, groups, Tensor::q, tensors.first_query, g.query_heads, g.head_dim, q_row, tensors.q);
  fill(workload, tensors, groups, Tensor::k, tensors.first_token, g.kv_heads, g.head_dim, k_row, tensors.k);
  if (has_v(workload)) {
    fill(workload, tensors, groups, Tensor::v, tensors.first_token, g.kv_heads, g.value_dim, v_row, tensors.v);
  }
  return tensors;
}

}  // namespace

std::uint32_t round_to_bits(Dtype dtype, float value) {
  if (dtype == Dtype::f16) return f16_bits(value);
  if (dtype == Dtype::bf16) return bf16_bits(value);
  return std::bit_cast<std::uint32_t>(value);
}

float from_bits(Dtype dtype, std::uint32_t bits) {
  if (dtype == Dtype::f16) return from_f16_bits(static_cast<std::uint16_t>(bits));
  if (dtype == Dtype::bf16) return from_bf16_bits(static_cast<std::uint16_t>(bits));
  return std::bit_cast<float>(bits);
}

std::vector<std::int32_t> page_order(const Workload& workload, std::int64_t count) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  RandomStream(workload.seed, kPageOrder).shuffle(order);
  return order;
}

Tensors make_tensors(const Workload& workload, std::int64_t memory_limit_bytes) {
  return fill_tensors(workload, {}, memory_limit_bytes);
}

Tensors make_sampled_tensors(const Workload& workload, std::span<const KvGroup> groups,
                             std::int64_t memory_limit_bytes) {
  return fill_tensors(sampled_workload(workload, groups), groups, memory_limit_bytes);
}

std::int64_t q_row(const Workload& workload, const Tensors& tensors, std::int32_t request, std::int32_t query,
                   std::int32_t query_head) {
  const Geometry& g = workload.geometry;
  return ((tensors.first_query[static_cast<std::size_t>(request)] + query) * g.query_heads + query_head) * g.head_dim;
}

std::int64_t k_row(const Workload& workload, const Tensors& tensors, std::int32_t request, std::int32_t position,
                   std::int32_t kv_head) {
  return kv_row(workload, tensors, request, position, kv_head, workload.geometry.head_dim);
}

std::int64_t v_row(const Workload& workload, const Tensors& tensors, std::int32_t request, std::int32_t position,
                   std::int32_t kv_head) {
  const Geometry& g = workload.geometry;
  return kv_row(workload, tensors, request, position, kv_head, has_v(workload) ? g.value_dim : g.head_dim);
}

float load_element(Dtype dtype, const Bytes& tensor, std::int64_t index) {
  std::uint32_t bits = 0;  // little-endian: a 16-bit element fills the low half
  const std::int64_t size = bytes_per_element(dtype);
  std::memcpy(&bits, tensor.data() + index * size, static_cast<std::size_t>(size));
  return from_bits(dtype, bits);
}

void store_element(Dtype dtype, Bytes& tensor, std::int64_t index, float value) {
  const std::uint32_t bits = round_to_bits(dtype, value);
  const std::int64_t size = bytes_per_element(dtype);
  std::memcpy(tensor.data() + index * size, &bits, static_cast<std::size_t>(size));
}

}  // namespace splitwave::workloads
