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

}  // namespace splitwave::base
