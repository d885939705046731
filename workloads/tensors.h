// SPDX-License-Identifier: Apache-2.0
// Q, K and V of a workload in memory, in any layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "workloads/workload.h"

namespace splitwave::workloads {

/// Memory that begins on a cache line: rows of K and V that begin amid one cost the CPU reference a tenth of its speed,
/// and more where heads lie far apart. Blocks of 2 MiB and more lie on huge pages where Linux gives them, and two that
/// follow each other begin at different places of their pages (docs/performance.md). Throws std::bad_alloc.
void* allocate_lines(std::size_t bytes);
/// `bytes`: as they were asked for.
void free_lines(void* memory, std::size_t bytes);

/// Allocates by allocate_lines(). Elements that are given no value are left unset, so that the threads that fill
/// gigabytes are the first to touch them: the system takes as long to give a page as a thread to fill it.
template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  CacheLineAllocator() = default;
  template <typename U>
  CacheLineAllocator(const CacheLineAllocator<U>& /*other*/) {}  // NOLINT: allocators convert
  T* allocate(std::size_t count) { return static_cast<T*>(allocate_lines(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) { free_lines(memory, count * sizeof(T)); }
  void construct(T* /*element*/) {}
  template <typename... Value>
  void construct(T* element, Value&&... value) {
    std::construct_at(element, std::forward<Value>(value)...);
  }
  bool operator==(const CacheLineAllocator& /*other*/) const { return true; }
};
using Bytes = std::vector<std::byte, CacheLineAllocator<std::byte>>;

/// Bits of `value` rounded to the dtype, to nearest with ties to even (f32: the float's own bits).
std::uint32_t round_to_bits(Dtype dtype, float value);

/// The float that the low bits of `bits` stand for in the dtype.
float from_bits(Dtype dtype, std::uint32_t bits);

/// The stored tensors of one workload, elements of geometry.dtype, little-endian, without padding.
/// q: [query token of the whole batch][query head][head_dim], requests one after another.
/// k, v: by kv.layout. MLA: v is empty, V is the first value_dim elements of each K row.
/// Paged: pages hold page_size tokens of all KV heads; block_table[first_page[r] + p] is the physical page of logical
/// page p of request r. Physical pages are a seeded permutation, and unused slots of a last page hold NaN, so that a
/// kernel that reads past a context shows it.
struct Tensors {
  Bytes q;
  Bytes k;
  Bytes v;
  std::vector<std::int64_t> first_query;  ///< per request and one more: first query token of the batch
  std::vector<std::int64_t> first_token;  ///< per request and one more: first KV token of the batch (contiguous)
  std::vector<std::int32_t> block_table;  ///< paged only
  std::vector<std::int64_t> first_page;   ///< per request and one more (paged only)
};

/// Allocates and fills the tensors from the workload's seed and distribution (OpenMP threads). Throws InputError if
/// they need more than `memory_limit_bytes`, naming both figures, before any allocation.
Tensors make_tensors(const Workload& workload, std::int64_t memory_limit_bytes);

/// The physical pages of a paged workload's `count` logical pages: a permutation by the workload's seed.
std::vector<std::int32_t> page_order(const Workload& workload, std::int64_t count);

/// Offset in elements of the Q row of (request, query, query head) in Tensors::q.
std::int64_t q_row(const Workload& workload, const Tensors& tensors, std::int32_t request, std::int32_t query,
                   std::int32_t query_head);

/// Offset in elements of the K row of (request, position, KV head) in Tensors::k.
std::int64_t k_row(const Workload& workload, const Tensors& tensors, std::int32_t request, std::int32_t position,
                   std::int32_t kv_head);

/// Offset in elements of the V row of (request, position, KV head); MLA: of the K row, which V is the start of.
std::int64_t v_row(const Workload& workload, const Tensors& tensors, std::int32_t request, std::int32_t position,
                   std::int32_t kv_head);

/// Element `index` (in elements) of a stored tensor as float.
float load_element(Dtype dtype, const Bytes& tensor, std::int64_t index);

/// Stores `value`, rounded, as element `index` of a tensor. For tests that make their own inputs.
void store_element(Dtype dtype, Bytes& tensor, std::int64_t index, float value);

}  // namespace splitwave::workloads
