// SPDX-License-Identifier: Apache-2.0
#include "schedules/rules/flashinfer.h"

#include <algorithm>

#include "schedules/cut.h"

namespace splitwave::schedules {
namespace {

/// Items of the batch with chunks of `chunk` pages, or more than `most` as soon as that is certain.
std::int64_t count_chunks(std::span<const FlashInferRequest> requests, std::int32_t qo_chunk_size, std::int64_t chunk,
                          std::int64_t most) {
  std::int64_t count = 0;
  for (const FlashInferRequest& request : requests) {
    count +=
        ceil_div(request.packed_qo_len, qo_chunk_size) * ceil_div(std::max<std::int64_t>(request.kv_len, 1), chunk);
    if (count > most) break;
  }
  return count;
}

}  // namespace

std::int64_t flashinfer_kv_chunk_size(std::span<const FlashInferRequest> requests, std::int64_t max_batch_size_if_split,
                                      std::int32_t qo_chunk_size, std::int64_t min_kv_chunk_size) {
  std::int64_t low = min_kv_chunk_size;
  std::int64_t high = 1;
  for (const FlashInferRequest& request : requests) high = std::max(high, request.kv_len);
  while (low < high) {
    const std::int64_t mid = (low + high) / 2;
    if (count_chunks(requests, qo_chunk_size, mid, max_batch_size_if_split) > max_batch_size_if_split) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return low;
}

std::int32_t flashinfer_cta_tile_q(std::int64_t avg_packed_qo_len, std::int32_t head_dim_vo, std::int32_t head_dim_qk) {
  if (head_dim_vo >= 512) return avg_packed_qo_len <= 32 ? 16 : 32;
  if (head_dim_qk >= 512) return 16;
  if (avg_packed_qo_len > 64 && head_dim_vo < 256) return 128;
  return avg_packed_qo_len > 16 ? 64 : 16;
}

std::int32_t flashinfer_cta_tile_kv(std::int32_t cta_tile_q, std::int32_t head_dim_qk, std::int32_t head_dim_vo,
                                    std::int64_t shared_bytes_per_sm) {
  const std::int64_t smem_per_block = shared_bytes_per_sm - 1024;  // the opt-in limit: CUDA keeps 1 KiB per CTA
  constexpr std::int64_t bytes = 2;
  const std::int32_t warps_q = cta_tile_q == 32 || cta_tile_q <= 16 ? 1 : 4;
  const std::int32_t warps_kv = 4 / warps_q;
  const std::int64_t mma_q = cta_tile_q == 32 || cta_tile_q > 64 ? 2 : 1;
  const std::int64_t fixed = bytes * cta_tile_q * head_dim_qk;
  const std::int64_t per_mma_kv = (std::int64_t{head_dim_qk} + head_dim_vo) * 16 * warps_kv * bytes;
  const std::int64_t ctas_per_sm = shared_bytes_per_sm >= 2 * (fixed + per_mma_kv) ? 2 : 1;
  const std::int64_t fits = (std::min(shared_bytes_per_sm / ctas_per_sm, smem_per_block) - fixed) / per_mma_kv;
  std::int32_t mma_kv = 8;
  while (mma_kv > 1 && mma_kv > std::min(fits, 8 / mma_q)) mma_kv /= 2;
  return mma_kv * 16 * warps_kv;
}

std::int32_t flashinfer_holistic_ctas(std::int32_t head_dim, std::int32_t sms) {
  return head_dim >= 256 ? sms : 2 * sms;
}

std::int64_t flashinfer_holistic_kv_len_limit(std::int64_t total_kv_lens, std::int64_t num_kv_heads,
                                              std::int64_t num_clusters, std::int32_t cluster_tile_q) {
  const std::int64_t share = std::max<std::int64_t>(ceil_div(total_kv_lens * num_kv_heads, num_clusters), 1);
  const std::int64_t limit = share <= 128 ? 128 : ceil_div(share, 256) * 256;
  return cluster_tile_q >= 64 ? limit / std::min<std::int64_t>(num_kv_heads, 2) : limit;
}

}  // namespace splitwave::schedules
