// SPDX-License-Identifier: Apache-2.0
// What the figures of records are made from, and what they share. Inside the folder only.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "reports/dataset.h"
#include "reports/figures.h"
#include "reports/figures/curves.h"
#include "reports/figures/vega.h"

namespace splitwave::reports::vega {

/// Most schedules that one figure tells apart, most panels, and most points.
inline constexpr std::size_t kMostSeries = 8;
inline constexpr std::size_t kMostPanels = 6;
inline constexpr std::size_t kMostPoints = 2000;

struct Context {
  Context(const Dataset& dataset, const FigureRequest& figure_request);

  const Dataset& data;
  const FigureRequest& request;
  BaselineTimes baseline;
  std::vector<PointPair> pairs;
  /// Names of the schedules that figures show: those of most points, in the dataset's order. The baseline is among
  /// them.
  std::vector<std::string> series;
  bool left_out = false;  ///< there are more schedules

  const std::string& name(std::uint32_t index) const { return data.name(index); }
  bool shown(const Point& point) const;
  std::int64_t index(const Point& point) const { return &point - data.points().data(); }
  /// " (8 of 14 schedules)", or nothing.
  std::string series_note() const;
};

/// A figure, or nothing if the records do not allow it.
using Drawn = std::optional<Figure>;

/// The name of a machine without what is in brackets behind it: "h200" of "h200 (sms=66)".
std::string base_machine(const std::string& machine);
/// The value of "sms=" in the brackets, or 0.
std::int32_t sms_of(const std::string& machine);
/// N of "fixed-split:N", or 0.
std::int32_t splits_of(const std::string& schedule);

/// Panels by the number of different x in them, the greatest first; at most kMostPanels of those with `least_x` or
/// more. The points of other panels are removed. `left_out`: how many panels that would have qualified.
struct Panels {
  std::vector<std::string> names;
  std::size_t left_out = 0;
  std::string note() const;
};
Panels choose_panels(std::vector<CurvePoint>& points, std::size_t least_x);

/// "8k" of 8192.
std::string tokens_words(std::int64_t tokens);

/// Turns y, which are seconds, into the unit that suits them.
TimeUnit scale_times(std::vector<CurvePoint>& points);

/// What stands above a figure. `note`: the first words of it; what is left out is said behind them.
struct Heading {
  std::string name;
  std::string title;
  std::string note;
};

/// A figure of the panels in which points have `least_x` different x or more, or nothing if there are none. Curves
/// without series are of the context's. `seconds`: y is a time, drawn in the unit that suits.
Drawn curve_figure(const Context& context, const Heading& heading, Curves curves, std::vector<CurvePoint> points,
                   std::size_t least_x, bool seconds = false);

/// A figure of such points, whose x are megabytes, a panel each machine.
Drawn points_by_bytes(const Context& context, const Heading& heading, std::vector<CurvePoint> points, Axis y,
                      std::vector<double> rules = {});

Drawn predicted_measured(const Context& context);
Drawn error_distribution(const Context& context);
Drawn regret(const Context& context);
Drawn speed_up(const Context& context);
Drawn speed_up_by_context(const Context& context);
Drawn speed_up_by_heads(const Context& context);
Drawn speed_up_by_batch(const Context& context);
Drawn ragged(const Context& context);
Drawn heat_map(const Context& context);
Drawn bandwidth(const Context& context);
Drawn roofline(const Context& context);
Drawn waves(const Context& context);
Drawn splits(const Context& context);
Drawn sm_count(const Context& context);
Drawn merge_share(const Context& context);
Drawn energy(const Context& context);
Drawn io(const Context& context);
Drawn sweep_curve(const Context& context);
Drawn sweep_heat_map(const Context& context);
Drawn mla_gain(const Context& context);
Drawn time_share(const Context& context);
Drawn end_to_end(const Context& context);

}  // namespace splitwave::reports::vega
