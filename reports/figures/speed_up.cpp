// SPDX-License-Identifier: Apache-2.0
// Speed-ups over the baseline: by schedule, and along context, heads, batch and raggedness as the papers draw them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/quantile.h"
#include "reports/figures/context.h"

namespace splitwave::reports::vega {
namespace {

std::string heads_words(const Shape& shape) {
  return fmt::format("{}/{}", shape.query_heads, shape.kv_heads);
}

std::string query_words(const Shape& shape) {
  return shape.query_len == 1 ? "" : fmt::format(", query {}", shape.query_len);
}

/// The panel that a shape belongs to and where in it, or nothing.
struct Place {
  std::string panel;
  double x = 0;
};
using PlaceOf = std::function<std::optional<Place>(const Shape& shape)>;

std::vector<CurvePoint> speed_up_points(const Context& context, const PlaceOf& place_of) {
  std::vector<CurvePoint> points;
  for (const Point& point : context.data.points()) {
    const Shape* const shape = context.data.shape(point);
    if (shape == nullptr || !context.shown(point)) continue;
    const double factor = context.baseline.speed_up(point);
    if (!(factor > 0) || context.name(point.schedule) == context.request.baseline) continue;
    if (const std::optional<Place> place = place_of(*shape)) {
      points.push_back({context.name(point.machine) + ": " + place->panel, context.name(point.schedule),
                        point.predicted, place->x, factor, context.name(point.workload), context.index(point)});
    }
  }
  return points;
}

/// Of several points at the same place only the first is drawn: a suite may hold a workload twice.
void keep_first(std::vector<CurvePoint>& points) {
  std::set<std::tuple<std::string, std::string, bool, double>> seen;
  std::erase_if(points, [&](const CurvePoint& point) {
    return !seen.emplace(point.panel, point.series, point.predicted, point.x).second;
  });
}

constexpr const char* kLinesAndPoints = "Lines: predicted; filled points: measured.";

Drawn speed_up_along(const Context& context, const Heading& heading, const Axis& x, const PlaceOf& place_of) {
  std::vector<CurvePoint> points = speed_up_points(context, place_of);
  keep_first(points);
  Curves curves;
  curves.x = x;
  curves.y = {"speed-up over " + context.request.baseline, Axis::Kind::logarithmic};
  curves.rules = {1};
  return curve_figure(context, heading, std::move(curves), std::move(points), 3);
}

/// Of one schedule, executor and machine: the speed-ups over all workloads.
struct Series {
  std::string schedule;
  std::string machine;
  bool predicted = false;
  std::vector<double> factors;
  double mean() const {
    double logs = 0;
    for (const double factor : factors) logs += std::log(factor);
    return std::exp(logs / static_cast<double>(factors.size()));
  }
};

std::vector<Series> speed_up_series(const Context& context) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Series> groups;
  for (const Point& point : context.data.points()) {
    const double factor = context.baseline.speed_up(point);
    if (!(factor > 0) || !context.shown(point) || context.name(point.schedule) == context.request.baseline) continue;
    Series& series = groups[{point.machine, point.executor, point.schedule}];
    series.schedule = context.name(point.schedule);
    series.machine = context.name(point.machine);
    if (!point.predicted) series.machine += ", measured by " + context.name(point.executor);
    if (point.predicted) series.machine += ", predicted";
    series.predicted = point.predicted;
    series.factors.push_back(factor);
  }
  std::vector<Series> result;
  for (auto& [key, series] : groups) result.push_back(std::move(series));
  return result;
}

Json interval_panel(const Context& context, const std::string& machine, const std::vector<const Series*>& series,
                    const Axis& x, const std::vector<double>& domain) {
  Json values = Json::array();
  Json order = Json::array();
  for (const std::string& schedule : context.series) {
    for (const Series* one : series) {
      if (one->schedule != schedule) continue;
      order.push_back(schedule);
      const auto [least, most] = std::minmax_element(one->factors.begin(), one->factors.end());
      values.push_back({{"series", schedule},
                        {"low", *least},
                        {"high", *most},
                        {"x", one->mean()},
                        {"p25", base::quantile(one->factors, 0.25)},
                        {"p75", base::quantile(one->factors, 0.75)},
                        {"label", fmt::format("{:.2f}", one->mean())},
                        {"workloads", one->factors.size()}});
    }
  }
  const double width = 260;
  Json low = channel("low", x, domain, width);
  const Json mean = channel("x", x, domain, width);
  Json quarter = channel("p25", x, domain, width);
  const Json y = {{"field", "series"},
                  {"type", "nominal"},
                  {"sort", order},
                  {"title", nullptr},
                  {"axis", {{"grid", false}, {"labelLimit", 150}}}};
  const Json colour = {
      {"field", "series"}, {"type", "nominal"}, {"scale", colour_scale(context.series)}, {"legend", nullptr}};
  const Json tooltip = {{{"field", "series"}, {"title", "schedule"}},
                        {{"field", "x"}, {"title", "geometric mean"}, {"format", ".3~f"}},
                        {{"field", "low"}, {"title", "least"}, {"format", ".3~f"}},
                        {{"field", "high"}, {"title", "most"}, {"format", ".3~f"}},
                        {{"field", "workloads"}}};
  return {{"title", shortened(machine, 50)},
          {"width", width},
          {"height", {{"step", 20}}},
          {"data", {{"values", std::move(values)}}},
          {"layer",
           {{{"data", {{"values", {{{"x", 1}}}}}},
             {"mark", {{"type", "rule"}, {"color", "#777777"}, {"strokeDash", {4, 3}}}},
             {"encoding", {{"x", mean}}}},
            {{"mark", {{"type", "rule"}, {"strokeWidth", 1.2}}},
             {"encoding", {{"x", low}, {"x2", {{"field", "high"}}}, {"y", y}, {"color", colour}}}},
            {{"mark", {{"type", "rule"}, {"strokeWidth", 6}, {"strokeOpacity", 0.45}}},
             {"encoding", {{"x", quarter}, {"x2", {{"field", "p75"}}}, {"y", y}, {"color", colour}}}},
            {{"mark", {{"type", "point"}, {"filled", true}, {"size", 48}}},
             {"encoding", {{"x", mean}, {"y", y}, {"color", colour}, {"tooltip", tooltip}}}},
            {{"mark", {{"type", "text"}, {"align", "left"}, {"dx", 6}, {"baseline", "middle"}, {"fontSize", 9.5}}},
             {"encoding", {{"x", {{"value", width}}}, {"y", y}, {"text", {{"field", "label"}}}}}}}}};
}

}  // namespace

