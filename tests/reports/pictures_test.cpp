// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "reports/gantt.h"
#include "reports/trace.h"
#include "simulator/machine.h"
#include "studies/explain.h"
#include "tests/reports/golden.h"
#include "tests/reports/toy.h"
#include "workloads/load.h"

namespace splitwave::reports {
namespace {

using tests::toy_plan;
using tests::toy_timeline;
using tests::toy_workload;

struct Toy {
  explicit Toy(const std::string& schedule) : plan(toy_plan(schedule)), timeline(toy_timeline(plan)) {}
  TracedRun traced() const { return {plan.schedule + " on 5 SMs <&\">", &workload, &plan, &timeline, 5, 1}; }
  workloads::Workload workload = toy_workload();
  schedules::Plan plan;
  schedules::Timeline timeline;
};

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Gantt, OfTheToyIsAsApproved) {
  const Toy fa2("fa2");
  const Toy split("fixed-split:2");
  const Toy lean("lean");
  const std::vector<TracedRun> runs = {fa2.traced(), split.traced(), lean.traced()};
  tests::expect_golden("toy.svg", gantt_svg(runs));
}

TEST(Gantt, DrawsABarPerItemAndAHatchPerMerge) {
  const Toy lean("lean");
  const std::string svg = gantt_svg(std::vector<TracedRun>{lean.traced()});
  EXPECT_EQ(occurrences(svg, "<title>"), lean.plan.items.size());
  EXPECT_EQ(occurrences(svg, "url(#merge)"), lean.plan.merges.size() + 1) << "one more in the legend";
  EXPECT_EQ(occurrences(svg, ">SM "), 5U);
  EXPECT_EQ(svg.find("<&"), std::string::npos) << "titles are escaped";
}

TEST(Gantt, SaysWhatItLeavesOut) {
  const Toy fa2("fa2");
  TracedRun large = fa2.traced();
  large.sms = 5000;
  large.slots_per_sm = 2;
  const std::string svg = gantt_svg(std::vector<TracedRun>{large});
  EXPECT_NE(svg.find("the first 600 of 10000 SM slots"), std::string::npos);
}

TEST(Gantt, RefusesMoreSpansThanAPictureHolds) {
  Toy fa2("fa2");
  fa2.timeline.spans.resize(kMostGanttSpans + 1, fa2.timeline.spans.front());
  EXPECT_THROW(gantt_svg(std::vector<TracedRun>{fa2.traced()}), base::InputError);
}

TEST(Trace, OfTheToyIsAsApproved) {
  const Toy lean("lean");
  tests::expect_golden("toy.trace.json", chrome_trace(std::vector<TracedRun>{lean.traced()}));
}

using Tracks = std::map<int, std::vector<std::pair<double, double>>>;

void expect_no_overlap(Tracks& tracks, const std::string& what) {
  for (auto& [track, spans] : tracks) {
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i) {
      EXPECT_GE(spans[i].first, spans[i - 1].second - 1e-6) << what << " track " << track;
    }
  }
}

/// Every item and every merge of a real simulation is one span of the trace, and no track overlaps itself.
TEST(Trace, HasASpanPerItemAndPerMerge) {
  const workloads::Workload workload = workloads::parse_spec("llama-3-8b:3q1s4k_1q1s9k");
  studies::Target target;
  target.machine = simulator::load_machine("h200");
  target.name = target.machine.name;
  for (const char* schedule : {"fa2", "fixed-split:4", "fa3", "lean", "flashinfer"}) {
    const studies::Explanation e = studies::explain(schedule, workload, target);
    const auto trace = nlohmann::json::parse(chrome_trace(
        std::vector<TracedRun>{{schedule, &workload, &e.plan, &e.timeline, e.grid.sms, e.grid.ctas_per_sm}}));
    std::vector<int> items;
    std::size_t merges = 0;
    Tracks tracks;
    for (const auto& event : trace.at("traceEvents")) {
      if (event.at("ph") != "X") continue;
      const double begin = event.at("ts").get<double>();
      const double end = begin + event.at("dur").get<double>();
      EXPECT_GE(end, begin) << schedule;
      EXPECT_LE(end, e.timeline.seconds * 1e6 * (1 + 1e-9)) << schedule;
      tracks[event.at("tid").get<int>()].emplace_back(begin, end);
      if (event.at("cat") == "item") {
        items.push_back(event.at("args").at("item").get<int>());
      } else {
        ++merges;
      }
    }
    std::sort(items.begin(), items.end());
    std::vector<int> every_item(e.plan.items.size());
    std::iota(every_item.begin(), every_item.end(), 0);
    EXPECT_EQ(items, every_item) << schedule;
    EXPECT_EQ(merges, e.plan.merges.size()) << schedule;
    expect_no_overlap(tracks, schedule);
  }
}

}  // namespace
}  // namespace splitwave::reports
