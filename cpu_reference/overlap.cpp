// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/overlap.h"

#include <algorithm>
#include <cmath>

namespace splitwave::cpu_reference {

double overlap_exponent(double memory, double arithmetic, double both) {
  const double most = std::max(memory, arithmetic);
  const double ratio = std::min(memory, arithmetic) / most;
  const auto time = [&](double p) { return most * std::pow(1 + std::pow(ratio, p), 1 / p); };
  double low = kLeastOverlap;
  double high = kMostOverlap;
  if (both <= time(high)) return high;
  if (both >= time(low)) return low;
  for (int i = 0; i < 40; ++i) {
    const double middle = std::sqrt(low * high);
    (time(middle) > both ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

}  // namespace splitwave::cpu_reference
