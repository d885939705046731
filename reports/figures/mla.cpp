// SPDX-License-Identifier: Apache-2.0
// What transposing the products of absorbed MLA gains: FlashMLA-ETAP (arXiv 2506.01969) against FlashMLA.
#include <fmt/format.h>

#include <set>

#include "reports/figures/context.h"

namespace splitwave::reports::vega {
namespace {

constexpr std::string_view kPlain = "flashmla";

/// Measured records name the kernel as the schedule; predictions are of FlashMLA's plan on ETAP's profile (--kernel).
bool is_etap(const Context& context, const Point& point) {
  const std::string& schedule = context.name(point.schedule);
  return schedule == "flashmla-etap" ||
         (schedule == kPlain && context.name(point.machine).find("kernel=flashmla_etap") != std::string::npos);
}

using Key = std::tuple<std::uint32_t, std::uint32_t, std::string>;  // workload, executor, machine

Key key_of(const Context& context, const Point& point) {
  return {point.workload, point.executor, base_machine(context.name(point.machine))};
}

}  // namespace

Drawn mla_gain(const Context& context) {
  std::map<Key, const Point*> plain;
  std::set<std::int32_t> heads;
  for (const Point& point : context.data.points()) {
    const bool own = context.name(point.machine).find("kernel=") == std::string::npos;
    if (point.timed() && own && context.name(point.schedule) == kPlain) plain.emplace(key_of(context, point), &point);
  }
  std::vector<CurvePoint> points;
  for (const Point& point : context.data.points()) {
    const Shape* const shape = context.data.shape(point);
    if (!point.timed() || shape == nullptr || !shape->uniform() || !is_etap(context, point)) continue;
    const auto found = plain.find(key_of(context, point));
    if (found == plain.end()) continue;
    heads.insert(shape->query_heads);
    points.push_back({fmt::format("{}: batch {}", base_machine(context.name(point.machine)), shape->batch),
                      fmt::format("{} heads", shape->query_heads), point.predicted,
                      static_cast<double>(shape->max_context), found->second->seconds / point.seconds,
                      context.name(point.workload), context.index(point)});
  }
  Curves curves;
  for (const std::int32_t one : heads) curves.series.push_back(fmt::format("{} heads", one));
  curves.x = {"context (tokens)", Axis::Kind::powers_of_two};
  curves.y = {"speed-up of ETAP over FlashMLA", Axis::Kind::logarithmic};
  curves.rules = {1};
  return curve_figure(context,
                      {"mla_gain", "What transposing MLA's products gains",
                       "Above 1: FlashMLA-ETAP is faster. Lines: predicted; filled points: measured."},
                      std::move(curves), std::move(points), 2);
}

}  // namespace splitwave::reports::vega
