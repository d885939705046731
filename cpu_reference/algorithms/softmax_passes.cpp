// SPDX-License-Identifier: Apache-2.0
// Safe softmax in three passes, online softmax in two, attention in one: the way to FlashAttention. Notation of the
// lecture "Online Safe Softmax": x scores, m their maximum so far, d the denominator so far, a weights, o the output so
// far. A row of scores does not fit in fast memory ("not enough space to store entire x"): between passes it is in slow
// memory. The LSE is not a part of the algorithms, and not counted.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu_reference/algorithms/dense.h"
#include "cpu_reference/algorithms/functions.h"

namespace splitwave::cpu_reference::algorithms {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using RowVector = Eigen::RowVectorXd;

double load(const double& value, Moved& moved) {
  ++moved.loaded;
  return value;
}

void store(double value, double& place, Moved& moved) {
  ++moved.stored;
  place = value;
}

/// Traffic of every pass over K, one query row at a time; `score_passes` later passes read the scores again, and V is
/// read in the last pass.
Traffic passes_io(const HeadShape& shape, std::int64_t score_passes) {
  const auto [rows, tokens, head_dim, value_dim, v_in_k] = shape;
  const bool v_comes_with_k = v_in_k && score_passes == 0;
  Traffic traffic;
  traffic.q = {rows * head_dim, 0};
  traffic.k = {rows * tokens * head_dim, 0};
  traffic.v = {v_comes_with_k ? 0 : rows * tokens * value_dim, 0};
  traffic.scores = {score_passes * rows * tokens, score_passes > 0 ? rows * tokens : 0};
  traffic.output = {0, rows * value_dim};
  return traffic;
}

}  // namespace

HeadResult three_pass_attention(const Head& head) {
  const auto k = head.k.as<Input>();
  const auto v = head.v.as<Input>();
  HeadResult result(head);
  Traffic& traffic = result.traffic;
  std::vector<double> x(static_cast<std::size_t>(head.k.rows));
  for (Eigen::Index row = 0; row < head.q.rows; ++row) {
    const RowVector q = load(head.q.as<Input>().row(row), traffic.q);
    double m = -kInfinity;
    for (Eigen::Index i = 0; i < k.rows(); ++i) {
      const double x_i = head.scale * q.dot(load(k.row(i), traffic.k));
      m = std::max(m, x_i);
      store(x_i, x[i], traffic.scores);
    }
    double d = 0;
    for (Eigen::Index i = 0; i < k.rows(); ++i) d += std::exp(load(x[i], traffic.scores) - m);
    RowVector o = RowVector::Zero(v.cols());
    for (Eigen::Index i = 0; i < k.rows(); ++i) {
      const double a_i = std::exp(load(x[i], traffic.scores) - m) / d;
      o += a_i * load(v.row(i), traffic.v);
    }
    store(o, result.output.as<Output>().row(row), traffic.output);
    result.lse[row] = m + std::log(d);
  }
  return result;
}

HeadResult two_pass_attention(const Head& head) {
  const auto k = head.k.as<Input>();
  const auto v = head.v.as<Input>();
  HeadResult result(head);
  Traffic& traffic = result.traffic;
  std::vector<double> x(static_cast<std::size_t>(head.k.rows));
  for (Eigen::Index row = 0; row < head.q.rows; ++row) {
    const RowVector q = load(head.q.as<Input>().row(row), traffic.q);
    double m = -kInfinity;
    double d = 0;
    for (Eigen::Index i = 0; i < k.rows(); ++i) {
      const double x_i = head.scale * q.dot(load(k.row(i), traffic.k));
      const double m_new = std::max(m, x_i);
      d = d * std::exp(m - m_new) + std::exp(x_i - m_new);
      m = m_new;
      store(x_i, x[i], traffic.scores);
    }
    RowVector o = RowVector::Zero(v.cols());
    for (Eigen::Index i = 0; i < k.rows(); ++i) {
      const double a_i = std::exp(load(x[i], traffic.scores) - m) / d;
      o += a_i * load(v.row(i), traffic.v);
    }
    store(o, result.output.as<Output>().row(row), traffic.output);
    result.lse[row] = m + std::log(d);
  }
  return result;
}

HeadResult one_pass_attention(const Head& head) {
  HeadResult result(head);
  Traffic& traffic = result.traffic;
  for (Eigen::Index row = 0; row < head.q.rows; ++row) {
    const RowVector q = load(head.q.as<Input>().row(row), traffic.q);
    RowVector o = RowVector::Zero(head.v.cols);
    double m = -kInfinity;
    double d = 0;
    for (Eigen::Index i = 0; i < head.k.rows; ++i) {
      const Dense k_i = load(head.k.as<Input>().middleRows(i, 1), traffic.k);
      const Dense v_i = load_v(head, i, k_i, traffic);
      const double x_i = head.scale * q.dot(k_i.row(0));
      const double m_new = std::max(m, x_i);
      const double d_new = d * std::exp(m - m_new) + std::exp(x_i - m_new);
      o = o * (d * std::exp(m - m_new) / d_new) + std::exp(x_i - m_new) / d_new * v_i.row(0);
      m = m_new;
      d = d_new;
    }
    store(o, result.output.as<Output>().row(row), traffic.output);
    result.lse[row] = m + std::log(d);
  }
  return result;
}

Traffic three_pass_attention_io(const HeadShape& shape) {
  return passes_io(shape, 2);
}

Traffic two_pass_attention_io(const HeadShape& shape) {
  return passes_io(shape, 1);
}

Traffic one_pass_attention_io(const HeadShape& shape) {
  return passes_io(shape, 0);
}

}  // namespace splitwave::cpu_reference::algorithms
