// SPDX-License-Identifier: Apache-2.0
// FlashInfer's batch decode with tensor cores (use_tensor_cores, its FA2 prefill kernel), without CUDA graphs.
#include "schedules/rules/flashinfer.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "schedules/cut.h"
#include "schedules/schedule_functions.h"

namespace splitwave::schedules {
namespace {

/// FlashInfer plans in pages; its benchmarks' page size stands for a contiguous cache.
std::int64_t page_size(const workloads::Workload& workload) {
  return workload.kv.layout == workloads::KvLayout::paged ? workload.kv.page_size : 16;
}

/// Lengths in pages, a sliding window taken into account (attention/scheduler.cuh:620-627).
std::vector<FlashInferRequest> planned_requests(const workloads::Workload& workload, std::int32_t cta_tile_q) {
  const workloads::Geometry& g = workload.geometry;
  const std::int64_t page = page_size(workload);
  std::vector<FlashInferRequest> requests;
  requests.reserve(workload.requests.size());
  for (const workloads::Request& request : workload.requests) {
    std::int64_t pages = ceil_div(request.context_len, page);
    if (g.window) pages = std::min(pages, ceil_div(std::int64_t{*g.window} - 1 + cta_tile_q, page));
    requests.push_back({packed_rows(g, request.query_len), pages});
  }
  return requests;
}

std::int64_t average_packed_rows(const workloads::Workload& workload) {
  std::int64_t rows = 0;
  for (const workloads::Request& request : workload.requests) rows += packed_rows(workload.geometry, request.query_len);
  return workload.requests.empty() ? 0 : rows / static_cast<std::int64_t>(workload.requests.size());
}

struct Chunks {
  std::int64_t tokens = 0;               ///< per chunk
  std::vector<std::int64_t> of_request;  ///< chunks that each query tile of a request is launched with
  std::int64_t most = 1;
};

Chunks count_chunks(const OutputGrid& outputs, std::span<const FlashInferRequest> requests, std::int64_t page,
                    const Plan& plan, std::int64_t tokens) {
  Chunks chunks{tokens, {}, 1};
  chunks.of_request.reserve(requests.size());
  for (std::int32_t r = 0; r < outputs.requests(); ++r) {
    const std::int64_t planned = requests[static_cast<std::size_t>(r)].kv_len * page;
    std::int64_t count = std::max<std::int64_t>(ceil_div(planned, tokens), 1);
    // A window that begins inside a tile reaches one tile further than its length says.
    for (std::int32_t m = 0; m < outputs.row_tiles(r); ++m) {
      const std::int64_t first = tile_range(outputs.kv(r, m), plan.tile_kv).first * plan.tile_kv;
      count = std::max(count, ceil_div(outputs.kv(r, m).end - first, tokens));
    }
    chunks.of_request.push_back(count);
    chunks.most = std::max(chunks.most, count);
  }
  return chunks;
}

/// Grid (chunks of all query tiles, 1, KV heads), x fastest (prefill.cuh: nblks).
void add_grid(Plan& plan, const OutputGrid& outputs, const Chunks& chunks) {
  std::int64_t items = 0;
  for (std::int32_t r = 0; r < outputs.requests(); ++r) {
    items += chunks.of_request[static_cast<std::size_t>(r)] * outputs.row_tiles(r);
  }
  check_count(items, "CTAs");
  reserve(plan, items * outputs.heads, items * outputs.heads);
  for (std::int32_t head = 0; head < outputs.heads; ++head) {
    for (std::int32_t r = 0; r < outputs.requests(); ++r) {
      for (std::int32_t m = 0; m < outputs.row_tiles(r); ++m) {
        const workloads::KvRange& range = outputs.kv(r, m);
        const std::int64_t first = tile_range(range, plan.tile_kv).first * plan.tile_kv;
        for (std::int64_t c = 0; c < chunks.of_request[static_cast<std::size_t>(r)]; ++c) {
          add_item(plan, outputs.output(r, head, m),
                   clip(range, first + c * chunks.tokens, first + (c + 1) * chunks.tokens));
          end_list(plan);
        }
      }
    }
  }
}

}  // namespace

Plan flashinfer(const workloads::Workload& workload, const Grid& grid, std::string_view /*argument*/) {
  const workloads::Geometry& g = workload.geometry;
  const std::int32_t tile_q = flashinfer_cta_tile_q(average_packed_rows(workload), g.value_dim, g.head_dim);
  const std::int32_t tile_kv =
      flashinfer_cta_tile_kv(tile_q, g.head_dim, g.value_dim,
                             grid.shared_bytes_per_sm > 0 ? grid.shared_bytes_per_sm : kHopperSharedBytesPerSm);
  Plan plan = start_plan(grid, tile_q, tile_kv);
  const std::int64_t page = page_size(workload);
  const std::vector<FlashInferRequest> requests = planned_requests(workload, plan.tile_q);
  const std::int64_t slots = 2 * std::int64_t{grid.sms};
  const std::int64_t most_chunks = slots / g.kv_heads;
  const std::int64_t pages =
      flashinfer_kv_chunk_size(requests, most_chunks, plan.tile_q, std::max<std::int64_t>(128 / page, 1));
  std::int64_t tokens = pages * page;
  // Chunks are whole pages, and the kernel's tiles begin with the chunk. The plan's tiles are then what both share.
  if (grid.tile_kv > 0) {
    tokens = ceil_div(tokens, plan.tile_kv) * plan.tile_kv;
  } else {
    plan.tile_kv = static_cast<std::int32_t>(std::gcd<std::int64_t>(tokens, tile_kv));
  }
  const OutputGrid outputs = cut_outputs(workload, true, plan);
  const Chunks chunks = count_chunks(outputs, requests, page, plan, tokens);
  add_grid(plan, outputs, chunks);
  assign_slots(plan, MergeKind::kernel);
  plan.num_splits = static_cast<std::int32_t>(chunks.most);
  plan.reason = fmt::format(
      "FlashInfer's tensor-core decode (include/flashinfer/attention/scheduler.cuh:101-128,788-791): chunks of {} "
      "tokens, "
      "the fewest pages of {} with at most 2 x {} SMs / {} KV heads = {} chunks; kernel tile {} x {}",
      tokens, page, grid.sms, g.kv_heads, most_chunks, tile_q, tile_kv);
  return plan;
}

std::string_view flashinfer_kernel(const workloads::Workload& /*workload*/, std::string_view /*argument*/,
                                   std::int32_t /*num_splits*/) {
  return "flashinfer-tc";
}

}  // namespace splitwave::schedules
