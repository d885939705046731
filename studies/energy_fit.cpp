// SPDX-License-Identifier: Apache-2.0
#include "studies/energy_fit.h"

#include <Eigen/QR>
#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace splitwave::studies {
namespace {

constexpr Eigen::Index kConstants = 6;
/// Sizes around which the constants lie: columns of like size keep the solution exact.
constexpr std::array<double, kConstants> kUnits = {100, 1, 1e-11, 1e-11, 1e-12, 1e-12};

std::size_t at(Eigen::Index index) {
  return static_cast<std::size_t>(index);
}

std::array<double, kConstants> amounts(const PowerPoint& point) {
  return {1,          point.sms, point.dram_bytes_per_second, point.l2_bytes_per_second, point.shared_bytes_per_second,
          point.flops};
}

simulator::EnergyConstants to_constants(const std::array<double, kConstants>& values) {
  return {values[0], values[1], values[2], values[3], values[4], values[5]};
}

/// Least squares over the columns of `used`, the others being 0.
std::array<double, kConstants> solve(std::span<const PowerPoint> points, const std::vector<Eigen::Index>& used) {
  const auto rows = static_cast<Eigen::Index>(points.size());
  const auto columns = static_cast<Eigen::Index>(used.size());
  Eigen::MatrixXd left(rows, columns);
  for (Eigen::Index row = 0; row < rows; ++row) {
    const PowerPoint& point = points[at(row)];
    for (Eigen::Index column = 0; column < columns; ++column) {
      const std::size_t constant = at(used[at(column)]);
      left(row, column) = amounts(point)[constant] * kUnits[constant] / point.watts;
    }
  }
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> factors(left);
  if (rows < kConstants || factors.rank() < columns) {
    throw std::invalid_argument("fit_energy: the points do not determine the constants");
  }
  const Eigen::VectorXd solution = factors.solve(Eigen::VectorXd::Ones(rows));
  std::array<double, kConstants> values{};
  for (Eigen::Index column = 0; column < columns; ++column) {
    const std::size_t constant = at(used[at(column)]);
    values[constant] = solution(column) * kUnits[constant];
  }
  return values;
}

}  // namespace

double law_watts(const simulator::EnergyConstants& constants, const PowerPoint& point) {
  return constants.idle_watts + constants.sm_watts * point.sms +
         constants.dram_joules_per_byte * point.dram_bytes_per_second +
         constants.l2_joules_per_byte * point.l2_bytes_per_second +
         constants.shared_joules_per_byte * point.shared_bytes_per_second + constants.joules_per_flop * point.flops;
}

simulator::EnergyConstants fit_energy(std::span<const PowerPoint> points) {
  std::vector<Eigen::Index> used = {0, 1, 2, 3, 4, 5};
  for (;;) {
    const std::array<double, kConstants> values = solve(points, used);
    const auto least = std::min_element(used.begin(), used.end(), [&](Eigen::Index a, Eigen::Index b) {
      return values[at(a)] / kUnits[at(a)] < values[at(b)] / kUnits[at(b)];
    });
    if (values[at(*least)] >= 0) return to_constants(values);
    used.erase(least);
  }
}

double largest_power_error(const simulator::EnergyConstants& constants, std::span<const PowerPoint> points) {
  double largest = 0;
  for (const PowerPoint& point : points) {
    largest = std::max(largest, std::abs(law_watts(constants, point) / point.watts - 1));
  }
  return largest;
}

}  // namespace splitwave::studies
