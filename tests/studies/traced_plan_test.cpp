// SPDX-License-Identifier: Apache-2.0
// Predicted and measured timelines side by side in one trace.
#include "studies/traced_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/studies/target.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

Prediction predicted(const std::string& schedule, const workloads::Workload& workload, std::int32_t tile_q = 0) {
  PredictOptions options;
  options.spans = true;
  options.tile_q = tile_q;
  return predict(workload, schedule, tests::own_kernels(), options);
}

/// A recording in which everything takes 640 ns more than predicted, on a clock of 32 ns that began long ago.
schedules::Recording recording_like(const Prediction& prediction) {
  constexpr std::int64_t kStep = 32;
  const auto time = [&](double seconds) {
    return 1'763'800'000'000'000'000 + static_cast<std::int64_t>(seconds * 1e9) / kStep * kStep;
  };
  schedules::Recording recording;
  std::map<std::int32_t, schedules::Stretch> ctas;
  for (const schedules::Span& span : prediction.timeline.spans) {
    const schedules::Stretch work{span.cta, span.sm, span.item, time(span.begin_seconds),
                                  time(span.end_seconds) + (20 + span.cta % 2) * kStep};
    recording.work.push_back(work);
    schedules::Stretch& cta = ctas.emplace(span.cta, work).first->second;
    cta.begin_nanoseconds = std::min(cta.begin_nanoseconds, work.begin_nanoseconds);
    cta.end_nanoseconds = std::max(cta.end_nanoseconds, work.end_nanoseconds);
  }
  for (const auto& [number, cta] : ctas) recording.ctas.push_back(cta);
  return recording;
}

struct Process {
  std::string title;
  std::map<std::string, std::size_t> events;  ///< by category
  double first_microseconds = 1e9;
};

std::map<int, Process> processes(const std::string& file) {
  std::map<int, Process> all;
  const nlohmann::json trace = nlohmann::json::parse(file);
  for (const auto& event : trace.at("traceEvents")) {
    Process& process = all[event.at("pid").get<int>()];
    if (event.at("name") == "process_name") process.title = event.at("args").at("name").get<std::string>();
    if (event.at("ph") != "X") continue;
    ++process.events[event.at("cat").get<std::string>()];
    process.first_microseconds = std::min(process.first_microseconds, event.at("ts").get<double>());
  }
  return all;
}

TEST(TracedPlan, PredictedAndMeasuredAreProcessesThatBeginTogether) {
  const workloads::Workload workload = workloads::parse_spec("llama-3-8b:3q1s4k_1q1s9k");
  for (const char* schedule : {"fa2", "lean+last_arriver", "auto"}) {
    const Prediction prediction = predicted(schedule, workload);
    const std::map<int, Process> all = processes(trace_file(
        std::vector<TracedPlan>{predicted_trace(prediction, workload, "h200-calibrated"),
                                measured_trace(recording_like(prediction), prediction, workload, "NVIDIA H200", 132)}));
    ASSERT_EQ(all.size(), 2U);
    const std::string name = prediction.by_auto ? "auto (" + prediction.plan.schedule + ")" : schedule;
    EXPECT_EQ(all.at(1).title, "simulator: " + name + " on h200-calibrated");
    EXPECT_EQ(all.at(2).title, "measured: " + name + " on NVIDIA H200, clock steps of 32 ns");
    EXPECT_EQ(all.at(1).events, all.at(2).events) << schedule;
    EXPECT_EQ(all.at(1).events.at("item"), prediction.plan.items.size());
    for (const auto& [number, process] : all) EXPECT_EQ(process.first_microseconds, 0) << process.title;
  }
}

/// Events of each track of the first process, by time.
std::map<int, std::vector<std::pair<double, double>>> tracks_of(const std::string& file) {
  const nlohmann::json trace = nlohmann::json::parse(file);
  std::map<int, std::vector<std::pair<double, double>>> tracks;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const double begin = event.at("ts").get<double>();
    tracks[event.at("tid").get<int>()].emplace_back(begin, begin + event.at("dur").get<double>());
  }
  for (auto& [track, events] : tracks) std::sort(events.begin(), events.end());
  return tracks;
}

TEST(TracedPlan, ClustersThatShareSmsHaveTracksOfTheirOwn) {
  workloads::Workload workload;
  Prediction prediction;
  const auto share_sms = [&] {
    return prediction.kernel.cluster > 1 && schedules::slots_per_sm(prediction.timeline) > prediction.grid.ctas_per_sm;
  };
  for (const char* batch : {"8q1s256", "16q1s128", "24q1s128", "12q1s256", "4q1s512", "6q1s512", "3q1s1k", "5q1s512"}) {
    workload = workloads::parse_spec(std::string("llama-3-8b:") + batch);
    prediction = predicted("auto", workload);
    if (share_sms()) break;
  }
  ASSERT_TRUE(share_sms()) << "auto takes no clusters that share SMs for any of these";
  const auto tracks = tracks_of(trace_file(std::vector<TracedPlan>{predicted_trace(prediction, workload, "h200")}));
  std::size_t count = 0;
  for (const auto& [track, events] : tracks) {
    count += events.size();
    for (std::size_t i = 0; i < events.size(); ++i) {
      EXPECT_GT(events[i].second, events[i].first) << "track " << track;
      if (i > 0) {
        EXPECT_GE(events[i].first, events[i - 1].second - 1e-6) << "track " << track;
      }
    }
  }
  EXPECT_EQ(count, prediction.plan.items.size());
}

TEST(TracedPlan, EachRowBlockOfATallTileIsASpanOfItsItem) {
  const workloads::Workload workload = workloads::parse_spec("h=64/1,d=128:1q4s1k");
  const Prediction prediction = predicted("lean", workload, 256);
  ASSERT_GT(prediction.plan.outputs.front().rows(), prediction.kernel.most_rows);
  std::map<std::int32_t, int> spans;
  for (const schedules::Span& span : prediction.timeline.spans) ++spans[span.item];
  spans.erase(-1);
  ASSERT_EQ(spans.size(), prediction.plan.items.size());
  for (const auto& [item, count] : spans) {
    const auto output = static_cast<std::size_t>(prediction.plan.items.at(static_cast<std::size_t>(item)).output);
    const std::int32_t rows = prediction.kernel.most_rows;
    EXPECT_EQ(count, (prediction.plan.outputs[output].rows() + rows - 1) / rows) << "item " << item;
  }
  EXPECT_FALSE(trace_file(std::vector<TracedPlan>{predicted_trace(prediction, workload, "h200")}).empty());
}

TEST(TracedPlan, TitlesNameTheWorkloadWhereThereAreSeveral) {
  const workloads::Workload first = workloads::parse_spec("llama-3-8b:1q1s4k");
  const workloads::Workload second = workloads::parse_spec("llama-3-8b:2q1s4k");
  std::vector<TracedPlan> plans;
  for (const workloads::Workload* workload : {&first, &second}) {
    plans.push_back(predicted_trace(predicted("fa2", *workload), *workload, "h200"));
  }
  const std::map<int, Process> all = processes(trace_file(plans));
  EXPECT_EQ(all.at(1).title, "simulator: fa2 on h200, llama-3-8b:1q1s4k");
  EXPECT_EQ(all.at(2).title, "simulator: fa2 on h200, llama-3-8b:2q1s4k");
  EXPECT_TRUE(processes(trace_file({})).empty());
}

}  // namespace
}  // namespace splitwave::studies
