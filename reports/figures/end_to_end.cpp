// SPDX-License-Identifier: Apache-2.0
// Whole requests, prompt and answer: where their time goes, and what a schedule of attention gains of it
// (LeanAttention, Figures 2 and 11).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "reports/figures/context.h"

namespace splitwave::reports::vega {
namespace {

using Part = std::pair<const char*, double RecordStages::*>;
constexpr std::array<Part, 7> kParts = {{{"prefill", &RecordStages::prefill},
                                         {"attention", &RecordStages::attention},
                                         {"projections", &RecordStages::projections},
                                         {"MLP", &RecordStages::mlp},
                                         {"LM head", &RecordStages::lm_head},
                                         {"cache append", &RecordStages::cache_append},
                                         {"all-reduce", &RecordStages::all_reduce}}};

struct Request {
  const Point* point = nullptr;
  const RecordStages* stages = nullptr;
};

std::vector<Request> requests_of(const Context& context) {
  std::vector<Request> result;
  for (const Point& point : context.data.points()) {
    if (point.stages >= 0 && point.seconds > 0) {
      result.push_back({&point, &context.data.stages()[static_cast<std::size_t>(point.stages)]});
    }
  }
  return result;
}

/// "phi-3-medium on h200, batch 1", by which requests of several lengths belong together.
std::string group_of(const Context& context, const Request& request) {
  const std::string& workload = context.name(request.point->workload);
  return fmt::format("{} on {}, batch {}", workload.substr(0, workload.find(':')), context.name(request.point->machine),
                     request.stages->batch);
}

/// The schedule that others are set against: the one that was asked for, else the first of the names.
std::string baseline_of(const Context& context, const std::vector<Request>& requests) {
  std::set<std::string> names;
  for (const Request& request : requests) names.insert(context.name(request.point->schedule));
  if (names.contains(context.request.baseline)) return context.request.baseline;
  for (const std::string& name : names) {
    if (name.starts_with("fixed-split")) return name;
  }
  return *names.begin();
}

Json share_panel(const Context& context, const std::string& title, const std::vector<const Request*>& requests,
                 const std::vector<std::string>& names, Table& table) {
  Json values = Json::array();
  Json order = Json::array();
  for (const Request* request : requests) {
    const std::string prompt = tokens_words(request->stages->prompt_tokens);
    order.push_back(prompt);
    double below = 0;
    for (std::size_t i = 0; i < kParts.size(); ++i) {
      const double seconds = request->stages->*(kParts[i].second);
      const double share = seconds / request->stages->total();
      table.rows.push_back(
          {title, context.name(request->point->schedule), prompt, names[i], cell(seconds), cell(share)});
      if (seconds <= 0) continue;
      values.push_back({{"prompt", prompt},
                        {"part", names[i]},
                        {"share", share},
                        {"order", i},
                        {"at", below + share / 2},
                        {"label", share < 0.05 ? "" : fmt::format("{:.0f}", share * 100)},
                        {"milliseconds", seconds * 1e3},
                        {"record", context.index(*request->point)}});
      below += share;
    }
  }
  const Json x = {{"field", "prompt"},
                  {"type", "ordinal"},
                  {"sort", order},
                  {"title", "prompt (tokens)"},
                  {"axis", {{"labelAngle", 0}}}};
  const Json y = {{"field", "share"},
                  {"type", "quantitative"},
                  {"stack", "zero"},
                  {"title", "share of the time"},
                  {"scale", {{"domain", {0, 1}}}},
                  {"axis", {{"format", ".0%"}}}};
  const Json tooltip = {{{"field", "prompt"}},
                        {{"field", "part"}},
                        {{"field", "share"}, {"format", ".1%"}},
                        {{"field", "milliseconds"}, {"title", "ms"}, {"format", ".4~g"}}};
  return {{"title", shortened(title, 60)},
          {"width", {{"step", 34}}},
          {"height", 220},
          {"data", {{"values", std::move(values)}}},
          {"layer",
           {{{"mark", {{"type", "bar"}, {"fillOpacity", 0.75}, {"stroke", "#ffffff"}, {"strokeWidth", 0.6}}},
             {"encoding",
              {{"x", x},
               {"y", y},
               {"order", {{"field", "order"}}},
               {"color", {{"field", "part"}, {"type", "nominal"}, {"scale", colour_scale(names)}, {"title", nullptr}}},
               {"tooltip", tooltip}}}},
            {{"mark", {{"type", "text"}, {"fontSize", 9}, {"color", "#000000"}}},
             {"encoding",
              {{"x", x}, {"y", {{"field", "at"}, {"type", "quantitative"}}}, {"text", {{"field", "label"}}}}}}}}};
}

}  // namespace

Drawn time_share(const Context& context) {
  const std::vector<Request> all = requests_of(context);
  if (all.empty()) return std::nullopt;
  const std::string baseline = baseline_of(context, all);
  std::map<std::string, std::vector<const Request*>> groups;
  for (const Request& request : all) {
    if (context.name(request.point->schedule) == baseline) groups[group_of(context, request)].push_back(&request);
  }
  std::vector<std::string> names;
  for (const Part& part : kParts) names.emplace_back(part.first);
  Table table{{{"requests"}, {"schedule"}, {"prompt"}, {"part"}, {"seconds"}, {"share"}}, {}};
  Json panels = Json::array();
  for (auto& [title, requests] : groups) {
    if (panels.size() == kMostPanels) break;
    std::stable_sort(requests.begin(), requests.end(), [](const Request* a, const Request* b) {
      return a->stages->prompt_tokens < b->stages->prompt_tokens;
    });
    panels.push_back(share_panel(context, title, requests, names, table));
  }
  const std::string left_out =
      groups.size() > kMostPanels ? fmt::format(" {} of {} groups.", kMostPanels, groups.size()) : "";
  return finished(
      "time_share", "Where the time of a whole request goes",
      fmt::format("Attention by {}, predicted; all else by roofline. Numbers: percent.{}", baseline, left_out),
      {{"concat", std::move(panels)}, {"columns", 2}}, table);
}

Drawn end_to_end(const Context& context) {
  const std::vector<Request> all = requests_of(context);
  if (all.empty()) return std::nullopt;
  const std::string baseline = baseline_of(context, all);
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> base;  // by workload and machine
  for (const Request& request : all) {
    if (context.name(request.point->schedule) == baseline) {
      base.emplace(std::pair(request.point->workload, request.point->machine), request.stages->total());
    }
  }
  std::vector<CurvePoint> points;
  Curves curves;
  for (const Request& request : all) {
    const std::string& schedule = context.name(request.point->schedule);
    const auto found = base.find({request.point->workload, request.point->machine});
    if (schedule == baseline || found == base.end()) continue;
    if (std::find(curves.series.begin(), curves.series.end(), schedule) == curves.series.end()) {
      curves.series.push_back(schedule);
    }
    points.push_back({group_of(context, request), schedule, request.point->predicted,
                      static_cast<double>(request.stages->prompt_tokens), found->second / request.stages->total(),
                      context.name(request.point->workload), context.index(*request.point)});
  }
  std::sort(curves.series.begin(), curves.series.end());
  // A gain of one percent must not fill the panel.
  double least = 0.9;
  double most = 1.1;
  for (const CurvePoint& point : points) {
    least = std::min(least, point.y * 0.98);
    most = std::max(most, point.y * 1.02);
  }
  curves.x = {"prompt (tokens)", Axis::Kind::powers_of_two};
  curves.y = {"speed-up of the request over " + baseline, Axis::Kind::linear, false, false, std::vector{least, most}};
  curves.rules = {1};
  return curve_figure(context,
                      {"end_to_end", "What a schedule gains of a whole request",
                       "Prompt and answer; attention predicted, all else by roofline."},
                      std::move(curves), std::move(points), 2);
}

}  // namespace splitwave::reports::vega
