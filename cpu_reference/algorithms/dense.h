// SPDX-License-Identifier: Apache-2.0
// Eigen's views of a head's matrices, row-major and in double, and the way between slow and fast memory: matrices of a
// Head and a HeadResult are in slow memory, variables of type Dense, Row and Column in fast memory, and every element
// that an algorithm moves between them passes load() or store(), which count it.
#pragma once

#include <Eigen/Dense>

#include "cpu_reference/algorithms/head.h"

namespace splitwave::cpu_reference::algorithms {

using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Input = Eigen::Map<const Dense>;
using Output = Eigen::Map<Dense>;
using Column = Eigen::ArrayXd;                        ///< one value per row
using Row = Eigen::Array<double, 1, Eigen::Dynamic>;  ///< one value per column
using OutputColumn = Eigen::Map<Column>;              ///< one value per row, in slow memory
using Diagonal = Eigen::DiagonalMatrix<double, Eigen::Dynamic>;

/// A copy of a block in fast memory.
template <typename Block>
typename Block::PlainObject load(const Block& block, Moved& moved) {
  moved.loaded += block.size();
  return block;
}

/// Writes values from fast memory over a block in slow memory.
template <typename Values, typename Block>
void store(const Values& values, Block&& block, Moved& moved) {
  moved.stored += block.size();
  block = values;
}

/// The block of V that belongs to k_j, a block of K in fast memory that begins at `token`. Where V is a part of K it is
/// there already.
inline Dense load_v(const Head& head, Eigen::Index token, const Dense& k_j, Traffic& traffic) {
  if (head.v_in_k) return k_j.leftCols(head.v.cols);
  return load(head.v.as<Input>().middleRows(token, k_j.rows()), traffic.v);
}

/// diag(values), as the papers write a factor per row.
inline Diagonal diag(const Column& values) {
  return Diagonal(values.matrix());
}

}  // namespace splitwave::cpu_reference::algorithms
