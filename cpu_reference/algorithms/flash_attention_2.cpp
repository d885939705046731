// SPDX-License-Identifier: Apache-2.0
// FlashAttention-2, Algorithm 1 (Dao: arXiv 2307.08691). Comments give the algorithm's lines. Line 10 as printed
// divides by e^(m_old - m_new); the factor meant, and used here, is its inverse.
#include <algorithm>
#include <limits>

#include "cpu_reference/algorithms/dense.h"
#include "cpu_reference/algorithms/functions.h"

namespace splitwave::cpu_reference::algorithms {

HeadResult flash_attention_2(const Head& head, std::int64_t block_rows, std::int64_t block_tokens) {
  const auto q = head.q.as<Input>();
  const auto k = head.k.as<Input>();
  HeadResult result(head);
  Traffic& traffic = result.traffic;
  // 1, 2: blocks are views of the matrices. 3: outer loop over Q.
  for (Eigen::Index row = 0; row < q.rows(); row += block_rows) {
    // 4: load Q_i. 5: initialise.
    const Eigen::Index rows = std::min(block_rows, q.rows() - row);
    const Dense q_i = load(q.middleRows(row, rows), traffic.q);
    Dense o = Dense::Zero(rows, head.v.cols);
    Column l = Column::Zero(rows);
    Column m = Column::Constant(rows, -std::numeric_limits<double>::infinity());
    // 6: inner loop over K and V.
    for (Eigen::Index token = 0; token < k.rows(); token += block_tokens) {
      // 7: load K_j and V_j.
      const Dense k_j = load(k.middleRows(token, std::min(block_tokens, k.rows() - token)), traffic.k);
      const Dense v_j = load_v(head, token, k_j, traffic);
      // 8: scores.
      const Dense s = head.scale * q_i * k_j.transpose();
      // 9: maximum, weights and denominator.
      const Column m_new = m.max(s.rowwise().maxCoeff().array());
      const Dense p = (s.array().colwise() - m_new).exp();
      const Column rescale = (m - m_new).exp();
      l = rescale * l + p.rowwise().sum().array();
      // 10: output, not yet normalised.
      o = diag(rescale) * o + p * v_j;
      m = m_new;
    }
    // 12: normalise. 13: LSE. 14, 15: write.
    store(diag(l.inverse()) * o, result.output.as<Output>().middleRows(row, rows), traffic.output);
    store(m + l.log(), OutputColumn(result.lse.data() + row, rows), traffic.statistics);
  }
  // 17
  return result;
}

Traffic flash_attention_2_io(const HeadShape& shape, std::int64_t block_rows, std::int64_t /*block_tokens*/) {
  const auto [rows, tokens, head_dim, value_dim, v_in_k] = shape;
  const std::int64_t row_blocks = (rows + block_rows - 1) / block_rows;  // T_r
  Traffic traffic;
  traffic.q = {rows * head_dim, 0};                               // 4
  traffic.k = {row_blocks * tokens * head_dim, 0};                // 7
  traffic.v = {v_in_k ? 0 : row_blocks * tokens * value_dim, 0};  // 7
  traffic.output = {0, rows * value_dim};                         // 14
  traffic.statistics = {0, rows};                                 // 15
  return traffic;
}

}  // namespace splitwave::cpu_reference::algorithms
