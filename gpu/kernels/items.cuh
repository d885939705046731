// SPDX-License-Identifier: Apache-2.0
// How a CTA learns its items and reads their queries.
#pragma once

#include "gpu/kernels/combine.cuh"
#include "gpu/kernels/config.cuh"
#include "gpu/kernels/cta.cuh"
#include "gpu/kernels/params.h"
#include "gpu/kernels/tile.cuh"

namespace splitwave::gpu {

/// Computes the item of a uniform plan from the CTA's place in the grid.
template <class Config>
__device__ __forceinline__ DeviceItem uniform_item(const DecodeParams& params, int part) {
  const UniformPlan& plan = params.uniform;
  const int tile = plan.requests_fastest != 0 ? blockIdx.z : blockIdx.y;
  const int request = plan.requests_fastest != 0 ? blockIdx.y : blockIdx.z;
  const int kv_head = Config::kSingleItem || plan.tiles_per_kv_head == 1 ? tile : tile / plan.tiles_per_kv_head;
  DeviceItem item;
  if constexpr (!Config::kParts) {
    item.kv_begin = plan.kv_begin;
    item.kv_end = plan.kv_end;
  } else {
    const int begin_tile = part * plan.tiles_per_part + min(part, plan.longer_parts);
    const int end_tile = begin_tile + plan.tiles_per_part + (part < plan.longer_parts ? 1 : 0);
    item.kv_begin = part == 0 ? plan.kv_begin : min(plan.kv_end, (plan.first_tile + begin_tile) * plan.tile_kv);
    item.kv_end = part == plan.parts - 1 ? plan.kv_end : min(plan.kv_end, (plan.first_tile + end_tile) * plan.tile_kv);
  }
  item.kv_base = request * plan.request_stride + kv_head * plan.head_stride;
  item.kv_head = static_cast<std::uint16_t>(kv_head);
  item.head_count = static_cast<std::uint16_t>(plan.head_count);
  item.query_row = request * params.query_heads + tile * static_cast<int>(plan.head_count);
  item.row_begin = 0;
  item.rows = static_cast<std::uint16_t>(plan.head_count);
  item.slot_begin = (request * plan.tiles_per_request + tile) * plan.parts;
  item.part = static_cast<std::uint16_t>(part);
  item.parts = static_cast<std::uint16_t>(plan.parts);
  item.next = -1;
  item.first_position = 0;
  item.masked = 0;
  item.mergers = static_cast<std::uint16_t>(plan.parts);
  item.piece = 0;
  item.pieces = 1;
  return item;
}

/// Where the item stands in the plan's table, or would if a uniform plan had one. index: in the table, or its part. As
/// a conditional expression it changed the instructions of unrelated parts of kernels.
template <class Cta>
__device__ __forceinline__ int table_index(const Cta& cta, int index) {
  const int parts = cta.params.uniform.parts;
  if (parts > 0) index = static_cast<int>(blockIdx.z * gridDim.y + blockIdx.y) * parts + index;
  return index;
}

/// The item of a CTA whose list has no other: computed where the plan is uniform, else from the table.
template <class Config>
__device__ __forceinline__ DeviceItem only_item(const Cta<Config>& cta) {
  return cta.params.uniform.parts > 0 ? uniform_item<Config>(cta.params, cta.worker)
                                      : load_item(cta.params, cta.worker);
}

template <class Config>
__device__ __forceinline__ Rows rows_of(const DecodeParams& params, const DeviceItem& item, int row_block) {
  // Single-item kernels have one query: its rows are its heads, and no row begins a further query.
  if constexpr (Config::kSingleItem) return {item.query_row, 0, 0x7fffffff, item.rows, params.query_heads};
  const int first = row_block * Config::kRows;
  return {item.query_row, item.row_begin + first, item.head_count, min(item.rows - first, Config::kRows),
          params.query_heads};
}

/// Single-item kernels: requests the query rows, once for all warps: rows of 128 bytes swizzled as in tile_offset().
/// Rows that do not exist are zeros: what they give is not written, and many CTAs that all ask for the same row many
/// times wait for one slice of L2.
template <class Config>
__device__ __forceinline__ void request_queries(const Cta<Config>& cta, const Rows& rows) {
  constexpr int kColumns = Config::kQueryDim / 8;
#pragma unroll
  for (int first = 0; first < Config::kRows * kColumns; first += Config::kThreads) {
    const std::uint32_t index = first + threadIdx.x;
    if (Config::kRows * kColumns % Config::kThreads != 0 && index >= Config::kRows * kColumns) continue;
    const int row = static_cast<int>(index / kColumns);
    const int column = static_cast<int>(index % kColumns);
    const char* from = static_cast<const char*>(cta.params.q) +
                       rows.index(min(row, rows.count - 1)) * (Config::kQueryDim * 2) + column * 16;
    const std::uint32_t to = ptx::shared_address(cta.shared) + Config::kQueryOffset + row * (Config::kQueryDim * 2) +
                             (((column & ~7) | ((column ^ row) & 7)) << 4);
    ptx::copy_16(to, from, row < rows.count, kEvictNormal);
  }
  ptx::commit_copies();
}

/// The query rows as B operands.
template <class Config>
__device__ __forceinline__ void take_queries(const Cta<Config>& cta, QueryFragments<Config>& q) {
  const int row = cta.lane & 7;
  const std::uint32_t base = ptx::shared_address(cta.shared) + Config::kQueryOffset + row * (Config::kQueryDim * 2);
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
#pragma unroll
    for (int i = 0; i < Config::kQueryDim / 32; ++i) {
      const int column = i * 4 + (cta.lane >> 3);
      std::uint32_t a[4];
      ptx::load_matrices(a, base + n * (8 * Config::kQueryDim * 2) + (((column & ~7) | ((column ^ row) & 7)) << 4));
#pragma unroll
      for (int j = 0; j < 4; ++j) q[n][i * 4 + j] = a[j];
    }
  }
}

/// Other kernels: each warp for itself, as they may have another item's before all warps are through with the last
/// one's. Rows that do not exist repeat the item's last one: what they give is not written.
template <class Config>
__device__ __forceinline__ void load_queries(const DecodeParams& params, const Rows& rows, int lane,
                                             QueryFragments<Config>& q) {
  if (!Config::kSingleItem && rows.count <= 0) return;  // nothing to do, and nothing there
#pragma unroll
  for (int n = 0; n < Config::kRowTiles; ++n) {
    const int row = min(n * 8 + (lane >> 2), rows.count - 1);
    const char* from = static_cast<const char*>(params.q) + rows.index(row) * (Config::kQueryDim * 2) + (lane & 3) * 4;
#pragma unroll
    for (int i = 0; i < Config::kQueryDim / 8; ++i)
      q[n][i] = __ldg(reinterpret_cast<const std::uint32_t*>(from) + 4 * i);
  }
}

}  // namespace splitwave::gpu
