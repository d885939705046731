// SPDX-License-Identifier: Apache-2.0
#include "gpu/key_map.h"

#include <cuda.h>

#include <algorithm>
#include <bit>

#include "gpu/cuda_check.h"
#include "schedules/key_boxes.h"

namespace splitwave::gpu {
namespace {

static_assert(kBoxTokens == schedules::kTokensOfBox);

using Encode = decltype(&cuTensorMapEncodeTiled);

/// Of a block table nobody says how many pages there are; all that it names exist.
constexpr std::int64_t kRowsOfPages = std::int64_t{1} << 31;

/// The driver's function, or null. A program that was linked with the driver's library would not start without it.
Encode encode_function() {
  static const Encode function = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    constexpr unsigned kVersion = 12000;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, kVersion, cudaEnableDefault, &result) !=
            cudaSuccess ||
        result != cudaDriverEntryPointSuccess) {
      static_cast<void>(cudaGetLastError());
      found = nullptr;
    }
    return reinterpret_cast<Encode>(found);
  }();
  return function;
}

std::int64_t rows_of_pages(const KvAddressing& addressing, const schedules::Plan& plan) {
  if (!schedules::page_holds_boxes(addressing.page_size)) return 0;
  if (addressing.page_stride != addressing.page_size * addressing.token_stride) return 0;
  const bool whole = std::all_of(plan.items.begin(), plan.items.end(),
                                 [](const schedules::Item& item) { return item.kv_begin % kBoxTokens == 0; });
  return whole ? kRowsOfPages : 0;
}

std::int64_t rows_of_requests(const workloads::Workload& workload, const KvAddressing& addressing) {
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    if (addressing.request_offset[i] % addressing.token_stride != 0) return 0;
    rows = std::max(rows, addressing.request_offset[i] / addressing.token_stride + workload.requests[i].context_len);
  }
  return rows;
}

}  // namespace

KeyRows key_rows(const workloads::Workload& workload, const KvAddressing& addressing, const schedules::Plan& plan,
                 bool replayable) {
  const workloads::Geometry& g = workload.geometry;
  KeyRows rows;
  if (g.kv_heads != 1) return rows;
  if (addressing.page_size > 0) {
    rows.count = rows_of_pages(addressing, plan);
  } else if (!replayable) {
    rows.count = rows_of_requests(workload, addressing);
  }
  rows.bytes = addressing.token_stride * workloads::bytes_per_element(g.dtype);
  rows.elements = g.head_dim;
  rows.dtype = g.dtype;
  return rows;
}

std::optional<KeyMap> map_keys(const void* k, const KeyRows& rows) {
  const Encode encode = rows.count > 0 ? encode_function() : nullptr;
  if (encode == nullptr) return std::nullopt;
  CUtensorMap map{};
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(rows.elements), static_cast<cuuint64_t>(rows.count)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(rows.bytes)};
  const cuuint32_t box[] = {kBoxElements, kBoxTokens};
  const cuuint32_t steps[] = {1, 1};
  const CUtensorMapDataType type =
      rows.dtype == workloads::Dtype::bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  const CUresult result =
      encode(&map, type, 2, const_cast<void*>(k), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
             CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) return std::nullopt;
  static_assert(sizeof(map) == sizeof(KeyMap));
  return std::bit_cast<KeyMap>(map);
}

}  // namespace splitwave::gpu
