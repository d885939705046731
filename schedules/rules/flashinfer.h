// SPDX-License-Identifier: Apache-2.0
// FlashInfer's planners. Source: flashinfer-ai/flashinfer at fb28d7242, include/flashinfer/.
#pragma once

#include <cstdint>
#include <span>

#include "schedules/rules/tile_shape.h"

namespace splitwave::schedules {

/// One request as the tensor-core planner sees it.
struct FlashInferRequest {
  std::int64_t packed_qo_len = 0;  ///< query tokens times the group
  std::int64_t kv_len = 0;         ///< in pages
};

/// Smallest pages per chunk with which the chunks of all query tiles are at most max_batch_size_if_split
/// (PrefillBinarySearchKVChunkSize, attention/scheduler.cuh:101-128); the longest request if none is small enough.
std::int64_t flashinfer_kv_chunk_size(std::span<const FlashInferRequest> requests, std::int64_t max_batch_size_if_split,
                                      std::int32_t qo_chunk_size, std::int64_t min_kv_chunk_size);

/// Query rows of a tensor-core tile (FA2DetermineCtaTileQ, utils.cuh:408-445) for 16-bit K and V.
std::int32_t flashinfer_cta_tile_q(std::int64_t avg_packed_qo_len, std::int32_t head_dim_vo, std::int32_t head_dim_qk);

/// Shared memory of an SM of the H100 and H200: 228 KiB (CUDA C++ Programming Guide, technical specifications of
/// compute capability 9.0).
inline constexpr std::int64_t kHopperSharedBytesPerSm = 233472;

/// KV tokens of a tensor-core tile (prefill.cuh:280,4405-4448): the most with which two CTAs share an SM, if two can.
std::int32_t flashinfer_cta_tile_kv(std::int32_t cta_tile_q, std::int32_t head_dim_qk, std::int32_t head_dim_vo,
                                    std::int64_t shared_bytes_per_sm);

/// CTAs of the holistic planner, all of which are resident (attention/scheduler.cuh:1242-1510).
std::int32_t flashinfer_holistic_ctas(std::int32_t head_dim, std::int32_t sms);

/// Longest chunk of the holistic planner (attention/scheduler.cuh:1295-1342): the CTAs' even share of the KV tokens of
/// all heads, 128 if less, else rounded up to 256; for tiles of 64 rows and more divided by min(num_kv_heads, 2).
std::int64_t flashinfer_holistic_kv_len_limit(std::int64_t total_kv_lens, std::int64_t num_kv_heads,
                                              std::int64_t num_clusters, std::int32_t cluster_tile_q);

/// What the holistic planner's heap adds for one item (attention/scheduler.cuh:939).
inline float flashinfer_cost(std::int64_t qo_len, std::int64_t kv_len) {
  return 2 * static_cast<float>(qo_len) + static_cast<float>(kv_len);
}

}  // namespace splitwave::schedules
