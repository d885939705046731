// SPDX-License-Identifier: Apache-2.0
#include "studies/edge_constants.h"

#include <algorithm>
#include <optional>

namespace splitwave::studies {

using gpu::ProbeKind;

void add_edge_constants(const ProbedConfig& probed, const ProbeTimes& times, ConstantList& list) {
  // Of warps with lists of their own each has its share of many edges.
  const bool alone = probed.config.team == gpu::Team::alone;
  const double of_two = times.at(1, true, ProbeKind::items, 2) - times.at(1, true, ProbeKind::unhidden, 2);
  const double of_more = times.each(1, true, ProbeKind::items) - times.each(1, true, ProbeKind::unhidden);
  list.add_ns("edge", alone ? of_two / probed.config.warps : of_more);
  const std::int32_t rows = 8 * probed.config.row_tiles;
  const double rounds = std::max(1, rows / times.round(1));
  const double two = times.first(1, true, ProbeKind::items) + (rounds - 1) * times.chain(1, true);
  const double further = (times.at(1, true, ProbeKind::queries, rows) - two) / (rows - 2);
  list.add_ns("edge_per_query", alone ? further / probed.config.warps : further);
  const std::optional<double> least = times.find(1, true, ProbeKind::full_queries, 2);
  if (!least) return;
  const double query = (times.at(1, true, ProbeKind::full_queries, rows) - *least) / (rows - 2);
  const double lists = probed.resources.front().where.ctas_per_sm;
  list.add_ns("edge_per_chunk", query / (lists * gpu::kEdgeItems * gpu::kEdgeChunks));
}

}  // namespace splitwave::studies