Drawn speed_up(const Context& context) {
  const std::vector<Series> all = speed_up_series(context);
  if (all.empty()) return std::nullopt;
  std::vector<std::string> machines;
  std::vector<double> factors = {1};
  Table table{{{"machine"}, {"schedule"}, {"workloads"}, {"geometric mean"}, {"least"}, {"p25"}, {"p75"}, {"most"}},
              {}};
  for (const Series& one : all) {
    if (std::find(machines.begin(), machines.end(), one.machine) == machines.end()) machines.push_back(one.machine);
    const auto [least, most] = std::minmax_element(one.factors.begin(), one.factors.end());
    factors.insert(factors.end(), {*least, *most});
    table.rows.push_back({one.machine, one.schedule, fmt::format("{}", one.factors.size()), cell(one.mean()),
                          cell(*least), cell(base::quantile(one.factors, 0.25)),
                          cell(base::quantile(one.factors, 0.75)), cell(*most)});
  }
  const std::size_t left_out = machines.size() > kMostPanels ? machines.size() - kMostPanels : 0;
  if (left_out > 0) machines.resize(kMostPanels);
  const Axis x{"speed-up over " + context.request.baseline, Axis::Kind::logarithmic};
  const std::vector<double> domain = domain_of(x, factors);
  Json panels = Json::array();
  for (const std::string& machine : machines) {
    std::vector<const Series*> own;
    for (const Series& one : all) {
      if (one.machine == machine) own.push_back(&one);
    }
    panels.push_back(interval_panel(context, machine, own, x, domain));
  }
  const std::string note =
      "Point and number: geometric mean over the workloads; thick: middle half; thin: least to most." +
      (left_out > 0 ? fmt::format(" {} machines are left out.", left_out) : "") + context.series_note();
  return finished("speed_up", "Speed-up over " + context.request.baseline + " by schedule", note,
                  {{"concat", std::move(panels)}, {"columns", 2}}, table);
}

Drawn speed_up_by_context(const Context& context) {
  return speed_up_along(context, {"speed_up_by_context", "Speed-up by context length", kLinesAndPoints},
                        {"context (tokens)", Axis::Kind::powers_of_two},
                        [](const Shape& shape) -> std::optional<Place> {
                          if (!shape.uniform() || shape.max_context < 1) return std::nullopt;
                          return Place{fmt::format("batch {}, heads {} of {}{}", shape.batch, heads_words(shape),
                                                   shape.head_dim, query_words(shape)),
                                       static_cast<double>(shape.max_context)};
                        });
}

Drawn speed_up_by_heads(const Context& context) {
  return speed_up_along(
      context, {"speed_up_by_heads", "Speed-up by number of heads", kLinesAndPoints},
      {"query heads", Axis::Kind::powers_of_two}, [](const Shape& shape) -> std::optional<Place> {
        if (!shape.uniform() || shape.query_heads % shape.kv_heads != 0) return std::nullopt;
        const std::int32_t group = shape.query_heads / shape.kv_heads;
        return Place{
            fmt::format("batch {}, {} tokens, {}, d={}{}", shape.batch, tokens_words(shape.max_context),
                        group == 1 ? "MHA" : fmt::format("groups of {}", group), shape.head_dim, query_words(shape)),
            static_cast<double>(shape.query_heads)};
      });
}

Drawn speed_up_by_batch(const Context& context) {
  return speed_up_along(context, {"speed_up_by_batch", "Speed-up by batch size", kLinesAndPoints},
                        {"batch (requests)", Axis::Kind::powers_of_two},
                        [](const Shape& shape) -> std::optional<Place> {
                          if (!shape.uniform()) return std::nullopt;
                          return Place{fmt::format("{} tokens, heads {} of {}{}", tokens_words(shape.max_context),
                                                   heads_words(shape), shape.head_dim, query_words(shape)),
                                       static_cast<double>(shape.batch)};
                        });
}

Drawn ragged(const Context& context) {
  return speed_up_along(
      context, {"ragged", "Speed-up by raggedness", fmt::format("100 %: all contexts alike. {}", kLinesAndPoints)},
      {"average context / longest context", Axis::Kind::linear, false, true, {}},
      [](const Shape& shape) -> std::optional<Place> {
        if (shape.batch < 2 || shape.max_context < 1) return std::nullopt;
        return Place{fmt::format("batch {}, longest {}, heads {}{}", shape.batch, tokens_words(shape.max_context),
                                 heads_words(shape), query_words(shape)),
                     shape.mean_context / shape.max_context};
      });
}

}  // namespace splitwave::reports::vega
