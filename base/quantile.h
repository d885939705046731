// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace splitwave::base {

/// The q-quantile (0..1) of the values by linear interpolation between order statistics (NumPy's default). Throws
/// std::invalid_argument if there are no values.
double quantile(std::vector<double> values, double q);

/// An interval that holds the median of what the values were drawn from with at least 95 % confidence, whatever their
/// distribution: two of the values, by the sign test. Below 6 values, which cannot bound it so surely, the least and
/// the greatest. Throws std::invalid_argument if there are no values.
struct Interval {
  double low = 0;
  double high = 0;
};
Interval median_interval(std::vector<double> values);

/// Distance of the 20th and the 80th percentile over the median. At least one sample.
double relative_spread(const std::vector<double>& samples);

}  // namespace splitwave::base
