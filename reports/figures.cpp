// SPDX-License-Identifier: Apache-2.0
#include "reports/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <set>

#include "base/parallel.h"
#include "reports/figures/context.h"

namespace splitwave::reports {
namespace {

struct Entry {
  const char* name;
  const char* needs;
  vega::Drawn (*draw)(const vega::Context& context);
};

constexpr Entry kFigures[] = {
    {"speed_up", "times of two schedules or more on the same workload", vega::speed_up},
    {"predicted_measured", "predicted and measured times of the same workload, schedule and machine",
     vega::predicted_measured},
    {"error_distribution", "predicted and measured times of five points or more", vega::error_distribution},
    {"regret", "predicted and measured times of two schedules or more on two workloads or more", vega::regret},
    {"speed_up_by_context", "the baseline and another schedule at three contexts or more, all else alike",
     vega::speed_up_by_context},
    {"speed_up_by_heads", "the baseline and another schedule at three numbers of heads or more, all else alike",
     vega::speed_up_by_heads},
    {"speed_up_by_batch", "the baseline and another schedule at three batch sizes or more, all else alike",
     vega::speed_up_by_batch},
    {"ragged", "batches of the same longest context and three different ratios of average and longest", vega::ragged},
    {"heat_map", "two schedules or more at most places of a grid of two numbers of heads and two contexts or more",
     vega::heat_map},
    {"bandwidth", "times with the bytes of their workloads", vega::bandwidth},
    {"roofline", "times of workloads of known shape on a machine of known peaks", vega::roofline},
    {"waves", "predictions of a schedule at six batch sizes, numbers of heads or of SMs or more, all else alike",
     vega::waves},
    {"splits", "fixed-split:N of three N or more on the same workload", vega::splits},
    {"sm_count", "the same workload and schedule on three numbers of SMs or more (--sms)", vega::sm_count},
    {"merge_share", "predictions of plans that split", vega::merge_share},
    {"energy", "predicted or measured energy of two schedules or more", vega::energy},
    {"sweep_curve", "a sweep along an axis of three numbers or more", vega::sweep_curve},
    {"sweep_heat_map", "a sweep along two axes", vega::sweep_heat_map},
    {"mla_gain", "times of flashmla and of flashmla-etap, or of flashmla's plan on its kernel, on the same workloads",
     vega::mla_gain},
    {"io", "records of run --algorithm", vega::io},
    {"time_share", "records of end-to-end", vega::time_share},
    {"end_to_end", "records of end-to-end of two schedules or more at two prompts or more", vega::end_to_end},
};

/// Figures that are made at once: each holds up to 200 MB of a million records.
constexpr int kMostThreads = 4;

}  // namespace

void set_command(Figure& figure, const std::string& command) {
  figure.command = command;
  const nlohmann::json meta = {{"command", figure.command}};
  figure.spec.insert(1, "\"usermeta\":" + meta.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + ",");
}

namespace vega {

Context::Context(const Dataset& dataset, const FigureRequest& figure_request)
    : data(dataset), request(figure_request), baseline(dataset, figure_request.baseline), pairs(dataset.pairs()) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const Point& point : data.points()) {
    if (point.timed()) ++counts[point.schedule];
  }
  std::vector<std::uint32_t> chosen = data.schedules();
  // Schedules that only differ in how often they split are the splits figure's, where there are others.
  const auto counted = [&](std::uint32_t schedule) { return splits_of(data.name(schedule)) > 0; };
  if (std::count_if(chosen.begin(), chosen.end(), counted) + 2 <= static_cast<std::ptrdiff_t>(chosen.size())) {
    std::erase_if(chosen,
                  [&](std::uint32_t schedule) { return counted(schedule) && data.name(schedule) != request.baseline; });
  }
  const auto rank = [&](std::uint32_t schedule) {
    const bool is_baseline = data.name(schedule) == request.baseline;
    return std::tuple(!is_baseline, -static_cast<std::int64_t>(counts[schedule]));
  };
  std::stable_sort(chosen.begin(), chosen.end(), [&](std::uint32_t a, std::uint32_t b) { return rank(a) < rank(b); });
  if (chosen.size() > kMostSeries) chosen.resize(kMostSeries);
  left_out = chosen.size() < data.schedules().size();
  for (const std::uint32_t schedule : data.schedules()) {
    if (std::find(chosen.begin(), chosen.end(), schedule) != chosen.end()) series.push_back(data.name(schedule));
  }
}

bool Context::shown(const Point& point) const {
  return point.timed() && (!left_out || std::find(series.begin(), series.end(), name(point.schedule)) != series.end());
}

std::string Context::series_note() const {
  return left_out ? fmt::format(" {} of {} schedules.", series.size(), data.schedules().size()) : "";
}

std::string base_machine(const std::string& machine) {
  return machine.substr(0, machine.find(" ("));
}

std::int32_t sms_of(const std::string& machine) {
  const std::size_t at = machine.find("sms=");
  std::int32_t sms = 0;
  if (at != std::string::npos) std::from_chars(machine.data() + at + 4, machine.data() + machine.size(), sms);
  return sms;
}

std::int32_t splits_of(const std::string& schedule) {
  constexpr std::string_view kFixed = "fixed-split:";
  std::int32_t splits = 0;
  if (!schedule.starts_with(kFixed)) return 0;
  const char* const end = schedule.data() + schedule.size();
  const auto result = std::from_chars(schedule.data() + kFixed.size(), end, splits);
  return result.ec == std::errc() && (result.ptr == end || *result.ptr == '+') ? splits : 0;
}

