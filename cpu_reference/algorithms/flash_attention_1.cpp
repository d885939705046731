// SPDX-License-Identifier: Apache-2.0
// FlashAttention, Algorithm 1 (Dao, Fu, Ermon, Rudra, Ré: arXiv 2205.14135). Comments give the algorithm's lines.
#include <algorithm>
#include <limits>

#include "cpu_reference/algorithms/algorithms.h"
#include "cpu_reference/algorithms/dense.h"

namespace splitwave::cpu_reference::algorithms {

HeadResult flash_attention_1(const Head& head, std::int64_t sram_elements) {
  const auto q = head.q.as<Input>();
  const auto k = head.k.as<Input>();
  const auto v = head.v.as<Input>();
  HeadResult result(head);
  auto o = result.output.as<Output>();
  // 1: block sizes.
  const Eigen::Index d = q.cols();
  const Eigen::Index block_tokens = std::max<Eigen::Index>((sram_elements + 4 * d - 1) / (4 * d), 1);
  const Eigen::Index block_rows = std::min(block_tokens, d);
  // 2: O, l and m in HBM.
  Column l = Column::Zero(q.rows());
  Column m = Column::Constant(q.rows(), -std::numeric_limits<double>::infinity());
  // 3, 4: blocks are views of the matrices. 5: outer loop over K and V.
  for (Eigen::Index token = 0; token < k.rows(); token += block_tokens) {
    // 6: load K_j and V_j.
    const Eigen::Index tokens = std::min(block_tokens, k.rows() - token);
    const Dense k_j = k.middleRows(token, tokens);
    const Dense v_j = v.middleRows(token, tokens);
    // 7: inner loop over Q.
    for (Eigen::Index row = 0; row < q.rows(); row += block_rows) {
      // 8: load Q_i, O_i, l_i and m_i.
      const Eigen::Index rows = std::min(block_rows, q.rows() - row);
      const Dense o_i = o.middleRows(row, rows);
      const Column l_i = l.segment(row, rows);
      const Column m_i = m.segment(row, rows);
      // 9: scores.
      const Dense s = head.scale * q.middleRows(row, rows) * k_j.transpose();
      // 10: the block's own maximum, weights and denominator.
      const Column m_block = s.rowwise().maxCoeff();
      const Dense p = (s.array().colwise() - m_block).exp();
      const Column l_block = p.rowwise().sum();
      // 11: the new maximum and denominator.
      const Column m_new = m_i.max(m_block);
      const Column l_new = (m_i - m_new).exp() * l_i + (m_block - m_new).exp() * l_block;
      // 12: write O_i, normalised by the denominator so far.
      o.middleRows(row, rows) =
          (o_i.array().colwise() * (l_i * (m_i - m_new).exp()) + (p * v_j).array().colwise() * (m_block - m_new).exp())
              .colwise() /
          l_new;
      // 13: write l_i and m_i.
      l.segment(row, rows) = l_new;
      m.segment(row, rows) = m_new;
    }
  }
  // 16, and the LSE, which the paper leaves as m and l.
  Eigen::Map<Column>(result.lse.data(), q.rows()) = m + l.log();
  return result;
}

}  // namespace splitwave::cpu_reference::algorithms
