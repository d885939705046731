// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cli/explain.h"
#include "cli/gantt.h"
#include "cli/trace.h"
#include "simulator/machine.h"
#include "tests/reports/golden.h"
#include "tests/sweep/toy.h"
#include "workloads/error.h"
#include "workloads/load.h"

namespace splitwave::cli {
namespace {

using tests::toy_plan;
using tests::toy_timeline;
using tests::toy_workload;

struct Toy {
  explicit Toy(const std::string& schedule) : plan(toy_plan(schedule)), timeline(toy_timeline(plan)) {}
  TracedRun traced() const { return {plan.schedule + " on 5 SMs <&\">", &workload, &plan, &timeline}; }
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
  const std::vector<GanttRun> runs = {{fa2.traced(), 5, 1}, {split.traced(), 5, 1}, {lean.traced(), 5, 1}};
  tests::expect_golden("toy.svg", gantt_svg(runs));
}

TEST(Gantt, DrawsABarPerItemAndAHatchPerMerge) {
  const Toy lean("lean");
  const std::string svg = gantt_svg(std::vector<GanttRun>{{lean.traced(), 5, 1}});
  EXPECT_EQ(occurrences(svg, "<title>"), lean.plan.items.size());
  EXPECT_EQ(occurrences(svg, "url(#merge)"), lean.plan.merges.size() + 1) << "one more in the legend";
  EXPECT_EQ(occurrences(svg, ">SM "), 5U);
  EXPECT_EQ(svg.find("<&"), std::string::npos) << "titles are escaped";
}

TEST(Gantt, SaysWhatItLeavesOut) {
  const Toy fa2("fa2");
  const std::string svg = gantt_svg(std::vector<GanttRun>{{fa2.traced(), 5000, 2}});
  EXPECT_NE(svg.find("the first 600 of 10000 SM slots"), std::string::npos);
}

TEST(Gantt, RefusesMoreSpansThanAPictureHolds) {
  Toy fa2("fa2");
  fa2.timeline.spans.resize(kMostGanttSpans + 1, fa2.timeline.spans.front());
  EXPECT_THROW(gantt_svg(std::vector<GanttRun>{{fa2.traced(), 5, 1}}), workloads::InputError);
}

TEST(Trace, OfTheToyIsAsApproved) {
  const Toy lean("lean");
  tests::expect_golden("toy.trace.json", chrome_trace(std::vector<TracedRun>{lean.traced()}));
}

/// Every item of a real simulation is one span of the trace, and the track of a CTA never overlaps itself.
TEST(Trace, HasASpanPerItemAndNoOverlapOnATrack) {
  const workloads::Workload workload = workloads::parse_spec("llama-3-8b:3q1s4k_1q1s9k");
  Target target;
  target.machine = simulator::load_machine("h200");
  target.name = target.machine.name;
  for (const char* schedule : {"fa2", "fixed-split:4", "fa3", "lean", "flashinfer"}) {
    const Explanation e = explain(schedule, workload, target);
    const auto trace =
        nlohmann::json::parse(chrome_trace(std::vector<TracedRun>{{schedule, &workload, &e.plan, &e.timeline}}));
    std::multiset<int> items;
    std::map<int, std::vector<std::pair<double, double>>> tracks;
    for (const auto& event : trace.at("traceEvents")) {
      if (event.at("ph") != "X") continue;
      const double begin = event.at("ts").get<double>();
      const double end = begin + event.at("dur").get<double>();
      EXPECT_GE(end, begin);
      EXPECT_LE(end, e.timeline.seconds * 1e6 * (1 + 1e-9)) << schedule;
      tracks[event.at("tid").get<int>()].emplace_back(begin, end);
      if (event.at("cat") == "item") items.insert(event.at("args").at("item").get<int>());
    }
    std::multiset<int> expected;
    for (int item = 0; item < static_cast<int>(e.plan.items.size()); ++item) expected.insert(item);
    EXPECT_EQ(items, expected) << schedule;
    for (auto& [track, spans] : tracks) {
      std::sort(spans.begin(), spans.end());
      for (std::size_t i = 1; i < spans.size(); ++i) {
        EXPECT_GE(spans[i].first, spans[i - 1].second - 1e-6) << schedule << " track " << track;
      }
    }
  }
}

}  // namespace
}  // namespace splitwave::cli
