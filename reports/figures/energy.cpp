// SPDX-License-Identifier: Apache-2.0
// Energy of a call, and bytes that the papers' algorithms move.
#include <fmt/format.h>

#include <algorithm>

#include "reports/figures/context.h"

namespace splitwave::reports::vega {

Drawn energy(const Context& context) {
  std::vector<CurvePoint> points;
  for (const Point& point : context.data.points()) {
    const Point* const base = context.baseline.of(point);
    if (!context.shown(point) || base == nullptr || base == &point || !(point.joules > 0) || !(base->joules > 0)) {
      continue;
    }
    points.push_back({context.name(point.machine), context.name(point.schedule), point.predicted, point.bytes / 1e6,
                      point.joules / base->joules, context.name(point.workload), context.index(point)});
  }
  std::erase_if(points, [](const CurvePoint& point) { return !(point.x > 0); });
  const std::string& baseline = context.request.baseline;
  return points_by_bytes(context,
                         {"energy", "Energy of a call, relative to " + baseline, "Open: predicted; filled: measured."},
                         std::move(points), {"energy over " + baseline + "'s", Axis::Kind::logarithmic}, {1});
}

Drawn io(const Context& context) {
  if (context.data.io().empty()) return std::nullopt;
  const std::vector<std::pair<const char*, std::int64_t RecordIo::*>> parts = {
      {"Q", &RecordIo::q},
      {"K and V", &RecordIo::kv},
      {"scores", &RecordIo::scores},
      {"output", &RecordIo::output},
      {"statistics", &RecordIo::statistics},
      {"partial results", &RecordIo::partials}};
  std::vector<std::string> names;
  for (const auto& [name, member] : parts) names.emplace_back(name);
  std::map<std::uint32_t, Json> panels;
  Table table{{{"workload"}, {"algorithm"}, {"part"}, {"bytes"}}, {}};
  for (const IoPoint& point : context.data.io()) {
    Json& values = panels.try_emplace(point.workload, Json::array()).first->second;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::int64_t bytes = point.io.*(parts[i].second);
      table.rows.push_back(
          {context.name(point.workload), context.name(point.algorithm), names[i], fmt::format("{}", bytes)});
      if (bytes == 0) continue;
      values.push_back({{"algorithm", context.name(point.algorithm)},
                        {"part", names[i]},
                        {"order", i},
                        {"megabytes", static_cast<double>(bytes) / 1e6}});
    }
  }
  Json shown = Json::array();
  for (auto& [workload, values] : panels) {
    if (shown.size() == kMostPanels) break;
    shown.push_back(
        {{"title", shortened(context.name(workload), 60)},
         {"width", 380},
         {"height", {{"step", 20}}},
         {"data", {{"values", std::move(values)}}},
         {"mark", {{"type", "bar"}}},
         {"encoding",
          {{"y",
            {{"field", "algorithm"},
             {"type", "nominal"},
             {"title", nullptr},
             {"sort", {{"op", "sum"}, {"field", "megabytes"}}}}},
           {"x",
            {{"field", "megabytes"}, {"type", "quantitative"}, {"title", "bytes between slow and fast memory (MB)"}}},
           {"order", {{"field", "order"}}},
           {"color", {{"field", "part"}, {"type", "nominal"}, {"scale", colour_scale(names)}, {"title", nullptr}}},
           {"tooltip",
            {{{"field", "algorithm"}},
             {{"field", "part"}},
             {{"field", "megabytes"}, {"title", "MB"}, {"format", ".4~g"}}}}}}});
  }
  const std::string left_out =
      panels.size() > kMostPanels ? fmt::format(" {} of {} workloads.", kMostPanels, panels.size()) : "";
  return finished("io", "Bytes that the algorithms move", "By what they are." + left_out,
                  {{"concat", std::move(shown)}, {"columns", 1}}, table);
}

}  // namespace splitwave::reports::vega
