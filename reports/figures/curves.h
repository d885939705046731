// SPDX-License-Identifier: Apache-2.0
// Panels of curves: predicted as lines, measured as points, one colour per series, each named at its end. Inside the
// folder only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/figures/vega.h"

namespace splitwave::reports::vega {

struct CurvePoint {
  std::string panel;
  std::string series;
  bool predicted = false;
  double x = 0;
  double y = 0;
  std::string_view workload = {};  ///< for the hover text; may be empty; of the dataset
  std::int64_t record = -1;        ///< index into Dataset::points(), -1: none
};

struct Curves {
  Axis x;
  Axis y;
  std::vector<std::string> series;       ///< in the order of their colours
  std::vector<std::string> panels;       ///< in the order of their places; empty: the one panel that has no title
  std::vector<double> rules;             ///< thin horizontal lines, such as a speed-up of 1
  std::vector<Level> levels = {};        ///< what somebody states, of the one panel
  bool steps = false;                    ///< lines jump, as waves do
  bool lines = true;                     ///< predicted points are joined
  bool markers = true;                   ///< points are seen; else only their hover text
  std::vector<std::string> legend = {};  ///< series that a legend names; empty: each is named where it ends
  std::vector<std::string> x_names;      ///< what x = 0, 1, ... stand for; empty: x is a number
  std::string hover_x;                   ///< heading of x in the hover text; empty: the axis' title
  double height = 0;                     ///< of a panel, pixels; 0: by the number of panels
};

/// The body of a specification. Panels in which nothing is left out.
Json curve_panels(const Curves& curves, const std::vector<CurvePoint>& points);

/// The same numbers as a table.
Table curve_table(const Curves& curves, const std::vector<CurvePoint>& points);

}  // namespace splitwave::reports::vega
