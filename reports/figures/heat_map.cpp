// SPDX-License-Identifier: Apache-2.0
// Heads by context: which schedule is fastest, and by how much.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/figures/context.h"

namespace splitwave::reports::vega {
namespace {

struct Cell {
  const Point* best = nullptr;
  double gain = kAbsent;  ///< over the baseline
  std::size_t schedules = 0;
};

using Cells = std::map<std::pair<std::int32_t, std::int32_t>, Cell>;  ///< by (KV heads, context)

std::string tokens(std::int32_t count) {
  if (count >= 1 << 20 && count % (1 << 20) == 0) return fmt::format("{}M", count >> 20);
  return count >= 1024 && count % 1024 == 0 ? fmt::format("{}k", count / 1024) : fmt::format("{}", count);
}

Json panel(const Context& context, const std::string& title, const Cells& cells, Table& table) {
  Json values = Json::array();
  std::set<std::int32_t> heads;
  std::set<std::int32_t> contexts;
  for (const auto& [place, one] : cells) {
    heads.insert(place.first);
    contexts.insert(place.second);
    const std::string& schedule = context.name(one.best->schedule);
    Json row = {{"heads", fmt::format("{}", place.first)},
                {"context", tokens(place.second)},
                {"series", schedule},
                {"workload", context.name(one.best->workload)},
                {"record", context.index(*one.best)},
                {"seconds", one.best->seconds * 1e6},
                {"label", ""}};
    if (one.gain > 0) {
      row["gain"] = one.gain;
      row["label"] = fmt::format("{:.{}f}x", one.gain, one.gain < 9.995 ? 2 : 1);
    }
    values.push_back(std::move(row));
    table.rows.push_back({title, fmt::format("{}", place.first), fmt::format("{}", place.second), schedule,
                          cell(one.best->seconds), cell(one.gain)});
  }
  Json x_order = Json::array();
  Json y_order = Json::array();
  for (const std::int32_t one : contexts) x_order.push_back(tokens(one));
  for (const std::int32_t one : heads) y_order.insert(y_order.begin(), fmt::format("{}", one));
  const Json x = {{"field", "context"},
                  {"type", "ordinal"},
                  {"sort", x_order},
                  {"title", "context (tokens)"},
                  {"axis", {{"labelAngle", 0}}}};
  const Json y = {{"field", "heads"}, {"type", "ordinal"}, {"sort", y_order}, {"title", "KV heads"}};
  const Json tooltip = {
      {{"field", "workload"}},
      {{"field", "series"}, {"title", "fastest"}},
      {{"field", "seconds"}, {"title", "time (µs)"}, {"format", ".4~g"}},
      {{"field", "gain"}, {"title", "speed-up over " + context.request.baseline}, {"format", ".3~f"}}};
  return {
      {"title", shortened(title, 60)},
      {"width", {{"step", 40}}},
      {"height", {{"step", 24}}},
      {"data", {{"values", std::move(values)}}},
      {"encoding", {{"x", x}, {"y", y}}},
      {"layer",
       {{{"mark", {{"type", "rect"}, {"stroke", "#ffffff"}, {"strokeWidth", 1.5}, {"opacity", 0.85}}},
         {"encoding",
          {{"color",
            {{"field", "series"}, {"type", "nominal"}, {"scale", colour_scale(context.series)}, {"title", "fastest"}}},
           {"tooltip", tooltip}}}},
        {{"mark", {{"type", "text"}, {"fontSize", 9.5}, {"color", "#000000"}}},
         {"encoding", {{"text", {{"field", "label"}}}}}}}}};
}

}  // namespace

Drawn heat_map(const Context& context) {
  std::map<std::string, Cells> panels;
  std::map<std::string, std::set<std::string>> schedules;
  for (const Point& point : context.data.points()) {
    const Shape* const shape = context.data.shape(point);
    if (!context.shown(point) || shape == nullptr || !shape->uniform() || shape->max_context < 1) continue;
    const std::string title =
        fmt::format("{}{}: batch {}, {} queries a KV head of {}", context.name(point.machine),
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
  std::stable_sort(titles.begin(), titles.end(),
                   [&](const std::string& a, const std::string& b) { return panels[a].size() > panels[b].size(); });
  if (titles.size() > 4) titles.resize(4);
  Table table{{{"panel"}, {"KV heads"}, {"context"}, {"fastest"}, {"seconds"}, {"speed-up"}}, {}};
  Json parts = Json::array();
  for (const std::string& title : titles) parts.push_back(panel(context, title, panels[title], table));
  return finished("heat_map", "Fastest schedule by heads and context",
                  "Number: its speed-up over " + context.request.baseline + "." + context.series_note(),
                  {{"concat", std::move(parts)}, {"columns", 1}}, table);
}

}  // namespace splitwave::reports::vega
