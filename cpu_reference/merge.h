// SPDX-License-Identifier: Apache-2.0
// Attention over parts of a context, joined: the softmax-rescaling merge, "an associative operator" that every split
// schedule rests on (LeanAttention, arXiv 2405.10480, section 4.1).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace splitwave::cpu_reference {

/// Attention of one output row over some of its tokens, unnormalised. The default, with as many zeros in `output` as
/// the other side has, is the identity of merge: a part without tokens.
template <typename Real>
struct Partial {
  Real max = -std::numeric_limits<Real>::infinity();  ///< largest score (after the softmax scale)
  Real sum = 0;                                       ///< of e^(score - max)
  std::vector<Real> output;                           ///< of e^(score - max) * v, per output element
};

/// e^(score - max), and 0 for a score of -inf even where max is -inf too (there the difference would be NaN).
template <typename Real>
Real weight_below(Real score, Real max) {
  return score == -std::numeric_limits<Real>::infinity() ? Real(0) : std::exp(score - max);
}

/// Attention over the tokens of both parts, which have none in common. Parts in any order and grouping give the same up
/// to rounding. Throws std::logic_error if the outputs differ in length.
template <typename Real>
Partial<Real> merge(const Partial<Real>& x, const Partial<Real>& y) {
  if (x.output.size() != y.output.size()) throw std::logic_error("merge: partials of different value_dim");
  Partial<Real> both;
  both.max = std::max(x.max, y.max);
  const Real x_weight = weight_below(x.max, both.max);
  const Real y_weight = weight_below(y.max, both.max);
  both.sum = x_weight * x.sum + y_weight * y.sum;
  both.output.resize(x.output.size());
  for (std::size_t i = 0; i < both.output.size(); ++i) {
    both.output[i] = x_weight * x.output[i] + y_weight * y.output[i];
  }
  return both;
}

/// Natural-log LSE of a part; -inf without tokens.
template <typename Real>
Real lse(const Partial<Real>& part) {
  return part.sum == 0 ? -std::numeric_limits<Real>::infinity() : part.max + std::log(part.sum);
}

/// Normalised output of a part; 0 without tokens.
template <typename Real>
std::vector<Real> normalised(const Partial<Real>& part) {
  std::vector<Real> output = part.output;
  for (Real& element : output) element = part.sum == 0 ? Real(0) : element / part.sum;
  return output;
}

}  // namespace splitwave::cpu_reference
