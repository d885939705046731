// SPDX-License-Identifier: Apache-2.0
// How near times are to what memory and arithmetic allow.
#include <fmt/format.h>

#include <algorithm>

#include "reports/figures/context.h"

namespace splitwave::reports::vega {
namespace {

std::string panel_of(const Context& context, const Point& point) {
  return context.name(point.machine) +
         (point.predicted ? ", predicted" : ", measured by " + context.name(point.executor));
}

Json roofs(const MachinePeaks& peaks, const std::vector<double>& x_domain, const Json& x, const Json& y) {
  const double ridge = peaks.flops / peaks.bytes_per_second;
  Json values = Json::array();
  for (const double at : {x_domain[0], std::clamp(ridge, x_domain[0], x_domain[1]), x_domain[1]}) {
    values.push_back({{"x", at}, {"y", std::min(at * peaks.bytes_per_second, peaks.flops) / 1e12}});
  }
  return {{"data", {{"values", values}}},
          {"mark", {{"type", "line"}, {"color", "#555555"}, {"strokeWidth", 1.5}, {"clip", true}}},
          {"encoding", {{"x", x}, {"y", y}}}};
}

/// Intensities and rates of one panel's points.
struct Roofline {
  std::string panel;
  MachinePeaks peaks;
  std::vector<const Point*> points;
};

Json roofline_panel(const Context& context, const Roofline& roofline, Table& table) {
  const double width = 290;
  const double height = 230;
  std::vector<double> xs;
  std::vector<double> ys;
  Json values = Json::array();
  const auto& points = roofline.points;
  for (const std::size_t i : thinned(points.size(), kMostPoints / 4)) {
    const Point& point = *points[i];
    const double x = context.data.shape(point)->flops / point.bytes;
    const double y = context.data.shape(point)->flops / point.seconds / 1e12;
    xs.push_back(x);
    ys.push_back(y);
    values.push_back({{"series", context.name(point.schedule)},
                      {"x", x},
                      {"y", y},
                      {"workload", context.name(point.workload)},
                      {"record", context.index(point)},
                      {"share", y * 1e12 / std::min(x * roofline.peaks.bytes_per_second, roofline.peaks.flops)}});
    table.rows.push_back(
        {roofline.panel, context.name(point.schedule), context.name(point.workload), cell(x), cell(y)});
  }
  xs.insert(xs.end(), {1.0});
  ys.push_back(
      std::min(*std::max_element(xs.begin(), xs.end()) * roofline.peaks.bytes_per_second, roofline.peaks.flops) / 1e12);
  const Axis x_axis{"FLOP per byte that must move", Axis::Kind::logarithmic};
  const Axis y_axis{"TFLOP/s", Axis::Kind::logarithmic};
  const std::vector<double> x_domain = domain_of(x_axis, xs);
  const std::vector<double> y_domain = domain_of(y_axis, ys);
  const Json x = channel("x", x_axis, x_domain, width);
  const Json y = channel("y", y_axis, y_domain, height);
  const Json tooltip = {{{"field", "workload"}},
                        {{"field", "series"}, {"title", "schedule"}},
                        {{"field", "x"}, {"title", "FLOP/byte"}, {"format", ".3~g"}},
                        {{"field", "y"}, {"title", "TFLOP/s"}, {"format", ".4~g"}},
                        {{"field", "share"}, {"title", "of the roof"}, {"format", ".1%"}}};
  return {
      {"title", shortened(roofline.panel, 52)},
      {"width", width},
      {"height", height},
      {"data", {{"values", std::move(values)}}},
      {"layer",
       {roofs(roofline.peaks, x_domain, x, y),
        {{"mark", {{"type", "point"}, {"size", 22}, {"clip", true}}},
         {"encoding",
          {{"x", x},
           {"y", y},
           {"color",
            {{"field", "series"}, {"type", "nominal"}, {"scale", colour_scale(context.series)}, {"title", nullptr}}},
           {"shape",
            {{"field", "series"}, {"type", "nominal"}, {"scale", shape_scale(context.series)}, {"title", nullptr}}},
           {"tooltip", tooltip}}}}}}};
}

}  // namespace

Drawn points_by_bytes(const Context& context, const Heading& heading, std::vector<CurvePoint> points, Axis y,
                      std::vector<double> rules) {
  Curves curves;
  curves.x = {"bytes that must move (MB)", Axis::Kind::logarithmic};
  curves.y = std::move(y);
  curves.rules = std::move(rules);
  curves.lines = false;
  for (const std::string& schedule : context.series) {
    const auto is_it = [&](const CurvePoint& point) { return point.series == schedule; };
    if (std::any_of(points.begin(), points.end(), is_it)) curves.legend.push_back(schedule);
  }
  return curve_figure(context, heading, std::move(curves), std::move(points), 2);
}

Drawn bandwidth(const Context& context) {
  std::vector<CurvePoint> points;
  bool shares = true;
  for (const Point& point : context.data.points()) {
    if (context.shown(point) && point.bytes > 0)
      shares = shares && context.request.peaks.contains(context.name(point.machine));
  }
  for (const Point& point : context.data.points()) {
    if (!context.shown(point) || !(point.bytes > 0)) continue;
    const double rate = point.bytes / point.seconds;
    const double peak = shares ? context.request.peaks.at(context.name(point.machine)).bytes_per_second : 1e9;
    points.push_back({panel_of(context, point), context.name(point.schedule), false, point.bytes / 1e6, rate / peak,
                      context.name(point.workload), context.index(point)});
  }
  const Axis y = {shares ? "share of the DRAM peak" : "bandwidth (GB/s)", Axis::Kind::linear, true, shares, {}};
  return points_by_bytes(
      context,
      {"bandwidth", "Bandwidth by bytes", "K and V of every visible token once, Q and output once, over the time."},
      std::move(points), y);
}

Drawn roofline(const Context& context) {
  std::map<std::string, Roofline> panels;
  for (const Point& point : context.data.points()) {
    const Shape* const shape = context.data.shape(point);
    const auto peaks = context.request.peaks.find(context.name(point.machine));
    if (!context.shown(point) || shape == nullptr || !(point.bytes > 0) || !(shape->flops > 0) ||
        peaks == context.request.peaks.end() || !(peaks->second.flops > 0)) {
      continue;
    }
    Roofline& roofline = panels[panel_of(context, point)];
    roofline.panel = panel_of(context, point);
    roofline.peaks = peaks->second;
    roofline.points.push_back(&point);
  }
  if (panels.empty()) return std::nullopt;
  std::vector<const Roofline*> order;
  for (const auto& [name, panel] : panels) order.push_back(&panel);
  std::stable_sort(order.begin(), order.end(),
                   [](const Roofline* a, const Roofline* b) { return a->points.size() > b->points.size(); });
  if (order.size() > 4) order.resize(4);
  Table table{{{"panel"}, {"schedule"}, {"workload"}, {"FLOP per byte"}, {"TFLOP/s"}}, {}};
  Json parts = Json::array();
  for (const Roofline* one : order) parts.push_back(roofline_panel(context, *one, table));
  return finished("roofline", "Roofline",
                  "Lines: DRAM peak and dense f16 peak of the data sheet. Decode reads much and computes little." +
                      context.series_note(),
                  {{"concat", std::move(parts)}, {"columns", 2}}, table);
}

}  // namespace splitwave::reports::vega
