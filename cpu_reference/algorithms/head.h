// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "cpu_reference/algorithms/traffic.h"

namespace splitwave::cpu_reference::algorithms {

/// A row-major matrix of doubles.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<double> values;

  Matrix() = default;
  Matrix(std::int64_t row_count, std::int64_t col_count)
      : rows(row_count), cols(col_count), values(static_cast<std::size_t>(row_count * col_count)) {}

  /// The same memory as a View(data, rows, cols), for example an Eigen::Map.
  template <typename View>
  View as() const {
    return View(values.data(), rows, cols);
  }
  template <typename View>
  View as() {
    return View(values.data(), rows, cols);
  }
};

/// Attention of one head without a mask: every query row sees all tokens, of which there is at least one, and all
/// scores are finite. The matrices are in slow memory.
struct Head {
  Matrix q;             ///< query rows x head_dim
  Matrix k;             ///< tokens x head_dim
  Matrix v;             ///< tokens x value_dim
  double scale = 1;     ///< factor on Q·K; the papers' pseudocode leaves it out
  bool v_in_k = false;  ///< V is the first value_dim columns of K (MLA): a block of K brings its block of V along

  HeadShape shape() const { return {q.rows, k.rows, q.cols, v.cols, v_in_k}; }
};

struct HeadResult {
  Matrix output;            ///< query rows x value_dim
  std::vector<double> lse;  ///< per query row, natural log
  Traffic traffic;          ///< what the algorithm loaded and stored on its way, counted; elements

  explicit HeadResult(const Head& head) : output(head.q.rows, head.v.cols), lse(head.q.rows) {}
};

}  // namespace splitwave::cpu_reference::algorithms
