// SPDX-License-Identifier: Apache-2.0
#include "reports/figures/heat_grid.h"

#include <fmt/format.h>

namespace splitwave::reports::vega {
namespace {

/// The schedules that are fastest somewhere; a legend of others would be looked for in vain.
Json fastest(const Context& context, const HeatGrid& grid) {
  Json names = Json::array();
  for (const std::string& schedule : context.series) {
    const auto is_it = [&](const HeatCell& one) { return context.name(one.best->schedule) == schedule; };
    if (std::any_of(grid.cells.begin(), grid.cells.end(), is_it)) names.push_back(schedule);
  }
  return names;
}

Json colour_channel(const Context& context, const HeatGrid& grid, bool by_time) {
  if (by_time) {
    // A pale ramp of one hue: dark text stays readable on all of it, and grey print keeps its order.
    return {{"field", "seconds"},
            {"type", "quantitative"},
            {"title", "time (µs)"},
            {"scale", {{"type", "log"}, {"range", {"#f2f7fb", "#6aaed6"}}}}};
  }
  return {{"field", "series"},
          {"type", "nominal"},
          {"scale", colour_scale(context.series)},
          {"legend", {{"values", fastest(context, grid)}}},
          {"title", "fastest"}};
}

/// The body of a specification.
Json heat_panel(const Context& context, const HeatGrid& grid) {
  const bool by_time = context.data.schedules().size() == 1;
  Json values = Json::array();
  for (const HeatCell& one : grid.cells) {
    Json row = {{"row", one.y},
                {"column", one.x},
                {"series", context.name(one.best->schedule)},
                {"workload", context.name(one.best->workload)},
                {"record", context.index(*one.best)},
                {"seconds", one.best->seconds * 1e6},
                {"label", ""}};
    if (by_time) {
      row["label"] = fmt::format("{:.3g}", one.best->seconds * 1e6);
    } else if (one.gain > 0) {
      row["gain"] = one.gain;
      row["label"] = fmt::format("{:.{}f}x", one.gain, one.gain < 9.995 ? 2 : 1);
    }
    values.push_back(std::move(row));
  }
  const Json x = {{"field", "column"},
                  {"type", "ordinal"},
                  {"sort", grid.columns},
                  {"title", grid.x_title},
                  {"axis", {{"labelAngle", 0}}}};
  const Json y = {{"field", "row"}, {"type", "ordinal"}, {"sort", grid.rows}, {"title", grid.y_title}};
  const Json tooltip = {
      {{"field", "workload"}},
      {{"field", "series"}, {"title", "fastest"}},
      {{"field", "seconds"}, {"title", "time (µs)"}, {"format", ".4~g"}},
      {{"field", "gain"}, {"title", "speed-up over " + context.request.baseline}, {"format", ".3~f"}}};
  return {{"title", shortened(grid.title, 60)},
          {"width", {{"step", 40}}},
          {"height", {{"step", 24}}},
          {"data", {{"values", std::move(values)}}},
          {"encoding", {{"x", x}, {"y", y}}},
          {"layer",
           {{{"mark", {{"type", "rect"}, {"stroke", "#ffffff"}, {"strokeWidth", 1.5}, {"fillOpacity", 0.85}}},
             {"encoding", {{"color", colour_channel(context, grid, by_time)}, {"tooltip", tooltip}}}},
            {{"mark", {{"type", "text"}, {"fontSize", 9.5}, {"color", "#000000"}}},
             {"encoding", {{"text", {{"field", "label"}}}}}}}}};
}

}  // namespace

Figure heat_figure(const Context& context, const std::vector<HeatGrid>& grids, const std::string& name,
                   const std::string& title, const std::string& note) {
  const HeatGrid& first = grids.front();
  Table table{{{"panel"}, {first.y_title}, {first.x_column}, {"fastest"}, {"seconds"}, {"speed-up"}}, {}};
  Json parts = Json::array();
  for (const HeatGrid& grid : grids) {
    parts.push_back(heat_panel(context, grid));
    for (const HeatCell& one : grid.cells) {
      table.rows.push_back(
          {grid.title, one.y, one.x, context.name(one.best->schedule), cell(one.best->seconds), cell(one.gain)});
    }
  }
  return finished(name, title, note, {{"concat", std::move(parts)}, {"columns", 1}}, table);
}

}  // namespace splitwave::reports::vega
