// SPDX-License-Identifier: Apache-2.0
// Stated numbers against predicted ones: a row for each claim, on an axis of their ratio.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/figures/vega.h"

namespace splitwave::reports {
namespace {

using vega::Json;

/// Ratios beyond it are drawn at the edge.
constexpr double kMostRatio = 4;

/// Predicted over stated; counts may be 0, and are then told by the edge or by 1.
double ratio_of(const Claim& claim) {
  if (claim.stated == claim.predicted) return 1;
  if (claim.stated <= 0) return kMostRatio;
  return std::clamp(claim.predicted / claim.stated, 1 / kMostRatio, kMostRatio);
}

std::string numbers_of(const Claim& claim) {
  return fmt::format("{:.3g} for {}{:.3g}", claim.predicted, claim.at_least ? "at least " : "", claim.stated);
}

Json panel(const std::string& group, std::span<const Claim> claims) {
  Json values = Json::array();
  Json order = Json::array();
  for (const Claim& claim : claims) {
    if (claim.group != group) continue;
    order.push_back(claim.words);
    values.push_back({{"claim", claim.words},
                      {"ratio", ratio_of(claim)},
                      {"numbers", numbers_of(claim)},
                      {"verdict", claim.holds ? "holds" : "differs"},
                      {"kind", claim.at_least ? "at least" : "is"},
                      {"source", claim.source}});
  }
  const double width = 250;
  const Json scale = {{"type", "log"}, {"domain", {1 / kMostRatio, kMostRatio}}, {"nice", false}};
  const Json x = {{"field", "ratio"},
                  {"type", "quantitative"},
                  {"title", "predicted / stated"},
                  {"scale", scale},
                  {"axis", {{"values", {0.25, 0.5, 0.8, 1, 1.25, 2, 4}}, {"format", "~g"}}}};
  const Json y = {{"field", "claim"},
                  {"type", "nominal"},
                  {"sort", order},
                  {"title", nullptr},
                  {"axis", {{"labelLimit", 600}, {"grid", false}}}};
  const Json colour = {{"field", "verdict"},
                       {"type", "nominal"},
                       {"title", nullptr},
                       {"scale", {{"domain", {"holds", "differs"}}, {"range", {"#0072B2", "#D55E00"}}}}};
  const Json shape = {{"field", "kind"},
                      {"type", "nominal"},
                      {"title", "the paper says it"},
                      {"scale", {{"domain", {"is", "at least"}}, {"range", {"circle", "triangle-right"}}}}};
  const Json tooltip = {{{"field", "claim"}}, {{"field", "numbers"}}, {{"field", "verdict"}}, {{"field", "source"}}};
  const Json band = Json::array({Json{{"x", 1 / 1.1}, {"x2", 1.1}}});
  return {{"title", group},
          {"width", width},
          {"height", {{"step", 17}}},
          {"data", {{"values", std::move(values)}}},
          {"layer",
           {{{"data", {{"values", band}}},
             {"mark", {{"type", "rect"}, {"color", "#8a8a8a"}, {"fillOpacity", 0.25}}},
             {"encoding",
              {{"x", {{"field", "x"}, {"type", "quantitative"}, {"scale", scale}}}, {"x2", {{"field", "x2"}}}}}},
            {{"mark", {{"type", "rule"}, {"strokeWidth", 1.5}}},
             {"encoding", {{"x", x}, {"x2", {{"datum", 1}}}, {"y", y}, {"color", colour}}}},
            {{"mark", {{"type", "point"}, {"filled", true}, {"size", 60}}},
             {"encoding", {{"x", x}, {"y", y}, {"color", colour}, {"shape", shape}, {"tooltip", tooltip}}}},
            {{"mark", {{"type", "text"}, {"align", "left"}, {"baseline", "middle"}, {"fontSize", 9.5}, {"dx", 6}}},
             {"encoding", {{"x", {{"value", width}}}, {"y", y}, {"text", {{"field", "numbers"}}}}}}}}};
}

}  // namespace

Figure claim_figure(const std::string& name, const std::string& title, const std::string& note,
                    std::span<const Claim> claims) {
  std::vector<std::string> groups;
  Table table{{{"group"}, {"claim"}, {"source"}, {"stated"}, {"relation"}, {"predicted"}, {"verdict"}}, {}};
  for (const Claim& claim : claims) {
    if (std::find(groups.begin(), groups.end(), claim.group) == groups.end()) groups.push_back(claim.group);
    table.rows.push_back({claim.group, claim.words, claim.source, vega::cell(claim.stated),
                          claim.at_least ? "at least" : "is", vega::cell(claim.predicted),
                          claim.holds ? "holds" : "differs"});
  }
  Json parts = Json::array();
  for (const std::string& group : groups) parts.push_back(panel(group, claims));
  return vega::finished(name, title, note, {{"concat", std::move(parts)}, {"columns", 1}}, table);
}

}  // namespace splitwave::reports
