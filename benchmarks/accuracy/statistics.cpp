// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/accuracy/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/quantile.h"

namespace splitwave::accuracy {
namespace {

/// Measured times that differ by no more than this are no order.
constexpr double kClearRatio = 1.1;

int sign(double value) {
  return (value > 0) - (value < 0);
}

/// Kendall's tau of one shape; adds its clear pairs to `result`.
double add_shape(const std::vector<const JudgedPoint*>& kernels, Order& result) {
  double agreement = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    for (std::size_t j = i + 1; j < kernels.size(); ++j) {
      const double measured = kernels[i]->point->seconds / kernels[j]->point->seconds;
      const int same = sign(measured - 1) * sign(kernels[i]->seconds / kernels[j]->seconds - 1);
      agreement += same;
      pairs += 1;
      if (std::max(measured, 1 / measured) <= kClearRatio) continue;
      ++result.pairs;
      if (same > 0) ++result.right;
    }
  }
  return agreement / pairs;
}

double regret(const std::vector<const JudgedPoint*>& kernels) {
  const auto chosen = std::min_element(kernels.begin(), kernels.end(),
                                       [](const auto* a, const auto* b) { return a->seconds < b->seconds; });
  const auto best = std::min_element(kernels.begin(), kernels.end(), [](const auto* a, const auto* b) {
    return a->point->seconds < b->point->seconds;
  });
  return (*chosen)->point->seconds / (*best)->point->seconds - 1;
}

}  // namespace

std::vector<std::string> schedules_of(std::span<const JudgedPoint> judged) {
  std::vector<std::string> schedules;
  for (const JudgedPoint& one : judged) {
    if (std::find(schedules.begin(), schedules.end(), one.point->kernel) == schedules.end()) {
      schedules.push_back(one.point->kernel);
    }
  }
  return schedules;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Summary summarize(std::span<const JudgedPoint> predictions, const std::function<bool(const JudgedPoint&)>& chosen) {
  std::vector<double> errors;
  std::vector<double> signed_errors;
  std::vector<double> rooflines;
  for (const JudgedPoint& one : predictions) {
    if (!chosen(one)) continue;
    signed_errors.push_back(one.error());
    errors.push_back(std::abs(one.error()));
    rooflines.push_back(std::abs(one.roofline_error()));
  }
  if (errors.empty()) return {};
  return {errors.size(),
          mean(errors),
          base::quantile(errors, 0.5),
          base::quantile(errors, 0.9),
          *std::max_element(errors.begin(), errors.end()),
          mean(signed_errors),
          mean(rooflines)};
}

std::span<const SizeClass> size_classes() {
  static const std::array classes = {SizeClass{"below 4 MB", 0, 4e6}, SizeClass{"4 to 64 MB", 4e6, 64e6},
                                     SizeClass{"64 MB to 1 GB", 64e6, 1e9},
                                     SizeClass{"from 1 GB", 1e9, std::numeric_limits<double>::infinity()}};
  return classes;
}

Order order(std::span<const JudgedPoint> predictions) {
  std::map<std::string, std::vector<const JudgedPoint*>> shapes;
  for (const JudgedPoint& one : predictions) shapes[one.point->workload.name].push_back(&one);
  Order result;
  std::vector<double> taus;
  std::vector<double> regrets;
  for (const auto& [name, kernels] : shapes) {
    if (kernels.size() < 2) continue;
    taus.push_back(add_shape(kernels, result));
    regrets.push_back(regret(kernels));
  }
  result.shapes = taus.size();
  if (taus.empty()) return result;
  result.tau_mean = mean(taus);
  result.tau_median = base::quantile(taus, 0.5);
  result.tau_p10 = base::quantile(taus, 0.1);
  result.regret_mean = mean(regrets);
  return result;
}

}  // namespace splitwave::accuracy
