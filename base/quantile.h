// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace splitwave::base {

/// The q-quantile (0..1) of the values by linear interpolation between order statistics (NumPy's default). Throws
/// std::invalid_argument if there are no values.
double quantile(std::vector<double> values, double q);

}  // namespace splitwave::base
