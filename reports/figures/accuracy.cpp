// SPDX-License-Identifier: Apache-2.0
// How well predictions hold: time against time, the distribution of errors, and what choosing by prediction costs.
#include <fmt/format.h>

#include <algorithm>

#include "base/quantile.h"
#include "reports/figures/context.h"

namespace splitwave::reports::vega {
namespace {

/// The pairs of one schedule, or of all ("").
std::vector<PointPair> pairs_of(const Context& context, const std::string& schedule) {
  std::vector<PointPair> result;
  for (const PointPair& pair : context.pairs) {
    if (schedule.empty() || context.name(pair.measured->schedule) == schedule) result.push_back(pair);
  }
  return result;
}

std::string error_words(const std::vector<PointPair>& pairs) {
  std::vector<double> errors;
  for (const PointPair& pair : pairs) errors.push_back(std::abs(pair.error()));
  return fmt::format("median error {:.1f} %, p90 {:.1f} %", base::quantile(errors, 0.5) * 100,
                     base::quantile(errors, 0.9) * 100);
}

/// y = x, and the band of 10 % around it.
Json diagonal(const std::vector<double>& domain, const Json& x, const Json& y) {
  Json band = Json::array();
  for (const double at : domain) band.push_back({{"x", at}, {"low", at / 1.1}, {"y", at * 1.1}, {"same", at}});
  Json same = y;
  same["field"] = "same";
  return {{{"data", {{"values", band}}},
           {"mark", {{"type", "area"}, {"color", "#8a8a8a"}, {"fillOpacity", 0.4}, {"clip", true}}},
           {"encoding", {{"x", x}, {"y", y}, {"y2", {{"field", "low"}}}}}},
          {{"data", {{"values", band}}},
           {"mark", {{"type", "line"}, {"color", "#777777"}, {"strokeWidth", 1}, {"clip", true}}},
           {"encoding", {{"x", x}, {"y", same}}}}};
}

Json scatter(const Context& context, const std::string& schedule, const std::vector<PointPair>& pairs,
             const TimeUnit& unit, const std::vector<double>& domain, double pixels) {
  const Axis measured{fmt::format("measured time ({})", unit.name), Axis::Kind::logarithmic};
  const Axis predicted{fmt::format("predicted time ({})", unit.name), Axis::Kind::logarithmic};
  const Json x = channel("x", measured, domain, pixels);
  const Json y = channel("y", predicted, domain, pixels);
  Json values = Json::array();
  for (const std::size_t i : thinned(pairs.size(), kMostPoints / 5)) {
    const PointPair& pair = pairs[i];
    values.push_back({{"workload", context.name(pair.measured->workload)},
                      {"series", schedule},
                      {"machine", context.name(pair.measured->machine)},
                      {"x", pair.measured->seconds * unit.factor},
                      {"y", pair.predicted->seconds * unit.factor},
                      {"error", pair.error()},
                      {"record", context.index(*pair.measured)}});
  }
  Json layers = diagonal(domain, x, y);
  const Json tooltip = {{{"field", "workload"}},
                        {{"field", "series"}, {"title", "schedule"}},
                        {{"field", "machine"}},
                        {{"field", "x"}, {"title", measured.title}, {"format", ".4~g"}},
                        {{"field", "y"}, {"title", predicted.title}, {"format", ".4~g"}},
                        {{"field", "error"}, {"format", "+.1%"}}};
  const Json colour = {
      {"field", "series"}, {"type", "nominal"}, {"scale", colour_scale(context.series)}, {"legend", nullptr}};
  const Json shape = {
      {"field", "series"}, {"type", "nominal"}, {"scale", shape_scale(context.series)}, {"legend", nullptr}};
  layers.push_back({{"mark",
                     {{"type", "point"},
                      {"filled", true},
                      {"size", pairs.size() < 100 ? 28 : 13},
                      {"fillOpacity", 0.65},
                      {"clip", true}}},
                    {"encoding", {{"x", x}, {"y", y}, {"color", colour}, {"shape", shape}, {"tooltip", tooltip}}}});
  return {
      {"title",
       {{"text", shortened(schedule, 26)}, {"subtitle", {error_words(pairs), fmt::format("{} points", pairs.size())}}}},
      {"width", pixels},
      {"height", pixels},
      {"data", {{"values", std::move(values)}}},
      {"layer", std::move(layers)}};
}

/// A step curve of the share of `values` up to each value.
void add_distribution(std::vector<CurvePoint>& points, const std::string& panel, const std::string& series,
                      std::vector<double> values) {
  std::sort(values.begin(), values.end());
  for (const std::size_t i : thinned(values.size(), 150)) {
    points.push_back({panel, series, true, values[i], static_cast<double>(i + 1) / static_cast<double>(values.size())});
  }
  points.push_back({panel, series, true, values.back(), 1});
}

Curves shares(const std::string& what) {
  Curves curves;
  curves.x = {what, Axis::Kind::linear, true, true, {}};
  curves.y = {"share of points", Axis::Kind::linear, true, true, std::vector<double>{0, 1}};
  curves.steps = true;
  curves.markers = false;
  return curves;
}

/// Limits the axis to where nearly all curves have reached 98 %, so that one outlier does not squeeze the rest. Says
/// how far the farthest lies beyond it.
std::string limit_axis(Curves& curves, const std::vector<CurvePoint>& points) {
  std::vector<double> values;
  for (const CurvePoint& point : points) values.push_back(point.x);
  const double end = std::max(0.05, base::quantile(values, 0.97) * 1.05);
  const double most = *std::max_element(values.begin(), values.end());
  curves.x.range = std::vector<double>{0, end};
  return most > end ? fmt::format(" The farthest point, {:.0f} %, lies beyond the axis.", most * 100) : "";
}

}  // namespace

Drawn predicted_measured(const Context& context) {
  if (context.pairs.empty()) return std::nullopt;
  std::vector<double> seconds;
  Table table{
      {{"workload"}, {"schedule"}, {"machine"}, {"executor"}, {"measured seconds"}, {"predicted seconds"}, {"error"}},
      {}};
  constexpr std::size_t kMostRows = 100'000;
  for (const std::size_t i : thinned(context.pairs.size(), kMostRows)) {
    const PointPair& pair = context.pairs[i];
    seconds.insert(seconds.end(), {pair.measured->seconds, pair.predicted->seconds});
    table.rows.push_back({context.name(pair.measured->workload), context.name(pair.measured->schedule),
                          context.name(pair.measured->machine), context.name(pair.measured->executor),
                          cell(pair.measured->seconds), cell(pair.predicted->seconds), cell(pair.error())});
  }
  const TimeUnit unit = time_unit(seconds);
  for (double& value : seconds) value *= unit.factor;
  const std::vector<double> domain = domain_of({"", Axis::Kind::logarithmic}, seconds);
  Json panels = Json::array();
  for (const std::string& schedule : context.series) {
    const std::vector<PointPair> pairs = pairs_of(context, schedule);
    if (!pairs.empty()) panels.push_back(scatter(context, schedule, pairs, unit, domain, 190));
  }
  const std::string note =
      fmt::format("All schedules: {} of {} points. Line: predicted = measured; grey: within 10 %.{}",
                  error_words(context.pairs), context.pairs.size(), context.series_note());
  return finished("predicted_measured", "Predicted against measured time", note,
                  {{"concat", std::move(panels)}, {"columns", 3}}, table);
}

Drawn error_distribution(const Context& context) {
  if (context.pairs.size() < 5) return std::nullopt;
  std::vector<CurvePoint> points;
  Curves curves = shares("|predicted - measured| / measured");
  for (const std::string& schedule : context.series) {
    std::vector<double> errors;
    for (const PointPair& pair : pairs_of(context, schedule)) errors.push_back(std::abs(pair.error()));
    if (errors.empty()) continue;
    curves.series.push_back(schedule);
    add_distribution(points, "", schedule, std::move(errors));
  }
  const std::string beyond = limit_axis(curves, points);
  return finished("error_distribution", "How far predictions are off",
                  "Share of points whose error is at most that." + beyond + context.series_note(),
                  curve_panels(curves, points), curve_table(curves, points));
}

Drawn regret(const Context& context) {
  // Of each workload and machine: what each schedule takes over the fastest, and what the one predicted fastest takes.
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  std::map<Key, std::vector<const PointPair*>> groups;
  for (const PointPair& pair : context.pairs)
    groups[{pair.measured->workload, pair.measured->machine}].push_back(&pair);
  std::map<std::string, std::vector<double>> regrets;
  const std::string chosen = "predicted fastest";
  std::size_t choices = 0;
  for (const auto& [key, group] : groups) {
    if (group.size() < 2) continue;
    ++choices;
    double best = group.front()->measured->seconds;
    const PointPair* pick = group.front();
    for (const PointPair* pair : group) {
      best = std::min(best, pair->measured->seconds);
      if (pair->predicted->seconds < pick->predicted->seconds) pick = pair;
    }
    regrets[chosen].push_back(pick->measured->seconds / best - 1);
    for (const PointPair* pair : group) {
      if (context.shown(*pair->measured)) {
        regrets[context.name(pair->measured->schedule)].push_back(pair->measured->seconds / best - 1);
      }
    }
  }
  if (choices < 2) return std::nullopt;
  std::vector<CurvePoint> points;
  Curves curves = shares("slower than the fastest schedule by");
  for (const std::string& schedule : context.series) {
    if (regrets.contains(schedule)) curves.series.push_back(schedule);
  }
  curves.series.push_back(chosen);
  for (const std::string& series : curves.series) add_distribution(points, "", series, regrets[series]);
  const std::string beyond = limit_axis(curves, points);
  const std::string note =
      fmt::format("{} choices. Median and p90 of the schedule that was predicted fastest: {:.1f} % and {:.1f} %.{}{}",
                  choices, base::quantile(regrets[chosen], 0.5) * 100, base::quantile(regrets[chosen], 0.9) * 100,
                  beyond, context.series_note());
  return finished("regret", "What a choice costs: measured time over the fastest schedule's", note,
                  curve_panels(curves, points), curve_table(curves, points));
}

}  // namespace splitwave::reports::vega
