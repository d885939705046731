// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/row_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace splitwave::cpu_reference {

void weigh_scores(RowWeights& row) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  row.largest = row.scores.empty() ? kNothing : *std::max_element(row.scores.begin(), row.scores.end());
  row.weights.assign(row.scores.size(), 0.0);
  row.total = 0;
  if (row.largest == kNothing) return;
  for (std::size_t i = 0; i < row.scores.size(); ++i) {
    row.weights[i] = std::exp(row.scores[i] - row.largest);
    row.total += row.weights[i];
  }
}

RowWeights row_weights(const AttentionCase& attention, const RowId& row, const ScoreSource& source) {
  const workloads::Geometry& g = attention.geometry;
  const workloads::Request& request = attention.requests[static_cast<std::size_t>(row.request)];
  const RowId from = source.q.value_or(row);
  const std::int32_t kv_head = source.kv_head.value_or(row.head / g.group());
  const double scale = source.scale.value_or(g.scale());
  RowWeights result;
  result.range = source.range.value_or(visible_to_query(g, request, row.query));
  std::vector<double> q(static_cast<std::size_t>(g.head_dim));
  std::vector<double> k(q.size());
  load_elements(attention.q, attention.q_rows.at(from.request, from.query, from.head), g.head_dim, q.data());
  result.scores.reserve(static_cast<std::size_t>(result.range.size()));
  for (std::int32_t token = result.range.begin; token < result.range.end; ++token) {
    load_elements(attention.k, kv_offset(attention, attention.k_rows, row.request, token, kv_head), g.head_dim,
                  k.data());
    double score = 0;
    for (std::size_t i = 0; i < q.size(); ++i) score += q[i] * k[i];
    score *= scale;
    if (attention.mask && source.masked) score += mask_value(*attention.mask, row.request, row.head, row.query, token);
    result.scores.push_back(score);
  }
  weigh_scores(result);
  return result;
}

}  // namespace splitwave::cpu_reference
