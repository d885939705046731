// SPDX-License-Identifier: Apache-2.0
// LeanAttention, Algorithms 1 and 2 (Sanovar et al.: arXiv 2405.10480), for one head: the output tiles are tiles of its
// query rows. Comments give the algorithms' lines. Two lines are read by their meaning: line 7, I / G, need not be
// whole (CTA g starts at iteration g * I / G, rounded down), and line 26 divides by C_n where the CTA of an iteration
// is meant.
#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>

#include "cpu_reference/algorithms/dense.h"
#include "cpu_reference/algorithms/functions.h"

namespace splitwave::cpu_reference::algorithms {
namespace {

/// O, m and l of an output tile: in fast memory, or as a partial in slow memory.
struct TilePartial {
  Dense o;
  Column m;
  Column l;
};

struct Tiles {
  std::int64_t rows = 0;    ///< T_m
  std::int64_t tokens = 0;  ///< T_n
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// How the work is cut: lines 4 to 9 of Algorithm 1.
struct Cut {
  std::int64_t output_tiles = 0;           ///< C_m
  std::int64_t iterations_per_output = 0;  ///< C_n
  std::int64_t iterations = 0;             ///< I
  std::int64_t grid = 0;                   ///< G

  std::int64_t cta_start(std::int64_t g) const { return g * iterations / grid; }
};

Cut cut_of(const HeadShape& shape, const Tiles& tile, std::int64_t grid) {
  Cut cut;
  cut.output_tiles = ceil_div(shape.rows, tile.rows);               // 4
  cut.iterations_per_output = ceil_div(shape.tokens, tile.tokens);  // 5
  cut.iterations = cut.output_tiles * cut.iterations_per_output;    // 6
  // A CTA without an iteration would never set the flag that a host waits for: there are none.
  cut.grid = std::min(grid, cut.iterations);
  return cut;
}

/// Algorithm 2: LeanTile iterations [iter_begin, iter_end) of one output tile.
TilePartial lean_tile(const Head& head, const Tiles& tile, std::int64_t tile_idx, std::int64_t iter_begin,
                      std::int64_t iter_end, Traffic& traffic) {
  const auto k = head.k.as<Input>();
  const Eigen::Index mm = tile_idx * tile.rows;  // 10
  const Eigen::Index rows = std::min(tile.rows, head.q.rows - mm);
  const Dense q = load(head.q.as<Input>().middleRows(mm, rows), traffic.q);
  // 8, 9: initialise.
  Dense o = Dense::Zero(rows, head.v.cols);
  Column m = Column::Constant(rows, -std::numeric_limits<double>::infinity());
  Column l = Column::Zero(rows);
  for (std::int64_t iter = iter_begin; iter < iter_end; ++iter) {  // 13
    const Eigen::Index kk = iter * tile.tokens;                    // 14
    const Dense k_tile = load(k.middleRows(kk, std::min(tile.tokens, k.rows() - kk)), traffic.k);
    const Dense v_tile = load_v(head, kk, k_tile, traffic);
    const Dense s = head.scale * q * k_tile.transpose();         // 20
    const Column m_new = m.max(s.rowwise().maxCoeff().array());  // 21
    const Dense p = (s.array().colwise() - m_new).exp();         // 22
    const Column rescale = (m - m_new).exp();
    l = rescale * l + p.rowwise().sum().array();  // 23
    o = diag(rescale) * o + p * v_tile;           // 24
    m = m_new;                                    // 25
  }
  return {o, m, l};  // 27
}

/// Everything in slow memory: a partial and a flag for each CTA, and the result; and each CTA's traffic.
struct Launch {
  const Head& head;
  Tiles tile;
  Cut cut;
  std::vector<TilePartial> partials;
  std::vector<std::atomic<int>> flags;
  std::vector<Traffic> traffic;
  HeadResult result;
};

void store_partial(Launch& launch, std::int64_t g, const TilePartial& partial) {
  TilePartial& place = launch.partials[g];
  place = {Dense(partial.o.rows(), partial.o.cols()), Column(partial.m.size()), Column(partial.l.size())};
  store(partial.o, place.o, launch.traffic[g].partials);  // 20
  store(partial.m, place.m, launch.traffic[g].partials);  // 21
  store(partial.l, place.l, launch.traffic[g].partials);  // 22
  // 23: release, so that whoever sees the flag sees the partial.
  launch.flags[g].store(1, std::memory_order_release);
  launch.flags[g].notify_one();
}

/// Lines 27-36: the host adds what the CTAs after it computed of its output tile, in ascending order.
void reduce_peers(Launch& launch, std::int64_t g, std::int64_t tile_iter_end, TilePartial& tile) {
  Moved& moved = launch.traffic[g].partials;
  for (std::int64_t cta = g + 1; cta < launch.cut.grid && launch.cut.cta_start(cta) < tile_iter_end; ++cta) {
    launch.flags[cta].wait(0, std::memory_order_acquire);                                         // 28
    const Column m_cta = load(launch.partials[cta].m, moved);                                     // 29
    const Column l_cta = load(launch.partials[cta].l, moved);                                     // 30
    const Dense o_cta = load(launch.partials[cta].o, moved);                                      // 31
    const Column m_new = m_cta.max(tile.m);                                                       // 32
    tile.l = (m_cta - m_new).exp() * l_cta + (tile.m - m_new).exp() * tile.l;                     // 33
    tile.o = diag((m_cta - m_new).exp()) * o_cta + Dense(diag((tile.m - m_new).exp()) * tile.o);  // 34
    tile.m = m_new;                                                                               // 35
  }
}

void write_output(Launch& launch, std::int64_t g, std::int64_t tile_idx, const TilePartial& tile) {
  const Eigen::Index row = tile_idx * launch.tile.rows;
  const Eigen::Index rows = tile.l.size();
  Traffic& traffic = launch.traffic[g];
  store(diag(tile.l.inverse()) * tile.o, launch.result.output.as<Output>().middleRows(row, rows),
        traffic.output);                                                                                 // 38
  store(tile.m + tile.l.log(), OutputColumn(launch.result.lse.data() + row, rows), traffic.statistics);  // 39
}

/// Lines 9-42: what CTA g does. Only its first output tile can be one it is not the host of, so one partial and one
/// flag per CTA are enough.
void run_cta(Launch& launch, std::int64_t g) {
  const std::int64_t per_output = launch.cut.iterations_per_output;
  const std::int64_t cta_end = launch.cut.cta_start(g + 1);
  std::int64_t iter = launch.cut.cta_start(g);
  while (iter < cta_end) {
    const std::int64_t tile_idx = iter / per_output;                                   // 11
    const std::int64_t tile_iter = tile_idx * per_output;                              // 12
    const std::int64_t tile_iter_end = tile_iter + per_output;                         // 13
    const std::int64_t local_iter = iter - tile_iter;                                  // 14
    const std::int64_t local_iter_end = std::min(tile_iter_end, cta_end) - tile_iter;  // 15
    TilePartial tile =
        lean_tile(launch.head, launch.tile, tile_idx, local_iter, local_iter_end, launch.traffic[g]);  // 16
    const bool host_block = iter == tile_iter;                                                         // 17
    const bool finishing_block = cta_end >= tile_iter_end;                                             // 18
    if (!host_block) {
      store_partial(launch, g, tile);  // 19-23
    } else {
      if (!finishing_block) reduce_peers(launch, g, tile_iter_end, tile);  // 25-37
      write_output(launch, g, tile_idx, tile);
    }
    iter = tile_iter_end;  // 41
  }
}

}  // namespace

HeadResult lean_attention(const Head& head, std::int64_t tile_rows, std::int64_t tile_tokens, std::int64_t grid) {
  const Tiles tile{tile_rows, tile_tokens};
  const Cut cut = cut_of(head.shape(), tile, grid);
  Launch launch{head,
                tile,
                cut,
                std::vector<TilePartial>(cut.grid),
                std::vector<std::atomic<int>>(cut.grid),
                std::vector<Traffic>(cut.grid),
                HeadResult(head)};
  // 8: fork. CTAs wait only for higher ones, so these start first: even if a thread cannot be had, those that run end.
  std::vector<std::jthread> threads;
  threads.reserve(cut.grid);
  for (std::int64_t g = cut.grid - 1; g >= 0; --g) threads.emplace_back(run_cta, std::ref(launch), g);
  threads.clear();  // 43: join
  for (const Traffic& traffic : launch.traffic) launch.result.traffic += traffic;
  return std::move(launch.result);
}

Traffic lean_attention_io(const HeadShape& shape, std::int64_t tile_rows, std::int64_t tile_tokens, std::int64_t grid) {
  const auto [rows, tokens, head_dim, value_dim, v_in_k] = shape;
  const Cut cut = cut_of(shape, {tile_rows, tile_tokens}, grid);
  Traffic traffic;
  for (std::int64_t tile = 0; tile < cut.output_tiles; ++tile) {
    const std::int64_t height = std::min(tile_rows, rows - tile * tile_rows);
    // CTAs that work on this tile without being its host: those that start inside it, at an iteration above its first
    // and below its end, tile * C_n + 1 <= g I / G < (tile + 1) C_n.
    const std::int64_t peers = ceil_div((tile + 1) * cut.grid, cut.output_tiles) -
                               ceil_div((tile * cut.iterations_per_output + 1) * cut.grid, cut.iterations);
    const std::int64_t partials = peers * height * (value_dim + 2);
    traffic.q.loaded += (1 + peers) * height * head_dim;
    traffic.partials.stored += partials;  // 20-22
    traffic.partials.loaded += partials;  // 29-31
  }
  traffic.k = {cut.output_tiles * tokens * head_dim, 0};
  traffic.v = {v_in_k ? 0 : cut.output_tiles * tokens * value_dim, 0};
  traffic.output = {0, rows * value_dim};  // 38
  traffic.statistics = {0, rows};          // 39
  return traffic;
}

}  // namespace splitwave::cpu_reference::algorithms
