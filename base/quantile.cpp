// SPDX-License-Identifier: Apache-2.0
#include "base/quantile.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace splitwave::base {

double quantile(std::vector<double> values, double q) {
  if (values.empty()) {
    throw std::invalid_argument("quantile of no values");
  }
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], at - static_cast<double>(below));
}

Interval median_interval(std::vector<double> values) {
  if (values.empty()) {
    throw std::invalid_argument("median_interval of no values");
  }
  std::sort(values.begin(), values.end());
  // That more than n - 1 - k of n values lie on one side of the median is as likely as k or fewer heads of n coins.
  constexpr double kOneSide = 0.025;
  const std::size_t count = values.size();
  double log_term = -static_cast<double>(count) * std::log(2.0);  // of exactly `outside` heads; 2^-count is 0 soon
  double tail = std::exp(log_term);
  std::size_t outside = 0;
  while (outside + 1 < count / 2) {
    log_term += std::log(static_cast<double>(count - outside)) - std::log(static_cast<double>(outside + 1));
    tail += std::exp(log_term);
    if (tail > kOneSide) break;
    ++outside;
  }
  return {values[outside], values[count - 1 - outside]};
}

double relative_spread(const std::vector<double>& samples) {
  return (quantile(samples, 0.8) - quantile(samples, 0.2)) / quantile(samples, 0.5);
}

}  // namespace splitwave::base
