// SPDX-License-Identifier: Apache-2.0
// FlashAttention, Algorithm 1 (Dao, Fu, Ermon, Rudra, Ré: arXiv 2205.14135). Comments give the algorithm's lines.
#include <algorithm>
#include <limits>

#include "cpu_reference/algorithms/dense.h"
#include "cpu_reference/algorithms/functions.h"

namespace splitwave::cpu_reference::algorithms {
namespace {

/// Line 1: B_c = ceil(M / 4d); B_r = min(B_c, d).
Eigen::Index block_tokens_for(std::int64_t sram_elements, std::int64_t head_dim) {
  return std::max<Eigen::Index>((sram_elements + 4 * head_dim - 1) / (4 * head_dim), 1);
}

}  // namespace

HeadResult flash_attention_1(const Head& head, std::int64_t sram_elements) {
  const auto q = head.q.as<Input>();
  const auto k = head.k.as<Input>();
  HeadResult result(head);
  Traffic& traffic = result.traffic;
  auto o = result.output.as<Output>();
  // 1: block sizes.
  const Eigen::Index block_tokens = block_tokens_for(sram_elements, q.cols());
  const Eigen::Index block_rows = std::min(block_tokens, q.cols());
  // 2: O, l and m in HBM.
  Column l(q.rows());
  Column m(q.rows());
  store(Dense::Zero(o.rows(), o.cols()), o, traffic.output);
  store(Column::Zero(q.rows()), l, traffic.statistics);
  store(Column::Constant(q.rows(), -std::numeric_limits<double>::infinity()), m, traffic.statistics);
  // 3, 4: blocks are views of the matrices. 5: outer loop over K and V.
  for (Eigen::Index token = 0; token < k.rows(); token += block_tokens) {
    // 6: load K_j and V_j.
    const Dense k_j = load(k.middleRows(token, std::min(block_tokens, k.rows() - token)), traffic.k);
    const Dense v_j = load_v(head, token, k_j, traffic);
    // 7: inner loop over Q.
    for (Eigen::Index row = 0; row < q.rows(); row += block_rows) {
      // 8: load Q_i, O_i, l_i and m_i.
      const Eigen::Index rows = std::min(block_rows, q.rows() - row);
      const Dense q_i = load(q.middleRows(row, rows), traffic.q);
      const Dense o_i = load(o.middleRows(row, rows), traffic.output);
      const Column l_i = load(l.segment(row, rows), traffic.statistics);
      const Column m_i = load(m.segment(row, rows), traffic.statistics);
      // 9: scores.
      const Dense s = head.scale * q_i * k_j.transpose();
      // 10: the block's own maximum, weights and denominator.
      const Column m_block = s.rowwise().maxCoeff();
      const Dense p = (s.array().colwise() - m_block).exp();
      const Column l_block = p.rowwise().sum();
      // 11: the new maximum and denominator.
      const Column m_new = m_i.max(m_block);
      const Column l_new = (m_i - m_new).exp() * l_i + (m_block - m_new).exp() * l_block;
      // 12: write O_i, normalised by the denominator so far.
      const Dense o_new = diag(l_i * (m_i - m_new).exp()) * o_i + diag((m_block - m_new).exp()) * (p * v_j);
      store(diag(l_new.inverse()) * o_new, o.middleRows(row, rows), traffic.output);
      // 13: write l_i and m_i.
      store(l_new, l.segment(row, rows), traffic.statistics);
      store(m_new, m.segment(row, rows), traffic.statistics);
    }
  }
  // 16, and the LSE, which the paper leaves as m and l.
  OutputColumn(result.lse.data(), q.rows()) = m + l.log();
  return result;
}

Traffic flash_attention_1_io(const HeadShape& shape, std::int64_t sram_elements) {
  const auto [rows, tokens, head_dim, value_dim, v_in_k] = shape;
  const std::int64_t block_tokens = block_tokens_for(sram_elements, head_dim);
  const std::int64_t kv_blocks = (tokens + block_tokens - 1) / block_tokens;  // T_c
  Traffic traffic;
  traffic.k = {tokens * head_dim, 0};                                       // 6
  traffic.v = {v_in_k ? 0 : tokens * value_dim, 0};                         // 6
  traffic.q = {kv_blocks * rows * head_dim, 0};                             // 8
  traffic.output = {kv_blocks * rows * value_dim,                           // 8
                    (1 + kv_blocks) * rows * value_dim};                    // 2, 12
  traffic.statistics = {kv_blocks * 2 * rows, (1 + kv_blocks) * 2 * rows};  // 8; 2, 13
  return traffic;
}

}  // namespace splitwave::cpu_reference::algorithms
