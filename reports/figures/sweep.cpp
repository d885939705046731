// SPDX-License-Identifier: Apache-2.0
// Sweeps: times along the axis that has most values, and the fastest schedule over the two that have most.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/figures/heat_grid.h"

namespace splitwave::reports::vega {
namespace {

/// The values of a point's axes, texts as their names are written.
struct AxisValues {
  std::map<std::string, std::string> values;
  std::map<std::string, double> numbers;  ///< of the axes that are numbers
};

struct SweepPoint {
  const Point* point = nullptr;
  const AxisValues* axes = nullptr;
};

struct Sweep {
  std::map<std::uint32_t, AxisValues> axes;  ///< by Point::axes, which many points share
  std::vector<SweepPoint> points;
  std::map<std::string, std::set<double>> numbers;  ///< by axis
};

Sweep sweep_of(const Context& context) {
  Sweep sweep;
  for (const Point& point : context.data.points()) {
    if (context.name(point.axes).empty() || !context.shown(point)) continue;
    const auto [found, added] = sweep.axes.try_emplace(point.axes);
    AxisValues& one = found->second;
    if (added) {
      const Json axes = Json::parse(context.name(point.axes));
      for (const auto& [axis, value] : axes.items()) {
        if (value.is_number()) sweep.numbers[axis].insert(one.numbers[axis] = value.get<double>());
        one.values[axis] = value.is_string() ? value.get<std::string>() : value.dump();
      }
    }
    sweep.points.push_back({&point, &one});
  }
  return sweep;
}

/// The axes of most values, most first; equal ones by name.
std::vector<std::string> longest_axes(const std::map<std::string, std::set<double>>& axes) {
  std::vector<std::string> names;
  for (const auto& [name, values] : axes) names.push_back(name);
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) { return axes.at(a).size() > axes.at(b).size(); });
  return names;
}

/// What else tells a point: machine, workload, and the axes that have no place of their own.
std::string panel_of(const Context& context, const SweepPoint& one, const std::vector<std::string>& placed) {
  std::string text =
      base_machine(context.name(one.point->machine)) + ": " + base_machine(context.name(one.point->workload));
  for (const auto& [axis, value] : one.axes->values) {
    if (std::find(placed.begin(), placed.end(), axis) == placed.end()) text += fmt::format(", {} {}", axis, value);
  }
  return text;
}

/// Axes of tokens and bytes are read in powers of two.
std::string value_words(const std::string& axis, double value) {
  const bool tokens = axis == "context" || axis == "query_len" || axis == "window" || axis == "cache_len";
  return tokens ? tokens_words(static_cast<std::int64_t>(value)) : fmt::format("{:.6g}", value);
}

/// Even steps on a linear axis, factors on a logarithmic one.
Axis::Kind kind_of(const std::set<double>& values) {
  const std::vector<double> sorted(values.begin(), values.end());
  if (sorted.front() <= 0 || sorted.back() / sorted.front() < 10) return Axis::Kind::linear;
  const double middle = sorted[sorted.size() / 2];
  const bool even = middle > (sorted.front() + sorted.back()) * 0.4;
  return even ? Axis::Kind::linear : Axis::Kind::powers_of_two;
}

/// At most so many of them, evenly spread.
std::set<double> thinned_values(const std::set<double>& values, std::size_t most) {
  const std::vector<double> all(values.begin(), values.end());
  std::set<double> some;
  for (const std::size_t i : thinned(all.size(), most)) some.insert(all[i]);
  return some;
}

}  // namespace

Drawn sweep_curve(const Context& context) {
  const Sweep sweep = sweep_of(context);
  if (sweep.numbers.empty()) return std::nullopt;
  const std::string axis = longest_axes(sweep.numbers).front();
  std::vector<CurvePoint> points;
  for (const SweepPoint& one : sweep.points) {
    const auto x = one.axes->numbers.find(axis);
    if (x == one.axes->numbers.end()) continue;
    points.push_back({panel_of(context, one, {axis}), context.name(one.point->schedule), one.point->predicted,
                      x->second, one.point->seconds, context.name(one.point->workload), context.index(*one.point)});
  }
  Curves curves;
  curves.x = {axis, kind_of(sweep.numbers.at(axis))};
  curves.y = {"", Axis::Kind::logarithmic};
  return curve_figure(context, {"sweep_curve", "Time along " + axis, "Predicted."}, std::move(curves),
                      std::move(points), 3, true);
}

Drawn sweep_heat_map(const Context& context) {
  const Sweep sweep = sweep_of(context);
  std::vector<std::string> axes = longest_axes(sweep.numbers);
  std::erase_if(axes, [&](const std::string& axis) { return sweep.numbers.at(axis).size() < 2; });
  if (axes.size() < 2) return std::nullopt;
  axes.resize(2);
  std::map<std::string, std::map<std::pair<double, double>, HeatCell>> panels;
  for (const SweepPoint& one : sweep.points) {
    const auto x = one.axes->numbers.find(axes[0]);
    const auto y = one.axes->numbers.find(axes[1]);
    if (x == one.axes->numbers.end() || y == one.axes->numbers.end()) continue;
    HeatCell& best = panels[panel_of(context, one, axes)][{y->second, x->second}];
    if (best.best != nullptr && best.best->seconds <= one.point->seconds) continue;
    best = {value_words(axes[0], x->second), value_words(axes[1], y->second), one.point,
            context.baseline.speed_up(*one.point)};
  }
  constexpr std::size_t kMostCells = 20;  // along an axis: more cannot be read
  const std::set<double> columns = thinned_values(sweep.numbers.at(axes[0]), kMostCells);
  const std::set<double> rows = thinned_values(sweep.numbers.at(axes[1]), kMostCells);
  HeatGrid empty{"", axes[0], axes[0], axes[1], {}, {}, {}};
  for (const double one : columns) empty.columns.push_back(value_words(axes[0], one));
  for (const double one : rows) empty.rows.insert(empty.rows.begin(), value_words(axes[1], one));
  std::vector<std::string> titles;
  for (const auto& [title, cells] : panels) titles.push_back(title);
  const std::string left_out =
      titles.size() > kMostHeatPanels ? fmt::format(" {} of {} groups.", kMostHeatPanels, titles.size()) : "";
  std::vector<HeatGrid> grids;
  for (const std::string& title : largest_panels(panels, std::move(titles))) {
    HeatGrid& grid = grids.emplace_back(empty);
    grid.title = title;
    for (const auto& [place, one] : panels[title]) {
      if (rows.contains(place.first) && columns.contains(place.second)) grid.cells.push_back(one);
    }
  }
  const bool alone = context.data.schedules().size() == 1;
  const std::string numbers =
      alone ? "Number: time in µs." : "Number: speed-up of the fastest over " + context.request.baseline + ".";
  return heat_figure(context, grids, "sweep_heat_map",
                     (alone ? "Time over " : "Fastest schedule over ") + axes[0] + " and " + axes[1],
                     numbers + left_out + context.series_note());
}

}  // namespace splitwave::reports::vega
