// SPDX-License-Identifier: Apache-2.0
// LeanAttention, Algorithms 1 and 2 (Sanovar et al.: arXiv 2405.10480), for one head: the output tiles are tiles of its
// query rows. Comments give the algorithms' lines. Two lines are read by their meaning: line 7, I / G, need not be
// whole (CTA g starts at iteration g * I / G, rounded down), and line 26 divides by C_n where the CTA of an iteration
// is meant.
#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>

#include "cpu_reference/algorithms/algorithms.h"
#include "cpu_reference/algorithms/dense.h"
#include "cpu_reference/merge.h"

namespace splitwave::cpu_reference::algorithms {
namespace {

/// O, m and l of an output tile, one partial per row.
using TilePartial = std::vector<Partial<double>>;

struct Tiles {
  std::int64_t rows = 0;    ///< T_m
  std::int64_t tokens = 0;  ///< T_n
};

/// Algorithm 2: LeanTile iterations [iter_begin, iter_end) of one output tile.
TilePartial lean_tile(const Head& head, const Tiles& tile, std::int64_t tile_idx, std::int64_t iter_begin,
                      std::int64_t iter_end) {
  const auto q = head.q.as<Input>();
  const auto k = head.k.as<Input>();
  const auto v = head.v.as<Input>();
  const Eigen::Index mm = tile_idx * tile.rows;  // 10
  const Eigen::Index rows = std::min(tile.rows, q.rows() - mm);
  // 8, 9: initialise.
  Dense o = Dense::Zero(rows, v.cols());
  Column m = Column::Constant(rows, -std::numeric_limits<double>::infinity());
  Column l = Column::Zero(rows);
  for (std::int64_t iter = iter_begin; iter < iter_end; ++iter) {  // 13
    const Eigen::Index kk = iter * tile.tokens;                    // 14
    const Eigen::Index tokens = std::min(tile.tokens, k.rows() - kk);
    const Dense s = head.scale * q.middleRows(mm, rows) * k.middleRows(kk, tokens).transpose();  // 20
    const Column m_new = m.max(s.rowwise().maxCoeff().array());                                  // 21
    const Dense p = (s.array().colwise() - m_new).exp();                                         // 22
    const Column rescale = (m - m_new).exp();
    l = rescale * l + p.rowwise().sum().array();                                  // 23
    o = p * v.middleRows(kk, tokens) + Dense(rescale.matrix().asDiagonal() * o);  // 24
    m = m_new;                                                                    // 25
  }
  TilePartial partial(rows);
  for (Eigen::Index row = 0; row < rows; ++row) {
    partial[row] = {m[row], l[row], std::vector<double>(o.row(row).begin(), o.row(row).end())};
  }
  return partial;  // 27
}

/// Everything in global memory: the cut of the work, a partial and a flag for each CTA, and the result.
struct Launch {
  const Head& head;
  Tiles tile;
  std::int64_t iterations_per_output = 0;  ///< C_n
  std::int64_t iterations = 0;             ///< I
  std::int64_t grid = 0;                   ///< G
  std::vector<TilePartial> partials;
  std::vector<std::atomic<int>> flags;
  HeadResult result;

  std::int64_t cta_start(std::int64_t g) const { return g * iterations / grid; }
};

void store_partial(Launch& launch, std::int64_t g, TilePartial partial) {
  launch.partials[g] = std::move(partial);  // 20-22
  // 23: release, so that whoever sees the flag sees the partial.
  launch.flags[g].store(1, std::memory_order_release);
  launch.flags[g].notify_one();
}

/// Lines 27-36: the host adds what the CTAs after it computed of its output tile, in ascending order.
void reduce_peers(Launch& launch, std::int64_t g, std::int64_t tile_iter_end, TilePartial& partial) {
  for (std::int64_t cta = g + 1; cta < launch.grid && launch.cta_start(cta) < tile_iter_end; ++cta) {
    launch.flags[cta].wait(0, std::memory_order_acquire);  // 28
    for (std::size_t row = 0; row < partial.size(); ++row) {
      partial[row] = merge(partial[row], launch.partials[cta][row]);  // 29-35
    }
  }
}

void write_output(Launch& launch, std::int64_t tile_idx, const TilePartial& partial) {
  for (std::size_t i = 0; i < partial.size(); ++i) {
    const std::int64_t row = tile_idx * launch.tile.rows + static_cast<std::int64_t>(i);
    const std::vector<double> output = normalised(partial[i]);
    std::copy(output.begin(), output.end(), launch.result.output.values.begin() + row * launch.head.v.cols);  // 38
    launch.result.lse[row] = lse(partial[i]);                                                                 // 39
  }
}

/// Lines 9-42: what CTA g does. Only its first output tile can be one it is not the host of, so one partial and one
/// flag per CTA are enough.
void run_cta(Launch& launch, std::int64_t g) {
  const std::int64_t cta_end = launch.cta_start(g + 1);
  std::int64_t iter = launch.cta_start(g);
  while (iter < cta_end) {
    const std::int64_t tile_idx = iter / launch.iterations_per_output;                                // 11
    const std::int64_t tile_iter = tile_idx * launch.iterations_per_output;                           // 12
    const std::int64_t tile_iter_end = tile_iter + launch.iterations_per_output;                      // 13
    const std::int64_t local_iter = iter - tile_iter;                                                 // 14
    const std::int64_t local_iter_end = std::min(tile_iter_end, cta_end) - tile_iter;                 // 15
    TilePartial partial = lean_tile(launch.head, launch.tile, tile_idx, local_iter, local_iter_end);  // 16
    const bool host_block = iter == tile_iter;                                                        // 17
    const bool finishing_block = cta_end >= tile_iter_end;                                            // 18
    if (!host_block) {
      store_partial(launch, g, std::move(partial));  // 19-23
    } else {
      if (!finishing_block) reduce_peers(launch, g, tile_iter_end, partial);  // 25-37
      write_output(launch, tile_idx, partial);
    }
    iter = tile_iter_end;  // 41
  }
}

}  // namespace

HeadResult lean_attention(const Head& head, std::int64_t tile_rows, std::int64_t tile_tokens, std::int64_t grid) {
  const std::int64_t output_tiles = (head.q.rows + tile_rows - 1) / tile_rows;               // 4
  const std::int64_t iterations_per_output = (head.k.rows + tile_tokens - 1) / tile_tokens;  // 5
  const std::int64_t iterations = output_tiles * iterations_per_output;                      // 6
  // A CTA without an iteration would never set the flag that a host waits for: there are none.
  const std::int64_t ctas = std::min(grid, iterations);
  Launch launch{head,
                {tile_rows, tile_tokens},
                iterations_per_output,
                iterations,
                ctas,
                std::vector<TilePartial>(ctas),
                std::vector<std::atomic<int>>(ctas),
                HeadResult(head)};
  // 8: fork. CTAs wait only for higher ones, so these start first: even if a thread cannot be had, those that run end.
  std::vector<std::jthread> threads;
  threads.reserve(ctas);
  for (std::int64_t g = ctas - 1; g >= 0; --g) threads.emplace_back(run_cta, std::ref(launch), g);
  threads.clear();  // 43: join
  return std::move(launch.result);
}

}  // namespace splitwave::cpu_reference::algorithms
