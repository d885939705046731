// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "benchmarks/numerics/studies.h"

namespace splitwave::numerics_study {
namespace {

/// One series per rounding, in order of appearance.
reports::Chart chart_of(const std::vector<Point>& points, const std::function<double(const Point&)>& x) {
  reports::Chart chart;
  chart.y_label = "RMSE (points: measured, lines: predicted)";
  for (const Point& point : points) {
    auto series = std::find_if(chart.series.begin(), chart.series.end(),
                               [&](const auto& one) { return one.name == point.rounding; });
    if (series == chart.series.end()) series = chart.series.insert(series, {point.rounding, {}});
    series->samples.push_back({x(point), point.rmse, point.predicted_rmse});
  }
  return chart;
}

reports::Figure drawn(reports::Chart chart, std::string name, std::string title, std::string x_label) {
  chart.name = std::move(name);
  chart.title = std::move(title);
  chart.x_label = std::move(x_label);
  return reports::chart_figure(chart, "benchmarks/numerics; f16, head dim 128, 8 heads, one query; docs/numerics.md");
}

}  // namespace

std::vector<reports::Figure> figures(const std::vector<Point>& contexts, const std::vector<Point>& splits,
                                     const std::vector<Point>& distributions) {
  std::vector<std::string> names;
  for (const Point& point : distributions) {
    if (names.empty() || names.back() != point.distribution) names.push_back(point.distribution);
  }
  reports::Chart by_distribution = chart_of(distributions, [&](const Point& point) {
    return static_cast<double>(std::find(names.begin(), names.end(), point.distribution) - names.begin());
  });
  by_distribution.x_names = names;
  return {drawn(chart_of(contexts, [](const Point& point) { return point.context_len; }), "context",
                "Error against context length, normal Q, K and V", "tokens"),
          drawn(chart_of(splits, [](const Point& point) { return point.splits; }), "splits",
                "Error against splits of 32768 tokens", "splits"),
          drawn(std::move(by_distribution), "distribution", "Error against distribution, 16384 tokens",
                "distribution of Q, K and V")};
}

}  // namespace splitwave::numerics_study
