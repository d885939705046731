// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "benchmarks/accuracy/judge.h"

namespace splitwave::accuracy {

/// Of at least one value.
double mean(const std::vector<double>& values);

/// Errors of some predictions, ratios. `mean`, quantiles and `most` are of the absolute error, `bias` is the mean
/// error.
struct Summary {
  std::size_t points = 0;
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double most = 0;
  double bias = 0;
  double roofline_mean = 0;  ///< mean absolute error of the data sheet's roofline
};

/// Of the predictions that `chosen` is true for; points is 0 if there are none.
Summary summarize(std::span<const JudgedPoint> predictions, const std::function<bool(const JudgedPoint&)>& chosen);

/// What ran the points (schedules, of others their kernels), in their order.
std::vector<std::string> schedules_of(std::span<const JudgedPoint> judged);

/// A class of sizes of K and V.
struct SizeClass {
  std::string title;
  double least_bytes = 0;
  double most_bytes = 0;  ///< not included
};
std::span<const SizeClass> size_classes();

/// How well the order of the kernels on each shape is predicted.
struct Order {
  std::size_t pairs = 0;   ///< of kernels on one shape whose measured times differ by more than a tenth
  std::size_t right = 0;   ///< of them, those predicted in the same order
  std::size_t shapes = 0;  ///< with at least two kernels
  double tau_mean = 0;     ///< Kendall's tau over all pairs of a shape
  double tau_median = 0;
  double tau_p10 = 0;
  double regret_mean = 0;  ///< measured time of the kernel predicted fastest over the least, less one
};
Order order(std::span<const JudgedPoint> predictions);

}  // namespace splitwave::accuracy
