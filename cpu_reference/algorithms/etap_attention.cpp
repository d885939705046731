// SPDX-License-Identifier: Apache-2.0
// FlashMLA-ETAP, Algorithm 1 (Dege et al.: arXiv 2506.01969), as arithmetic: which warpgroup does what, and barriers
// are left out. Comments give the algorithm's lines. Lines 1 and 3 disagree on which side of V is halved (tokens or
// elements); the output halves of lines 15 and 27 need the elements. Line 13 as printed inverts the rescaling factor;
// it is used as it is meant.
#include <algorithm>
#include <limits>

#include "cpu_reference/algorithms/dense.h"
#include "cpu_reference/algorithms/functions.h"

namespace splitwave::cpu_reference::algorithms {

HeadResult etap_attention(const Head& head, std::int64_t block_rows, std::int64_t block_tokens) {
  const auto q = head.q.as<Input>();
  const auto k = head.k.as<Input>();
  HeadResult result(head);
  Traffic& traffic = result.traffic;
  auto output = result.output.as<Output>();
  const Eigen::Index half = head.v.cols / 2;
  for (Eigen::Index row = 0; row < q.rows(); row += block_rows) {
    const Eigen::Index rows = std::min(block_rows, q.rows() - row);
    const Dense q_i = load(q.middleRows(row, rows), traffic.q);  // 20
    // 3: O^T in two halves, one column per query row.
    Dense o_0 = Dense::Zero(half, rows);
    Dense o_1 = Dense::Zero(head.v.cols - half, rows);
    Row l = Row::Zero(rows);
    Row m = Row::Constant(rows, -std::numeric_limits<double>::infinity());
    for (Eigen::Index token = 0; token < k.rows(); token += block_tokens) {                              // 7
      const Dense k_j = load(k.middleRows(token, std::min(block_tokens, k.rows() - token)), traffic.k);  // 21, 24
      const Dense v_j = load_v(head, token, k_j, traffic);                                               // 24
      const Dense s = head.scale * k_j * q_i.transpose();  // 9: S^T, tokens x rows
      const Row m_old = m;                                 // 10
      m = m_old.max(s.colwise().maxCoeff().array());
      const Dense p = (s.array().rowwise() - m).exp();  // 11: P^T
      l = (m_old - m).exp() * l + p.colwise().sum().array();
      const Diagonal r((m_old - m).exp().matrix().transpose());          // 13
      o_0 = o_0 * r + v_j.leftCols(half).transpose() * p;                // 15
      o_1 = o_1 * r + v_j.rightCols(v_j.cols() - half).transpose() * p;  // 27
    }
    // 30: normalise. 31, 32: transpose and write.
    const Diagonal normalise(l.inverse().matrix().transpose());
    store((o_0 * normalise).transpose(), output.block(row, 0, rows, half), traffic.output);
    store((o_1 * normalise).transpose(), output.block(row, half, rows, o_1.rows()), traffic.output);
    store(m + l.log(), Eigen::Map<Row>(result.lse.data() + row, rows), traffic.statistics);
  }
  return result;
}

Traffic etap_attention_io(const HeadShape& shape, std::int64_t block_rows, std::int64_t block_tokens) {
  return flash_attention_2_io(shape, block_rows, block_tokens);  // transposed, the same loads and stores
}

}  // namespace splitwave::cpu_reference::algorithms
