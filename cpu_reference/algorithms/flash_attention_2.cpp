// SPDX-License-Identifier: Apache-2.0
// FlashAttention-2, Algorithm 1 (Dao: arXiv 2307.08691). Comments give the algorithm's lines. Line 10 as printed
// divides by e^(m_old - m_new); the factor meant, and used here, is its inverse.
#include <algorithm>
#include <limits>

#include "cpu_reference/algorithms/algorithms.h"
#include "cpu_reference/algorithms/dense.h"

namespace splitwave::cpu_reference::algorithms {

HeadResult flash_attention_2(const Head& head, std::int64_t block_rows, std::int64_t block_tokens) {
  const auto q = head.q.as<Input>();
  const auto k = head.k.as<Input>();
  const auto v = head.v.as<Input>();
  HeadResult result(head);
  auto output = result.output.as<Output>();
  // 1, 2: blocks are views of the matrices. 3: outer loop over Q.
  for (Eigen::Index row = 0; row < q.rows(); row += block_rows) {
    // 4: load Q_i. 5: initialise.
    const Eigen::Index rows = std::min(block_rows, q.rows() - row);
    const Dense q_i = q.middleRows(row, rows);
    Dense o = Dense::Zero(rows, v.cols());
    Column l = Column::Zero(rows);
    Column m = Column::Constant(rows, -std::numeric_limits<double>::infinity());
    // 6: inner loop over K and V.
    for (Eigen::Index token = 0; token < k.rows(); token += block_tokens) {
      // 7: load K_j and V_j.
      const Eigen::Index tokens = std::min(block_tokens, k.rows() - token);
      const auto k_j = k.middleRows(token, tokens);
      const auto v_j = v.middleRows(token, tokens);
      // 8: scores.
      const Dense s = head.scale * q_i * k_j.transpose();
      // 9: maximum, weights and denominator.
      const Column m_new = m.max(s.rowwise().maxCoeff().array());
      const Dense p = (s.array().colwise() - m_new).exp();
      const Column rescale = (m - m_new).exp();
      l = rescale * l + p.rowwise().sum().array();
      // 10: output, not yet normalised.
      o = rescale.matrix().asDiagonal() * o + p * v_j;
      m = m_new;
    }
    // 12: normalise. 13: LSE. 14, 15: write.
    output.middleRows(row, rows) = o.array().colwise() / l;
    Eigen::Map<Column>(result.lse.data() + row, rows) = m + l.log();
  }
  // 17
  return result;
}

}  // namespace splitwave::cpu_reference::algorithms
