// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace splitwave::cpu_reference {
namespace {

/// Squared norms of a row's error and of its exact value.
struct Squares {
  double error = 0;
  double exact = 0;
};

double relative(const Squares& squares) {
  if (squares.error == 0) return 0;
  if (squares.exact == 0) return std::numeric_limits<double>::infinity();
  return std::sqrt(squares.error / squares.exact);
}

bool same_kind(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b;  // at least one is infinite
}

/// True if both are finite; otherwise counts a pair that differs in kind.
bool both_finite(double value, double exact, Errors& errors) {
  if (std::isfinite(value) && std::isfinite(exact)) return true;
  if (!same_kind(value, exact)) ++errors.mismatched_non_finite;
  return false;
}

}  // namespace

template <typename Real>
Errors compare(const Result<Real>& result, const Result<double>& exact) {
  if (result.output.size() != exact.output.size() || result.lse.size() != exact.lse.size()) {
    throw std::logic_error("compare: the results are of different shapes");
  }
  Errors errors;
  const std::size_t rows = exact.lse.size();
  const std::size_t value_dim = rows == 0 ? 0 : exact.output.size() / rows;
  Squares all;
  std::int64_t counted = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    Squares squares;
    for (std::size_t i = row * value_dim; i < (row + 1) * value_dim; ++i) {
      const double value = result.output[i];
      if (!both_finite(value, exact.output[i], errors)) continue;
      const double error = value - exact.output[i];
      squares.error += error * error;
      squares.exact += exact.output[i] * exact.output[i];
      errors.max_abs = std::max(errors.max_abs, std::abs(error));
      ++counted;
    }
    all.error += squares.error;
    all.exact += squares.exact;
    errors.worst_row_relative_l2 = std::max(errors.worst_row_relative_l2, relative(squares));

    const double lse = result.lse[row];
    if (!both_finite(lse, exact.lse[row], errors)) continue;
    const double error = std::abs(lse - exact.lse[row]);
    errors.lse_max_abs = std::max(errors.lse_max_abs, error);
    errors.lse_max_relative = std::max(errors.lse_max_relative, error / std::max(1.0, std::abs(exact.lse[row])));
  }
  errors.relative_l2 = relative(all);
  errors.rmse = counted == 0 ? 0 : std::sqrt(all.error / static_cast<double>(counted));
  return errors;
}

template Errors compare(const Result<float>& result, const Result<double>& exact);
template Errors compare(const Result<double>& result, const Result<double>& exact);

Tolerance tolerance(workloads::Dtype dtype) {
  // LSE: fp32 scores and an fp32 sum of weights, for every dtype.
  constexpr double kLse = 2e-5;
  switch (dtype) {
    case workloads::Dtype::f16:
      return {1e-3, kLse};  // weights and output rounded once each: 2 * 2^-11
    case workloads::Dtype::bf16:
      return {8e-3, kLse};  // 2 * 2^-8
    case workloads::Dtype::f32:
      return {3e-5, kLse};  // an fp32 running sum over 262,144 tokens, 9.6e-6, with room for its spread
    case workloads::Dtype::fp8_e4m3:
    case workloads::Dtype::fp8_e5m2:
      break;
  }
  throw std::logic_error("tolerance: no tolerance for " + workloads::to_string(dtype) + " yet");
}

Tolerance double_tolerance() {
  return {1e-9, 1e-12};
}

bool acceptable(const Errors& errors, const Tolerance& limit) {
  return errors.mismatched_non_finite == 0 && errors.worst_row_relative_l2 <= limit.relative_l2 &&
         errors.lse_max_relative <= limit.lse_relative;
}

}  // namespace splitwave::cpu_reference
