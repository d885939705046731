// SPDX-License-Identifier: Apache-2.0
// Heads by context: which schedule is fastest, and by how much.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/figures/heat_grid.h"

namespace splitwave::reports::vega {
namespace {

struct Cell {
  const Point* best = nullptr;
  double gain = kAbsent;  ///< over the baseline
  std::size_t schedules = 0;
};

using Cells = std::map<std::pair<std::int32_t, std::int32_t>, Cell>;  ///< by (KV heads, context)

HeatGrid grid_of(const std::string& title, const Cells& cells) {
  HeatGrid grid;
  grid.title = title;
  grid.x_title = "context (tokens)";
  grid.x_column = "context";
  grid.y_title = "KV heads";
  std::set<std::int32_t> heads;
  std::set<std::int32_t> contexts;
  for (const auto& [place, one] : cells) {
    heads.insert(place.first);
    contexts.insert(place.second);
    grid.cells.push_back({tokens_words(place.second), fmt::format("{}", place.first), one.best, one.gain});
  }
  for (const std::int32_t one : contexts) grid.columns.push_back(tokens_words(one));
  for (const std::int32_t one : heads) grid.rows.insert(grid.rows.begin(), fmt::format("{}", one));
  return grid;
}

}  // namespace

Drawn heat_map(const Context& context) {
  std::map<std::string, Cells> panels;
  std::map<std::string, std::set<std::string>> schedules;
  for (const Point& point : context.data.points()) {
    const Shape* const shape = context.data.shape(point);
    if (!context.shown(point) || shape == nullptr || !shape->uniform() || shape->max_context < 1) continue;
    const std::string title =
        fmt::format("{}{}: batch {}, groups of {}, d={}", context.name(point.machine),
                    point.predicted ? "" : ", measured by " + context.name(point.executor), shape->batch,
                    static_cast<double>(shape->query_heads) / shape->kv_heads, shape->head_dim);
    Cell& one = panels[title][{shape->kv_heads, shape->max_context}];
    schedules[title].insert(context.name(point.schedule));
    ++one.schedules;
    if (one.best == nullptr || point.seconds < one.best->seconds) {
      one.best = &point;
      one.gain = context.baseline.speed_up(point);
    }
  }
  std::vector<std::string> titles;
  for (const auto& [title, cells] : panels) {
    std::set<std::int32_t> heads;
    std::set<std::int32_t> contexts;
    for (const auto& [place, one] : cells) {
      heads.insert(place.first);
      contexts.insert(place.second);
    }
    // A map that is mostly empty shows nothing.
    const bool full = cells.size() * 2 > heads.size() * contexts.size();
    if (full && heads.size() >= 2 && contexts.size() >= 2 && schedules[title].size() >= 2) titles.push_back(title);
  }
  if (titles.empty()) return std::nullopt;
  std::vector<HeatGrid> grids;
  for (const std::string& title : largest_panels(panels, titles)) grids.push_back(grid_of(title, panels[title]));
  return heat_figure(context, grids, "heat_map", "Fastest schedule by heads and context",
                     "Number: its speed-up over " + context.request.baseline + "." + context.series_note());
}

}  // namespace splitwave::reports::vega
