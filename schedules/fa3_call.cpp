// SPDX-License-Identifier: Apache-2.0
#include "schedules/fa3_call.h"

#include <algorithm>

#include "schedules/cut.h"

namespace splitwave::schedules {
namespace {

/// TMA loads pages only for tiles of more rows than kBlockM (get_pagedkv_tma, flash_api.cpp:415-424).
bool loads_pages_by_tma(const workloads::Workload& workload, const TileShape& tma_tile, std::int64_t packed_rows) {
  return workload.kv.page_size % tma_tile.block_n == 0 && packed_rows > tma_tile.block_m;
}

}  // namespace

Fa3Call fa3_call(const workloads::Workload& workload, const Grid& grid, bool dynamic_splits) {
  const workloads::Geometry& g = workload.geometry;
  const bool paged = workload.kv.layout == workloads::KvLayout::paged;
  // MLA: the rope part is head_dim, the latent part comes as a separate qv, and V is the latent part.
  const std::int32_t headdim = g.kind == workloads::AttentionKind::mla ? g.head_dim - g.value_dim : g.head_dim;
  Fa3Call call;
  call.seqlen_q = workloads::max_query_len(workload);
  call.seqlen_k = padded_seqlen_k(workload);
  call.varlen_q = !workloads::has_one_query_len(workload);
  call.is_local = g.window && *g.window < call.seqlen_k;
  call.is_causal = g.causal && !call.is_local;
  const bool keep_narrow_tile = paged && headdim > 64 && headdim <= 128;
  if (call.seqlen_q == 1 && !keep_narrow_tile) call.is_causal = false;

  const std::int64_t rows = packed_rows(g, call.seqlen_q);
  const TileShape tma_tile = fa3_tile({headdim, g.value_dim, call.is_causal, call.is_local, false});
  call.paged_kv_non_tma = paged && !loads_pages_by_tma(workload, tma_tile, rows);
  call.tile = fa3_tile({headdim, g.value_dim, call.is_causal, call.is_local, call.paged_kv_non_tma});
  if (grid.tile_q > 0) call.tile.block_m = grid.tile_q;
  if (grid.tile_kv > 0) call.tile.block_n = grid.tile_kv;

  std::int64_t loaded = call.seqlen_k;
  if (call.is_local) {
    const std::int64_t to_the_right = g.causal ? 0 : std::min<std::int64_t>(*g.window, call.seqlen_q) - 1;
    loaded = std::min<std::int64_t>(loaded, *g.window + to_the_right + call.tile.block_m);
  }
  const std::int64_t batch = dynamic_splits ? 1 : static_cast<std::int64_t>(workload.requests.size());
  call.split.num_sms = grid.sms;
  call.split.num_n_blocks = ceil_div(loaded, call.tile.block_n);
  call.split.num_m_blocks = ceil_div(rows, call.tile.block_m);
  call.split.total_mblocks = batch * g.kv_heads * call.split.num_m_blocks;
  call.split.size_one_kv_head =
      call.seqlen_k * (std::int64_t{headdim} + g.value_dim) * workloads::bytes_per_element(g.dtype);
  call.split.is_causal_or_local = call.is_causal || call.is_local;
  return call;
}

bool fa3_packs(const workloads::Geometry& geometry, const Fa3Call& call, std::int32_t num_splits) {
  if (num_splits > 1 || call.paged_kv_non_tma) return true;
  if (geometry.query_heads == geometry.kv_heads) return false;
  return fa3_should_pack_gqa(call.varlen_q, call.seqlen_q, geometry.group(), call.tile.block_m);
}

}  // namespace splitwave::schedules
