// SPDX-License-Identifier: Apache-2.0
// What the oracle computes from: Q, K and V of a batch wherever they lie, a splitwave workload's or anybody's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/array.h"
#include "workloads/tensors.h"
#include "workloads/workload.h"

namespace splitwave::cpu_reference {

/// Elements in memory. Offsets into them are in elements.
struct Elements {
  const std::byte* data = nullptr;
  base::ElementType type = base::ElementType::f32;
};

/// What elements of a workload's tensors are in memory. Throws std::logic_error for fp8, which has no tensors.
base::ElementType element_type(workloads::Dtype dtype);

/// Element `index` as double, which is exact for every floating-point type.
double element_at(const Elements& elements, std::int64_t index);

/// Converts `count` elements from `first` on to double.
void load_elements(const Elements& elements, std::int64_t first, std::int32_t count, double* to);

/// Asks the memory for elements that will be loaded soon. Changes nothing.
void ask_for_elements(const Elements& elements, std::int64_t first, std::int32_t count);

/// Where the row of (request, token, head) begins: begin[request] + token * token_stride + head * head_stride. Units:
/// elements.
struct RowPlaces {
  std::vector<std::int64_t> begin;
  std::int64_t token_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t at(std::int32_t request, std::int64_t token, std::int32_t head) const {
    return begin[static_cast<std::size_t>(request)] + token * token_stride + head * head_stride;
  }
};

/// The same for K and V. Paged: begin is empty, and token t of a request lies in page block_table[first_page[request] +
/// t / page_size].
struct KvPlaces {
  RowPlaces rows;
  std::vector<std::int64_t> head_strides;  ///< per request, where they differ; else empty
  std::int64_t page_stride = 0;
};

/// A mask: true or a number that is added to a scaled score. A stride of 0 stands for all.
struct Mask {
  Elements elements;
  std::int64_t request_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t query_stride = 0;
  std::int64_t token_stride = 0;
};

struct AttentionCase {
  workloads::Geometry geometry;  ///< its dtype means nothing here: each array has its own type
  std::vector<workloads::Request> requests;
  std::vector<std::int64_t> first_query;  ///< per request and one more: first query token of the batch
  Elements q;
  Elements k;
  Elements v;
  RowPlaces q_rows;
  KvPlaces k_rows;
  KvPlaces v_rows;
  std::int32_t page_size = 0;  ///< tokens; 0: not paged
  std::vector<std::int32_t> block_table;
  std::vector<std::int64_t> first_page;  ///< per request
  std::vector<std::int32_t> room;        ///< per request, not paged: tokens that lie there, its own and others'
  std::int64_t pages = 0;                ///< physical pages that k and v have
  std::optional<Mask> mask;

  std::int64_t rows() const { return first_query.back() * geometry.query_heads; }
  /// Index of an output row, in the order of Result.
  std::int64_t row(std::int32_t request, std::int32_t query, std::int32_t head) const {
    return (first_query[static_cast<std::size_t>(request)] + query) * geometry.query_heads + head;
  }
};

/// Offset of the row of (request, position, KV head) among `places`, which are those of K or V of the case.
std::int64_t kv_offset(const AttentionCase& attention, const KvPlaces& places, std::int32_t request,
                       std::int32_t position, std::int32_t kv_head);

/// What is added to a scaled score: 0, -infinity or the mask's number.
double mask_value(const Mask& mask, std::int32_t request, std::int32_t head, std::int32_t query, std::int32_t position);

/// A workload's tensors, which must outlive the case.
AttentionCase make_case(const workloads::Workload& workload, const workloads::Tensors& tensors);

}  // namespace splitwave::cpu_reference
