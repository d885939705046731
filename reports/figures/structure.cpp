// SPDX-License-Identifier: Apache-2.0
// What cutting does: waves, split counts, numbers of SMs, the share of merging.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "reports/figures/context.h"

namespace splitwave::reports::vega {
namespace {

std::string shape_words(const Shape& shape, bool batch, bool heads) {
  std::string words;
  if (batch) words += fmt::format("batch {}, ", shape.batch);
  words += fmt::format("{} tokens", shape.max_context);
  if (heads) words += fmt::format(", heads {}/{}", shape.query_heads, shape.kv_heads);
  return words + fmt::format(" of {}", shape.head_dim);
}

/// CTAs over what the waves that they take could hold.
double efficiency(double waves) {
  return waves / std::ceil(waves - 1e-9);
}

/// Time above, quantization efficiency below, along one axis.
Drawn sawtooth(const Context& context, const std::string& x_title,
               const std::function<std::optional<std::pair<std::string, double>>(const Point&, const Shape&)>& place) {
  std::vector<CurvePoint> time;
  for (const Point& point : context.data.points()) {
    const Shape* const shape = context.data.shape(point);
    if (!context.shown(point) || shape == nullptr || !point.predicted || !(point.waves > 0)) continue;
    if (const auto at = place(point, *shape)) {
      time.push_back({at->first, context.name(point.schedule), true, at->second, point.seconds,
                      context.name(point.workload), context.index(point)});
    }
  }
  const Panels panels = choose_panels(time, 6);
  if (panels.names.empty()) return std::nullopt;
  const std::string& panel = panels.names.front();
  std::erase_if(time, [&](const CurvePoint& point) { return point.panel != panel; });
  std::vector<CurvePoint> share = time;
  const TimeUnit unit = scale_times(time);
  for (std::size_t i = 0; i < time.size(); ++i) {
    share[i].y = efficiency(context.data.points()[static_cast<std::size_t>(share[i].record)].waves);
    time[i].panel = share[i].panel = "";
  }
  Curves above;
  above.series = context.series;
  above.x = {x_title};
  above.y = {fmt::format("time ({})", unit.name), Axis::Kind::linear, true};
  above.height = 190;
  Curves below = above;
  below.y = {"quantization efficiency", Axis::Kind::linear, true, true, std::vector<double>{0, 1.05}};
  below.height = 130;
  Table table = curve_table(above, time);
  table.columns.push_back({below.y.title});
  for (std::size_t i = 0; i < time.size(); ++i) table.rows[i].push_back(cell(share[i].y));
  return finished("waves", "Waves: time and quantization efficiency, " + panel,
                  "Efficiency: CTAs over what their whole waves could hold." + context.series_note(),
                  {{"vconcat", {curve_panels(above, time), curve_panels(below, share)}}}, table);
}

}  // namespace

Drawn waves(const Context& context) {
  const auto machine = [&](const Point& point) { return context.name(point.machine); };
  Drawn figure = sawtooth(context, "SMs", [&](const Point& point, const Shape&) {
    const std::int32_t sms = sms_of(machine(point));
    return sms == 0 ? std::nullopt
                    : std::optional(std::pair(base_machine(machine(point)) + ", " + context.name(point.workload),
                                              static_cast<double>(sms)));
  });
  if (figure) return figure;
  figure = sawtooth(context, "batch (requests)", [&](const Point& point, const Shape& shape) {
    return !shape.uniform() ? std::nullopt
                            : std::optional(std::pair(machine(point) + ": " + shape_words(shape, false, true),
                                                      static_cast<double>(shape.batch)));
  });
  if (figure) return figure;
  return sawtooth(context, "query heads", [&](const Point& point, const Shape& shape) {
    const bool mha = shape.query_heads == shape.kv_heads;
    return !shape.uniform() || !mha ? std::nullopt
                                    : std::optional(std::pair(machine(point) + ": " + shape_words(shape, true, false),
                                                              static_cast<double>(shape.query_heads)));
  });
}

Drawn splits(const Context& context) {
  std::vector<CurvePoint> points;
  for (const Point& point : context.data.points()) {
    const std::int32_t count = splits_of(context.name(point.schedule));
    if (!point.timed() || count == 0) continue;
    const std::string& schedule = context.name(point.schedule);
    const std::size_t plus = schedule.find('+');
    points.push_back({context.name(point.machine) + ": " + context.name(point.workload),
                      plus == std::string::npos ? "fixed-split" : "fixed-split" + schedule.substr(plus),
                      point.predicted, static_cast<double>(count), point.seconds, context.name(point.workload),
                      context.index(point)});
  }
  Curves curves;
  curves.x = {"splits", Axis::Kind::powers_of_two};
  curves.y = {"", Axis::Kind::linear, true};
  for (const CurvePoint& point : points) {
    if (std::find(curves.series.begin(), curves.series.end(), point.series) == curves.series.end()) {
      curves.series.push_back(point.series);
    }
  }
  return curve_figure(
      context,
      {"splits", "Time by number of splits",
       "Too few splits leave SMs idle, too many are merged at length. Lines: predicted; filled points: measured."},
      std::move(curves), std::move(points), 3, true);
}

Drawn sm_count(const Context& context) {
  std::vector<CurvePoint> points;
  for (const Point& point : context.data.points()) {
    const std::string& machine = context.name(point.machine);
    std::int32_t sms = sms_of(machine);
    const auto peaks = context.request.peaks.find(machine);
    if (sms == 0 && peaks != context.request.peaks.end()) sms = peaks->second.sms;
    if (!context.shown(point) || sms == 0) continue;
    points.push_back({base_machine(machine) + ": " + context.name(point.workload), context.name(point.schedule),
                      point.predicted, static_cast<double>(sms), point.seconds, context.name(point.workload),
                      context.index(point)});
  }
  Curves curves;
  curves.x = {"SMs", Axis::Kind::linear, true};
  curves.y = {"", Axis::Kind::logarithmic};
  return curve_figure(context, {"sm_count", "Time by number of SMs", "Lines: predicted; filled points: measured."},
                      std::move(curves), std::move(points), 3, true);
}

Drawn merge_share(const Context& context) {
  std::vector<CurvePoint> points;
  for (const Point& point : context.data.points()) {
    if (!context.shown(point) || !(point.merge_seconds > 0) || !(point.bytes > 0)) continue;
    points.push_back({context.name(point.machine), context.name(point.schedule), false, point.bytes / 1e6,
                      point.merge_seconds / point.seconds, context.name(point.workload), context.index(point)});
  }
  const Axis y = {"share of the time that merges take", Axis::Kind::linear, true, true, {}};
  return points_by_bytes(context,
                         {"merge_share", "Share of merging in the predicted time",
                          "Plans that split; what their merges take on the critical path."},
                         std::move(points), y);
}

}  // namespace splitwave::reports::vega