std::string tokens_words(std::int64_t tokens) {
  if (tokens >= 1 << 20 && tokens % (1 << 20) == 0) return fmt::format("{}M", tokens >> 20);
  return tokens >= 1024 && tokens % 1024 == 0 ? fmt::format("{}k", tokens / 1024) : fmt::format("{}", tokens);
}

std::string Panels::note() const {
  return left_out == 0
             ? ""
             : fmt::format(" {} of {} groups, those with the most points.", names.size(), names.size() + left_out);
}

Panels choose_panels(std::vector<CurvePoint>& points, std::size_t least_x) {
  struct Extent {
    std::set<double> x;
    bool measured = false;
    std::size_t count = 0;
  };
  std::map<std::string, Extent> extents;
  for (const CurvePoint& point : points) {
    Extent& extent = extents[point.panel];
    extent.x.insert(point.x);
    extent.measured = extent.measured || !point.predicted;
    ++extent.count;
  }
  Panels result;
  for (const auto& [name, extent] : extents) {
    if (extent.x.size() >= least_x) result.names.push_back(name);
  }
  // What was measured first: it says most.
  std::stable_sort(result.names.begin(), result.names.end(), [&](const std::string& a, const std::string& b) {
    const Extent& left = extents[a];
    const Extent& right = extents[b];
    return std::tuple(left.measured, left.x.size(), left.count) >
           std::tuple(right.measured, right.x.size(), right.count);
  });
  if (result.names.size() > kMostPanels) {
    result.left_out = result.names.size() - kMostPanels;
    result.names.resize(kMostPanels);
  }
  std::erase_if(points, [&](const CurvePoint& point) {
    return std::find(result.names.begin(), result.names.end(), point.panel) == result.names.end();
  });
  return result;
}

Drawn curve_figure(const Context& context, const Heading& heading, Curves curves, std::vector<CurvePoint> points,
                   std::size_t least_x, bool seconds) {
  const Panels panels = choose_panels(points, least_x);
  if (panels.names.empty()) return std::nullopt;
  std::vector<CurvePoint> drawn;
  for (const std::size_t i : thinned(points.size(), kMostPoints)) drawn.push_back(std::move(points[i]));
  if (seconds) curves.y.title = fmt::format("time ({})", scale_times(drawn).name);
  curves.panels = panels.names;
  std::string note = heading.note + panels.note();
  if (curves.series.empty()) {
    curves.series = context.series;
    note += context.series_note();
  }
  return finished(heading.name, heading.title, note, curve_panels(curves, drawn), curve_table(curves, drawn));
}

TimeUnit scale_times(std::vector<CurvePoint>& points) {
  std::vector<double> seconds;
  for (const CurvePoint& point : points) seconds.push_back(point.y);
  const TimeUnit unit = time_unit(seconds);
  for (CurvePoint& point : points) point.y *= unit.factor;
  return unit;
}

}  // namespace vega

FigureSet figures_of(const Dataset& data, const FigureRequest& request) {
  const vega::Context context(data, request);
  std::vector<const Entry*> entries;
  for (const Entry& entry : kFigures) {
    const auto& only = request.only;
    if (only.empty() || std::find(only.begin(), only.end(), entry.name) != only.end()) entries.push_back(&entry);
  }
  std::vector<vega::Drawn> drawn(entries.size());
  std::atomic<std::size_t> next = 0;
  base::parallel(std::min(base::default_threads(), kMostThreads), [&](int, int) {
    for (std::size_t i = next++; i < entries.size(); i = next++) drawn[i] = entries[i]->draw(context);
  });
  FigureSet result;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (drawn[i]) {
      set_command(*drawn[i], request.command.empty() ? "" : request.command + " --figure " + entries[i]->name);
      result.figures.push_back(std::move(*drawn[i]));
    } else {
      result.missing.push_back({entries[i]->name, entries[i]->needs});
    }
  }
  return result;
}

std::vector<std::string> figure_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kFigures) names.emplace_back(entry.name);
  return names;
}

Figure chart_figure(const Chart& chart, const std::string& caption) {
  vega::Curves curves;
  curves.x = {chart.x_label, chart.x_names.empty() ? vega::Axis::Kind::powers_of_two : vega::Axis::Kind::linear};
  curves.y = {chart.y_label, vega::Axis::Kind::logarithmic};
  curves.x_names = chart.x_names;
  if (!chart.x_names.empty()) curves.x.range = {-0.5, static_cast<double>(chart.x_names.size()) - 0.5};
  if (chart.share) {
    curves.x = {chart.x_label, vega::Axis::Kind::linear, true, true, std::vector<double>{0, 1}};
    curves.markers = false;
  }
  curves.levels = chart.levels;
  std::vector<vega::CurvePoint> points;
  for (const Chart::Series& series : chart.series) {
    curves.series.push_back(series.name);
    for (const Sample& sample : series.samples) {
      if (!std::isnan(sample.predicted)) points.push_back({"", series.name, true, sample.x, sample.predicted});
      if (!std::isnan(sample.measured)) points.push_back({"", series.name, false, sample.x, sample.measured});
    }
  }
  return vega::finished(chart.name, chart.title, caption, vega::curve_panels(curves, points),
                        vega::curve_table(curves, points));
}

}  // namespace splitwave::reports
