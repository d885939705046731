// SPDX-License-Identifier: Apache-2.0
// FlashInfer's persistent BatchAttention (TwoStageHolisticPlan, attention/scheduler.cuh:1242-1510).
#include <fmt/core.h>

#include <algorithm>

#include "schedules/cut.h"
#include "schedules/rules/flashinfer.h"
#include "schedules/schedule_functions.h"

namespace splitwave::schedules {
namespace {

constexpr std::int32_t kLargeTileQ = 128;  // task 0, KV tiles of 64
constexpr std::int32_t kSmallTileQ = 16;   // task 1, KV tiles of 128

/// The CTA with the least cost so far. Which of equals that is follows from the heap of attention/heap.h, which is that
/// of GCC's library; other libraries sift otherwise, so that the sifting is written out here.
class LeastLoaded {
 public:
  explicit LeastLoaded(std::int32_t ctas) {
    heap_.reserve(static_cast<std::size_t>(ctas));
    for (std::int32_t cta = 0; cta < ctas; ++cta) heap_.push_back({cta, 0});
  }

  std::int32_t take(float cost) {
    Load least = heap_.front();
    const Load last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) rise(leaf_below_root(), last);
    least.cost += cost;
    heap_.emplace_back();
    rise(heap_.size() - 1, least);
    return least.cta;
  }

 private:
  struct Load {
    std::int32_t cta;
    float cost;
  };

  /// Moves the cheaper child, of equals the right one, into the hole that the root has left, and so on down to a leaf.
  /// Returns where the hole is then.
  std::size_t leaf_below_root() {
    std::size_t hole = 0;
    while (2 * hole + 1 < heap_.size()) {
      const std::size_t left = 2 * hole + 1;
      const bool right = left + 1 < heap_.size() && heap_[left + 1].cost <= heap_[left].cost;
      const std::size_t child = right ? left + 1 : left;
      heap_[hole] = heap_[child];
      hole = child;
    }
    return hole;
  }

  /// Puts the load into the hole, or as far above as parents cost more.
  void rise(std::size_t hole, const Load& load) {
    while (hole > 0 && heap_[(hole - 1) / 2].cost > load.cost) {
      heap_[hole] = heap_[(hole - 1) / 2];
      hole = (hole - 1) / 2;
    }
    heap_[hole] = load;
  }

  std::vector<Load> heap_;
};

/// Moves items, which stand in the order of planning, to the lists of their CTAs and keeps that order within a list.
void group_by_cta(Plan& plan, const std::vector<std::int32_t>& cta_of_item, std::int32_t ctas) {
  plan.cta_begin.assign(static_cast<std::size_t>(ctas) + 1, 0);
  for (const std::int32_t cta : cta_of_item) ++plan.cta_begin[static_cast<std::size_t>(cta) + 1];
  for (std::size_t i = 1; i < plan.cta_begin.size(); ++i) plan.cta_begin[i] += plan.cta_begin[i - 1];
  std::vector<std::int32_t> next(plan.cta_begin.begin(), plan.cta_begin.end() - 1);
  std::vector<Item> grouped(plan.items.size());
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    grouped[static_cast<std::size_t>(next[static_cast<std::size_t>(cta_of_item[i])]++)] = plan.items[i];
  }
  plan.items = std::move(grouped);
}

/// Plans one task's requests: query tiles, chunks of `limit` tokens, heads, each to the least loaded CTA.
class TaskPlanner {
 public:
  TaskPlanner(Plan& plan, const OutputGrid& outputs, std::int32_t ctas) : plan_(plan), outputs_(outputs), ctas_(ctas) {}

  void add_request(std::int32_t request, std::int32_t cluster_tile_q, std::int64_t limit) {
    for (std::int32_t m = 0; m < outputs_.row_tiles(request); ++m) {
      const workloads::KvRange& range = outputs_.kv(request, m);
      const std::int64_t first = tile_range(range, plan_.tile_kv).first * plan_.tile_kv;
      std::int64_t chunk = 0;
      do {
        const workloads::KvRange piece = clip(range, first + chunk * limit, first + (chunk + 1) * limit);
        for (std::int32_t head = 0; head < outputs_.heads; ++head) {
          cta_of_item_.push_back(ctas_.take(flashinfer_cost(cluster_tile_q, piece.size())));
          add_item(plan_, outputs_.output(request, head, m), piece);
        }
        ++chunk;
      } while (first + chunk * limit < range.end);
      most_chunks_ = std::max(most_chunks_, chunk);
      check_count(static_cast<std::int64_t>(plan_.items.size()), "items");
    }
  }

  const std::vector<std::int32_t>& cta_of_item() const { return cta_of_item_; }
  std::int32_t most_chunks() const { return static_cast<std::int32_t>(most_chunks_); }

 private:
  Plan& plan_;
  const OutputGrid& outputs_;
  LeastLoaded ctas_;
  std::vector<std::int32_t> cta_of_item_;
  std::int64_t most_chunks_ = 1;
};

}  // namespace

Plan flashinfer_holistic(const workloads::Workload& workload, const Grid& grid, std::string_view /*argument*/) {
  const workloads::Geometry& g = workload.geometry;
  const auto is_large = [&](const workloads::Request& request) {
    return packed_rows(g, request.query_len) > kSmallTileQ;
  };
  const bool any_large = std::any_of(workload.requests.begin(), workload.requests.end(), is_large);
  // Requests of task 1 have one tile of at most 16 rows, so one row tile size serves both tasks.
  Plan plan = start_plan(grid, any_large ? kLargeTileQ : kSmallTileQ, any_large ? 64 : 128);
  const OutputGrid outputs = cut_outputs(workload, true, plan);
  const std::int32_t ctas = flashinfer_holistic_ctas(g.head_dim, grid.sms);
  std::int64_t total_kv_lens = 0;
  for (const workloads::KvRange& range : outputs.range) total_kv_lens += range.size();
  TaskPlanner planner(plan, outputs, ctas);
  std::int64_t decode_limit = 0;
  for (const std::int32_t tile_q : {kLargeTileQ, kSmallTileQ}) {
    const std::int64_t limit = flashinfer_holistic_kv_len_limit(total_kv_lens, g.kv_heads, ctas, tile_q);
    decode_limit = ceil_div(limit, plan.tile_kv) * plan.tile_kv;  // changes nothing but for a tile size from the grid
    for (std::int32_t r = 0; r < outputs.requests(); ++r) {
      if (is_large(workload.requests[static_cast<std::size_t>(r)]) == (tile_q == kLargeTileQ)) {
        planner.add_request(r, tile_q, decode_limit);
      }
    }
  }
  assign_slots(plan, MergeKind::kernel);
  group_by_cta(plan, planner.cta_of_item(), ctas);
  plan.dispatch = Dispatch::fixed;
  plan.num_splits = planner.most_chunks();
  plan.reason = fmt::format(
      "FlashInfer's persistent BatchAttention (include/flashinfer/attention/scheduler.cuh:1242-1510): {} KV tokens of "
      "{} "
      "heads over {} CTAs, so chunks of at most {} tokens, each to the CTA with the least 2 x rows + tokens; merged "
      "after "
      "a grid-wide barrier",
      total_kv_lens, g.kv_heads, ctas, decode_limit);
  return plan;
}

std::string_view flashinfer_holistic_kernel(const workloads::Workload& /*workload*/, std::string_view /*argument*/,
                                            std::int32_t /*num_splits*/) {
  return "flashinfer-holistic";
}

}  // namespace splitwave::schedules
