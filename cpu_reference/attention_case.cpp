// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/attention_case.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "cpu_reference/load_16_bits.h"

namespace splitwave::cpu_reference {
namespace {

using base::ElementType;
using workloads::Dtype;
using workloads::KvLayout;

template <typename Stored, typename Value>
void load_as(const Elements& elements, std::int64_t first, std::int32_t count, double* to, Value value) {
  const std::byte* const from = elements.data + first * static_cast<std::int64_t>(sizeof(Stored));
  for (std::int32_t i = 0; i < count; ++i) {
    Stored stored{};
    std::memcpy(&stored, from + i * sizeof(stored), sizeof(stored));
    to[i] = value(stored);
  }
}

/// How rows of `elements` elements lie by the workload's layout.
KvPlaces places(const workloads::Workload& workload, const workloads::Tensors& tensors, std::int64_t elements) {
  const std::int64_t heads = workload.geometry.kv_heads;
  KvPlaces places;
  if (workload.kv.layout == KvLayout::paged) {
    places.page_stride = workload.kv.page_size * heads * elements;
    places.rows.token_stride = heads * elements;
    places.rows.head_stride = elements;
    return places;
  }
  const bool token_major = workload.kv.layout == KvLayout::bshd;
  places.rows.token_stride = token_major ? heads * elements : elements;
  places.rows.head_stride = elements;
  for (std::size_t r = 0; r < workload.requests.size(); ++r) {
    places.rows.begin.push_back(tensors.first_token[r] * heads * elements);
    if (!token_major) places.head_strides.push_back(workload.requests[r].context_len * elements);
  }
  return places;
}

}  // namespace

ElementType element_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
      return ElementType::f16;
    case Dtype::bf16:
      return ElementType::bf16;
    case Dtype::f32:
      return ElementType::f32;
    case Dtype::fp8_e4m3:
    case Dtype::fp8_e5m2:
      break;
  }
  throw std::logic_error("the oracle reads f16, bf16 and f32, not " + workloads::to_string(dtype));
}

double element_at(const Elements& elements, std::int64_t index) {
  double value = 0;
  load_elements(elements, index, 1, &value);
  return value;
}

void load_elements(const Elements& elements, std::int64_t first, std::int32_t count, double* to) {
  switch (elements.type) {
    case ElementType::f64:
      return load_as<double>(elements, first, count, to, [](double x) { return x; });
    case ElementType::f32:
      return load_as<float>(elements, first, count, to, [](float x) { return x; });
    case ElementType::f16:
      return load_f16(elements.data + 2 * first, count, to);
    case ElementType::bf16:
      return load_bf16(elements.data + 2 * first, count, to);
    case ElementType::i64:
    case ElementType::i32:
    case ElementType::boolean:
      break;
  }
  throw std::logic_error("load_elements: " + base::to_string(elements.type) + " is no floating-point type");
}

void ask_for_elements(const Elements& elements, std::int64_t first, std::int32_t count) {
  constexpr std::int64_t kLineBytes = 64;
  const std::int64_t size = base::bytes_per_element(elements.type);
  const std::byte* const from = elements.data + first * size;
  for (std::int64_t line = 0; line < count * size; line += kLineBytes) __builtin_prefetch(from + line);
}

std::int64_t kv_offset(const AttentionCase& attention, const KvPlaces& places, std::int32_t request,
                       std::int32_t position, std::int32_t kv_head) {
  const auto r = static_cast<std::size_t>(request);
  if (attention.page_size == 0) {
    const std::int64_t head_stride = places.head_strides.empty() ? places.rows.head_stride : places.head_strides[r];
    return places.rows.begin[r] + position * places.rows.token_stride + kv_head * head_stride;
  }
  const std::int64_t page =
      attention.block_table[static_cast<std::size_t>(attention.first_page[r] + position / attention.page_size)];
  return page * places.page_stride + position % attention.page_size * places.rows.token_stride +
         kv_head * places.rows.head_stride;
}

double mask_value(const Mask& mask, std::int32_t request, std::int32_t head, std::int32_t query,
                  std::int32_t position) {
  const std::int64_t index = request * mask.request_stride + head * mask.head_stride + query * mask.query_stride +
                             position * mask.token_stride;
  if (mask.elements.type != ElementType::boolean) return element_at(mask.elements, index);
  return mask.elements.data[index] == std::byte{0} ? -std::numeric_limits<double>::infinity() : 0;
}

AttentionCase make_case(const workloads::Workload& workload, const workloads::Tensors& tensors) {
  const workloads::Geometry& g = workload.geometry;
  const ElementType type = element_type(g.dtype);
  AttentionCase attention;
  attention.geometry = g;
  attention.requests = workload.requests;
  attention.first_query = tensors.first_query;
  attention.q = {tensors.q.data(), type};
  attention.k = {tensors.k.data(), type};
  const std::int64_t row = g.head_dim;
  attention.q_rows.token_stride = g.query_heads * row;
  attention.q_rows.head_stride = row;
  for (std::size_t r = 0; r < workload.requests.size(); ++r) {
    attention.q_rows.begin.push_back(tensors.first_query[r] * g.query_heads * row);
  }
  attention.k_rows = places(workload, tensors, g.head_dim);
  const bool v_in_k = g.kind == workloads::AttentionKind::mla;
  attention.v = v_in_k ? attention.k : Elements{tensors.v.data(), type};
  attention.v_rows = v_in_k ? attention.k_rows : places(workload, tensors, g.value_dim);
  for (std::size_t r = 0; r < workload.requests.size(); ++r) {
    const std::int64_t packed = std::min<std::int64_t>(tensors.first_token.back() - tensors.first_token[r],
                                                       std::numeric_limits<std::int32_t>::max());
    attention.room.push_back(workload.kv.layout == KvLayout::bshd ? static_cast<std::int32_t>(packed)
                                                                  : workload.requests[r].context_len);
  }
  if (workload.kv.layout == KvLayout::paged) {
    attention.page_size = workload.kv.page_size;
    attention.block_table = tensors.block_table;
    attention.first_page.assign(tensors.first_page.begin(), tensors.first_page.end() - 1);
    attention.pages = tensors.first_page.back();
  }
  return attention;
}

}  // namespace splitwave::cpu_reference
