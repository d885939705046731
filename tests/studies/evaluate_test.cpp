// SPDX-License-Identifier: Apache-2.0
// What a sweep writes does not depend on how it is cut, on its threads or on what came before.
#include "studies/sweep_evaluate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/build_info.h"
#include "base/error.h"
#include "reports/record.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "studies/records.h"
#include "studies/sweep_space.h"
#include "tests/studies/target.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

using tests::target;
using Strings = std::vector<std::string>;

SweepSpace space_of(const std::string& spec, const Strings& axes, const Strings& schedules) {
  return make_space({target("h200"), target("a100")}, {workloads::parse_spec(spec)}, axes, schedules);
}

std::string all_lines(const SweepSpace& space, int threads) {
  return SweepEvaluator(space, threads, "commit", "version").lines(0, points(space));
}

Strings split_lines(const std::string& text) {
  Strings lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The record of a line: what is left without the axis values.
reports::Record record_of_line(const std::string& line) {
  auto json = nlohmann::ordered_json::parse(line);
  json.erase("axes");
  return reports::parse_records(json.dump(), "line").front();
}

const SweepSpace& mixed_space() {
  static const SweepSpace space =
      space_of("llama-3-8b:2q1s2k", {"context=512,2k,5k", "sms=20,108", "batch=1,3", "kv_heads=8,5"},
               {"fa2", "fixed-split:fa2", "lean"});
  return space;
}

TEST(SweepLines, AreThePredictionsOfSimulate) {
  const SweepSpace space = space_of("llama-3-8b:2q1s2k", {"context=512,3k"}, {"fa2", "fixed-split:4", "fa3", "auto"});
  const Strings lines = split_lines(all_lines(space, 2));
  ASSERT_EQ(lines.size(), 16U);
  std::size_t at = 0;
  for (const char* gpu : {"h200", "a100"}) {
    for (const int context : {512, 3072}) {
      for (const std::string& schedule : space.schedules) {
        workloads::Workload workload = space.workloads.front();
        for (auto& request : workload.requests) request.context_len = context;
        reports::Record expected = predicted_record(workload, schedule, target(gpu), false);
        EXPECT_EQ(expected.failure.has_value(), std::string(gpu) == "a100" && schedule == "fa3") << "FA3 needs Hopper";
        expected.workload = workload.name + " (context=" + std::to_string(context) + ")";
        expected.commit = "commit";
        expected.version = "version";
        EXPECT_EQ(reports::to_json(record_of_line(lines[at])), reports::to_json(expected)) << schedule;
        EXPECT_EQ(nlohmann::json::parse(lines[at]).at("axes").at("context"), context);
        ++at;
      }
    }
  }
}

TEST(SweepLines, TheDataSheetsBandwidthIsTheMachineItself) {
  const SweepSpace space =
      make_space({target("h200")}, {workloads::parse_spec("llama-3-8b:8q1s32k")}, {"bandwidth=4800,2400"}, {"lean"});
  const Strings lines = split_lines(all_lines(space, 1));
  ASSERT_EQ(lines.size(), 2U);
  const double own = predict(workloads::parse_spec("llama-3-8b:8q1s32k"), "lean", target("h200")).timeline.seconds;
  EXPECT_EQ(*record_of_line(lines[0]).seconds, own);
  EXPECT_GT(*record_of_line(lines[1]).seconds, 1.5 * own);
}

TEST(SweepLines, DoNotDependOnThreads) {
  EXPECT_EQ(all_lines(mixed_space(), 1), all_lines(mixed_space(), 3));
}

RC_GTEST_PROP(SweepLinesProperty, DoNotDependOnTheirCut, ()) {
  const std::int64_t count = points(mixed_space());
  const std::int64_t begin = *rc::gen::inRange<std::int64_t>(0, count);
  const std::int64_t end = *rc::gen::inRange<std::int64_t>(begin, count + 1);
  static const Strings expected = split_lines(all_lines(mixed_space(), 2));
  static SweepEvaluator evaluator(mixed_space(), 2, "commit", "version");
  const Strings lines = split_lines(evaluator.lines(begin, end));
  RC_ASSERT(lines == Strings(expected.begin() + begin, expected.begin() + end));
}

TEST(SweepLines, KeepInfeasiblePointsWithTheirReason) {
  std::size_t infeasible = 0;
  for (const std::string& line : split_lines(all_lines(mixed_space(), 2))) {
    const reports::Record record = record_of_line(line);
    const bool divides = nlohmann::json::parse(line).at("axes").at("kv_heads") == 8;
    EXPECT_EQ(record.seconds.has_value(), divides) << line;
    EXPECT_EQ(record.failure.has_value(), !divides) << line;
    if (record.failure) {
      EXPECT_NE(record.failure->find("kv_heads"), std::string::npos) << line;
      ++infeasible;
    }
  }
  EXPECT_EQ(infeasible, static_cast<std::size_t>(points(mixed_space())) / 2);
}

TEST(SweepLines, VaryKernelsAndScheduleArguments) {
  const SweepSpace space = make_space(
      {target("h200")}, {workloads::parse_spec("llama-3-8b:1q1s8k")},
      {"schedule_argument=1:3", "kernel.prologue_seconds=0,1e-5", "kernel.shared_bytes=1k,1M"}, {"fixed-split"});
  const Strings lines = split_lines(all_lines(space, 1));
  ASSERT_EQ(lines.size(), 12U);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const reports::Record record = record_of_line(lines[i]);
    EXPECT_EQ(record.schedule, "fixed-split:" + std::to_string(1 + i / 4));
    EXPECT_EQ(record.seconds.has_value(), i % 2 == 0) << "a megabyte of shared memory fits on no SM: " << lines[i];
  }
  EXPECT_GT(*record_of_line(lines[2]).seconds, *record_of_line(lines[0]).seconds + 5e-6);
}

