// SPDX-License-Identifier: Apache-2.0
// Safe softmax in three passes, online softmax in two, attention in one: the way to FlashAttention. Notation of the
// lecture "Online Safe Softmax": x scores, m their maximum so far, d the denominator so far, o the output so far.
#include <cmath>
#include <limits>

#include "cpu_reference/algorithms/algorithms.h"
#include "cpu_reference/algorithms/dense.h"

namespace splitwave::cpu_reference::algorithms {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

HeadResult three_pass_attention(const Head& head) {
  const auto v = head.v.as<Input>();
  HeadResult result(head);
  auto output = result.output.as<Output>();
  const Dense scores = head.scale * head.q.as<Input>() * head.k.as<Input>().transpose();
  for (Eigen::Index row = 0; row < scores.rows(); ++row) {
    const Eigen::RowVectorXd x = scores.row(row);
    double m = -kInfinity;
    for (const double x_i : x) m = std::max(m, x_i);
    double d = 0;
    for (const double x_i : x) d += std::exp(x_i - m);
    Eigen::RowVectorXd a(x.size());
    for (Eigen::Index i = 0; i < x.size(); ++i) a[i] = std::exp(x[i] - m) / d;
    output.row(row) = a * v;
    result.lse[row] = m + std::log(d);
  }
  return result;
}

HeadResult two_pass_attention(const Head& head) {
  const auto q = head.q.as<Input>();
  const auto k = head.k.as<Input>();
  const auto v = head.v.as<Input>();
  HeadResult result(head);
  auto output = result.output.as<Output>();
  for (Eigen::Index row = 0; row < q.rows(); ++row) {
    Eigen::VectorXd x(k.rows());
    double m = -kInfinity;
    double d = 0;
    for (Eigen::Index i = 0; i < k.rows(); ++i) {
      x[i] = head.scale * q.row(row).dot(k.row(i));
      const double m_new = std::max(m, x[i]);
      d = d * std::exp(m - m_new) + std::exp(x[i] - m_new);
      m = m_new;
    }
    for (Eigen::Index i = 0; i < k.rows(); ++i) output.row(row) += std::exp(x[i] - m) / d * v.row(i);
    result.lse[row] = m + std::log(d);
  }
  return result;
}

HeadResult one_pass_attention(const Head& head) {
  const auto q = head.q.as<Input>();
  const auto k = head.k.as<Input>();
  const auto v = head.v.as<Input>();
  HeadResult result(head);
  auto output = result.output.as<Output>();
  for (Eigen::Index row = 0; row < q.rows(); ++row) {
    double m = -kInfinity;
    double d = 0;
    for (Eigen::Index i = 0; i < k.rows(); ++i) {
      const double x = head.scale * q.row(row).dot(k.row(i));
      const double m_new = std::max(m, x);
      const double d_new = d * std::exp(m - m_new) + std::exp(x - m_new);
      output.row(row) = output.row(row) * (d * std::exp(m - m_new) / d_new) + std::exp(x - m_new) / d_new * v.row(i);
      m = m_new;
      d = d_new;
    }
    result.lse[row] = m + std::log(d);
  }
  return result;
}

}  // namespace splitwave::cpu_reference::algorithms
