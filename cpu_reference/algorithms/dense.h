// SPDX-License-Identifier: Apache-2.0
// Eigen's views of a head's matrices, row-major and in double, for the algorithms of the papers.
#pragma once

#include <Eigen/Dense>

namespace splitwave::cpu_reference::algorithms {

using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Input = Eigen::Map<const Dense>;
using Output = Eigen::Map<Dense>;
using Column = Eigen::ArrayXd;  ///< one value per row

}  // namespace splitwave::cpu_reference::algorithms
