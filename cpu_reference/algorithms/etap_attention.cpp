// SPDX-License-Identifier: Apache-2.0
// FlashMLA-ETAP, Algorithm 1, as arithmetic: which warpgroup does what, barriers and loads are left out. Comments give
// the algorithm's lines. Lines 2 and 3 disagree on which side of V is halved (tokens or elements); the output halves of
// lines 15 and 27 need the elements. Line 13 as printed inverts the rescaling factor; it is used as it is meant.
#include <algorithm>
#include <limits>

#include "cpu_reference/algorithms/algorithms.h"
#include "cpu_reference/algorithms/dense.h"

namespace splitwave::cpu_reference::algorithms {
namespace {

using Row = Eigen::Array<double, 1, Eigen::Dynamic>;

}  // namespace

HeadResult etap_attention(const Head& head, std::int64_t block_rows, std::int64_t block_tokens) {
  const auto q = head.q.as<Input>();
  const auto k = head.k.as<Input>();
  const auto v = head.v.as<Input>();
  HeadResult result(head);
  auto output = result.output.as<Output>();
  const Eigen::Index half = v.cols() / 2;
  for (Eigen::Index row = 0; row < q.rows(); row += block_rows) {
    const Eigen::Index rows = std::min(block_rows, q.rows() - row);
    const Dense q_i = q.middleRows(row, rows);
    // 3: O^T in two halves, one column per query row.
    Dense o_0 = Dense::Zero(half, rows);
    Dense o_1 = Dense::Zero(v.cols() - half, rows);
    Row l = Row::Zero(rows);
    Row m = Row::Constant(rows, -std::numeric_limits<double>::infinity());
    for (Eigen::Index token = 0; token < k.rows(); token += block_tokens) {  // 7
      const Eigen::Index tokens = std::min(block_tokens, k.rows() - token);
      const auto v_j = v.middleRows(token, tokens);
      const Dense s = head.scale * k.middleRows(token, tokens) * q_i.transpose();  // 9: S^T, tokens x rows
      const Row m_old = m;                                                         // 10
      m = m_old.max(s.colwise().maxCoeff().array());
      const Dense p = (s.array().rowwise() - m).exp();  // 11: P^T
      const Row r = (m_old - m).exp();                  // 13
      l = r * l + p.colwise().sum().array();
      o_0 = Dense(o_0.array().rowwise() * r) + v_j.leftCols(half).transpose() * p;              // 15
      o_1 = Dense(o_1.array().rowwise() * r) + v_j.rightCols(v.cols() - half).transpose() * p;  // 27
    }
    // 30: normalise. 31, 32: transpose and write.
    output.block(row, 0, rows, half) = (o_0.array().rowwise() / l).transpose();
    output.block(row, half, rows, v.cols() - half) = (o_1.array().rowwise() / l).transpose();
    Eigen::Map<Row>(result.lse.data() + row, rows) = m + l.log();
  }
  return result;
}

}  // namespace splitwave::cpu_reference::algorithms