TEST(SweepLines, AKernelsConfigIsTextLikeAnyOther) {
  std::string text = simulator::kernel_text(std::string(simulator::kOwnKernel));
  for (std::size_t at = 0; (at = text.find("\"config\":\"", at)) != std::string::npos; at += 12)
    text.insert(at + 10, "\\\"");
  Target quoted = target("h200");
  quoted.kernel = simulator::parse_kernel(text, "quoted");
  const SweepSpace space = make_space({quoted}, {workloads::parse_spec("llama-3-8b:1q1s8k")}, {"batch=1"}, {"lean"});
  EXPECT_TRUE(record_of_line(split_lines(all_lines(space, 1)).front()).kernel.value_or("").starts_with("\"r"));
}

TEST(SweepSpace, RefusesWhatCannotBeMeant) {
  const std::string spec = "llama-3-8b:1q1s1k";
  const auto refused = [&](const Strings& axes, const Strings& schedules, const std::string& said) {
    try {
      space_of(spec, axes, schedules);
      ADD_FAILURE() << "accepted: " << said;
    } catch (const base::InputError& error) {
      EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
    }
  };
  refused({"context=1", "context=2"}, {"fa2"}, "two axes");
  refused({"dtype=f17"}, {"fa2"}, "f16");
  refused({"model=nobody-1b"}, {"fa2"}, "nobody-1b");
  refused({"contxt=1"}, {"fa2"}, "did you mean context");
  refused({"context=1"}, {"fa5"}, "fa5");
  refused({"context=1:900000", "sms=1:60000"}, {"fa2"}, "at most 1000000000");
  refused({"kernel.threads=32"}, {"auto"}, "auto");
  refused({"schedule_argument=1,2"}, {"lean"}, "schedule_argument");
  refused({"schedule_argument=1,2"}, {"fixed-split:4"}, "schedule_argument");
}

}  // namespace
}  // namespace splitwave::studies
