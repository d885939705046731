// SPDX-License-Identifier: Apache-2.0
#include "reports/figures/curves.h"

#include <algorithm>
#include <map>

namespace splitwave::reports::vega {
namespace {

struct Size {
  double width = 0;
  double height = 0;
  int columns = 1;
};

Size size_of(std::size_t panels, double height) {
  Size size = panels <= 1 ? Size{520, 300, 1} : panels <= 4 ? Size{290, 200, 2} : Size{215, 160, 3};
  if (height > 0) size.height = height;
  return size;
}

Json values_of(const std::vector<const CurvePoint*>& points) {
  Json values = Json::array();
  for (const CurvePoint* point : points) {
    Json row = {{"series", point->series},
                {"kind", point->predicted ? "predicted" : "measured"},
                {"x", point->x},
                {"y", point->y}};
    if (!point->workload.empty()) row["workload"] = std::string(point->workload);
    if (point->record >= 0) row["record"] = point->record;
    values.push_back(std::move(row));
  }
  return values;
}

Json of_series(const Curves& curves, Json scale) {
  Json channel = {{"field", "series"}, {"type", "nominal"}, {"scale", std::move(scale)}, {"title", nullptr}};
  channel["legend"] = curves.legend.empty() ? Json(nullptr) : Json{{"values", curves.legend}};
  return channel;
}

Json colour(const Curves& curves) {
  return of_series(curves, colour_scale(curves.series));
}

Json shape(const Curves& curves) {
  return of_series(curves, shape_scale(curves.series));
}

Json hover(const Curves& curves) {
  const Json x = curves.x_names.empty() ? Json{{"field", "x"}, {"type", "quantitative"}, {"format", ".6~g"}}
                                        : Json{{"field", "name"}};
  Json fields = {{{"field", "workload"}},
                 {{"field", "series"}, {"title", "schedule"}},
                 {{"field", "kind"}},
                 x,
                 {{"field", "y"}, {"type", "quantitative"}, {"title", curves.y.title}, {"format", ".4~g"}}};
  fields[3]["title"] = curves.hover_x.empty() ? curves.x.title : curves.hover_x;
  return fields;
}

/// The names of the series where their curves end, moved apart.
Json end_labels(const Curves& curves, const std::vector<const CurvePoint*>& points, std::span<const double> domain,
                const Size& size) {
  std::map<std::string, const CurvePoint*> ends;
  for (const CurvePoint* point : points) {
    const CurvePoint*& end = ends[point->series];
    if (end == nullptr || point->x > end->x || (point->x == end->x && point->predicted && !end->predicted)) end = point;
  }
  std::vector<std::string> names;
  std::vector<double> places;
  for (const std::string& series : curves.series) {
    const auto found = ends.find(series);
    if (found == ends.end()) continue;
    names.push_back(series);
    places.push_back(place_on(curves.y, domain, found->second->y, size.height));
  }
  places = dodged(std::move(places), size.height, 11.5);
  Json values = Json::array();
  for (std::size_t i = 0; i < names.size(); ++i) {
    values.push_back({{"series", names[i]}, {"label", shortened(names[i], 24)}, {"at", size.height - places[i]}});
  }
  // The text is in the colour of all text, which can be read; the symbol beside it has the series' colour and shape.
  const Json y = {{"field", "at"}, {"type", "quantitative"}, {"scale", nullptr}, {"axis", nullptr}};
  return {{"data", {{"values", values}}},
          {"layer",
           {{{"mark", {{"type", "point"}, {"filled", true}, {"size", 26}}},
             {"encoding",
              {{"x", {{"value", size.width + 8}}}, {"y", y}, {"color", colour(curves)}, {"shape", shape(curves)}}}},
            {{"mark", {{"type", "text"}, {"align", "left"}, {"baseline", "middle"}, {"fontSize", 9.5}}},
             {"encoding", {{"x", {{"value", size.width + 15}}}, {"y", y}, {"text", {{"field", "label"}}}}}}}}};
}

/// Measured points are filled; predicted ones are open, and small where a line joins them, so that hovering finds them.
Json markers(const Curves& curves, bool predicted, const Json& x, const Json& y) {
  Json mark = {
      {"type", "point"}, {"clip", true}, {"filled", !predicted}, {"size", predicted && curves.lines ? 14 : 30}};
  if (!curves.markers) mark["fillOpacity"] = mark["strokeOpacity"] = 0;
  if (predicted) mark["strokeWidth"] = 1.2;
  return {{"transform", {{{"filter", predicted ? "datum.kind == 'predicted'" : "datum.kind == 'measured'"}}}},
          {"mark", mark},
          {"encoding",
           {{"x", x}, {"y", y}, {"color", colour(curves)}, {"shape", shape(curves)}, {"tooltip", hover(curves)}}}};
}

Json rule(double at) {
  return {{"data", {{"values", {{{"y", at}}}}}},
          {"mark", {{"type", "rule"}, {"color", "#777777"}, {"strokeDash", {4, 3}}}},
          {"encoding", {{"y", {{"field", "y"}, {"type", "quantitative"}}}}}};
}

/// What is stated, as dashed lines with their words above.
Json level_layers(const Curves& curves, std::span<const double> domain, double width, const Json& x, const Json& y) {
  Json values = Json::array();
  for (const Level& level : curves.levels) {
    // Words of what begins far to the right go to its left, lest they leave the panel.
    const bool right = place_on(curves.x, domain, level.from, width) > 0.6 * width;
    values.push_back({{"x", level.from}, {"to", level.to}, {"y", level.y}, {"label", level.words}, {"right", right}});
  }
  const auto words = [&](bool right) -> Json {
    const Json mark = {{"type", "text"},
                       {"align", right ? "right" : "left"},
                       {"dx", right ? -5 : 3},
                       {"baseline", "bottom"},
                       {"dy", -3},
                       {"fontSize", 9}};
    return {{"transform", {{{"filter", right ? "datum.right" : "!datum.right"}}}},
            {"mark", mark},
            {"encoding", {{"x", x}, {"y", y}, {"text", {{"field", "label"}}}}}};
  };
  return {{"data", {{"values", std::move(values)}}},
          {"layer",
           {{{"mark", {{"type", "rule"}, {"strokeDash", {5, 3}}, {"strokeWidth", 1.6}, {"color", "#777777"}}},
             {"encoding", {{"x", x}, {"x2", {{"field", "to"}}}, {"y", y}}}},
            {{"mark", {{"type", "point"}, {"shape", "diamond"}, {"size", 45}, {"color", "#777777"}}},
             {"encoding", {{"x", x}, {"y", y}}}},
            words(false),
            words(true)}}};
}

Json panel(const Curves& curves, const std::string& title, const std::vector<const CurvePoint*>& points,
           const Size& size) {
  std::vector<double> xs;
  std::vector<double> ys = curves.rules;
  for (const CurvePoint* point : points) {
    xs.push_back(point->x);
    ys.push_back(point->y);
  }
  for (const Level& level : curves.levels) ys.push_back(level.y);
  const std::vector<double> x_domain = domain_of(curves.x, xs);
  const std::vector<double> y_domain = domain_of(curves.y, ys);
  Json x = channel("x", curves.x, x_domain, size.width);
  const Json y = channel("y", curves.y, y_domain, size.height);
  Json data = values_of(points);
  if (!curves.x_names.empty()) {
    std::string names = "[";
    for (const std::string& name : curves.x_names) names += Json(name).dump() + ",";
    names.back() = ']';
    std::vector<double> places(curves.x_names.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<double>(i);
    const bool many = places.size() > 8;
    x["axis"] = {
        {"values", places}, {"labelExpr", names + "[datum.value]"}, {"grid", false}, {"labelAngle", many ? -55 : -25}};
    if (many) x["axis"]["labelOverlap"] = false;
    for (Json& row : data) row["name"] = curves.x_names[row["x"].get<std::size_t>()];
  }
  Json layers = Json::array();
  for (const double at : curves.rules) layers.push_back(rule(at));
  if (curves.lines) {
    Json line = {{"type", "line"}, {"strokeWidth", 1.7}, {"clip", true}};
    if (curves.steps) line["interpolate"] = "step-after";
    layers.push_back({{"transform", {{{"filter", "datum.kind == 'predicted'"}}}},
                      {"mark", line},
                      {"encoding", {{"x", x}, {"y", y}, {"color", colour(curves)}}}});
  }
  for (const bool predicted : {true, false}) layers.push_back(markers(curves, predicted, x, y));
  if (!curves.levels.empty()) layers.push_back(level_layers(curves, x_domain, size.width, x, y));
  if (curves.legend.empty()) layers.push_back(end_labels(curves, points, y_domain, size));
  Json result = {{"width", size.width}, {"height", size.height}};
  if (!title.empty()) result["title"] = shortened(title, size.width > 500 ? 80 : size.width > 250 ? 52 : 40);
  result["data"] = {{"values", std::move(data)}};
  result["layer"] = std::move(layers);
  result["resolve"] = {{"scale", {{"color", "shared"}}}};
  return result;
}

}  // namespace

Json curve_panels(const Curves& curves, const std::vector<CurvePoint>& points) {
  const std::vector<std::string> panels = curves.panels.empty() ? std::vector<std::string>{""} : curves.panels;
  const Size size = size_of(panels.size(), curves.height);
  Json parts = Json::array();
  for (const std::string& title : panels) {
    std::vector<const CurvePoint*> own;
    for (const CurvePoint& point : points) {
      if (point.panel == title) own.push_back(&point);
    }
    std::stable_sort(own.begin(), own.end(), [](const CurvePoint* a, const CurvePoint* b) { return a->x < b->x; });
    parts.push_back(panel(curves, title, own, size));
  }
  if (parts.size() == 1 && panels.front().empty()) return parts.front();
  return {{"concat", std::move(parts)}, {"columns", size.columns}};
}

Table curve_table(const Curves& curves, const std::vector<CurvePoint>& points) {
  Table table{{{"panel"}, {"series"}, {"kind"}, {"workload"}, {curves.x.title}, {curves.y.title}}, {}};
  for (const CurvePoint& point : points) {
    const std::string x = curves.x_names.empty() ? cell(point.x) : curves.x_names[static_cast<std::size_t>(point.x)];
    table.rows.push_back({point.panel, point.series, point.predicted ? "predicted" : "measured",
                          std::string(point.workload), x, cell(point.y)});
  }
  return table;
}

}  // namespace splitwave::reports::vega
