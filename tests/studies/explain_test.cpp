// SPDX-License-Identifier: Apache-2.0
#include "studies/explain.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <regex>
#include <string>
#include <vector>

#include "base/error.h"
#include "schedules/schedules.h"
#include "simulator/machine.h"
#include "studies/predict.h"
#include "tests/studies/target.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

using tests::target;

workloads::Workload workload(const std::string& spec) {
  return workloads::parse_spec(spec);
}

TEST(Explain, BreakdownAddsUpToTheTotal) {
  for (const char* spec : {"llama-3-8b:1q1s512", "llama-3-8b:8q1s32k", "llama-3-8b:5q1s1k_1q1s60k"}) {
    for (const std::string& schedule : schedules::default_names()) {
      const Explanation e = explain(schedule, workload(spec), target("h200"));
      EXPECT_NEAR(e.timeline.breakdown.total() / e.timeline.seconds, 1, 1e-9) << schedule << " " << spec;
      double sum = 0;
      for (const Part& part : parts(e.timeline.breakdown)) {
        EXPECT_GE(part.seconds, 0) << schedule << " " << part.name;
        sum += part.seconds;
      }
      EXPECT_DOUBLE_EQ(sum, e.timeline.breakdown.total());
      EXPECT_NEAR(e.limit.share * sum, std::ranges::max(parts(e.timeline.breakdown), {}, &Part::seconds).seconds, 1e-15)
          << "the limit is the largest part";
    }
  }
}

TEST(Explain, SaysWhatSimulateSays) {
  const Explanation e = explain("fa3", workload("llama-3-8b:8q1s32k"), target("h100-sxm"));
  const Prediction made = predict(workload("llama-3-8b:8q1s32k"), "fa3", target("h100-sxm"));
  EXPECT_EQ(e.timeline.seconds, made.timeline.seconds);
  EXPECT_EQ(e.plan, made.plan);
  EXPECT_FALSE(e.plan.reason.empty());
}

/// The lines of the table of times, in nanoseconds, as a reader adds them up.
TEST(Explain, PrintedTimesAndSharesAddUp) {
  for (const char* schedule : {"fa2", "fixed-split:7", "lean"}) {
    const std::string text = to_text(explain(schedule, workload("llama-3-8b:3q1s7k"), target("h200")));
    const std::regex line(R"(  (launch|ramp|stream|compute|merge|wait|idle|total) +(\d+)\.(\d{3}) +(\d+)\.(\d))");
    std::int64_t nanoseconds = 0;
    std::int64_t permille = 0;
    int rows = 0;
    for (std::sregex_iterator match(text.begin(), text.end(), line), end; match != end; ++match) {
      const std::int64_t nano = std::stoll((*match)[2].str() + (*match)[3].str());
      const std::int64_t mille = std::stoll((*match)[4].str() + (*match)[5].str());
      if ((*match)[1] == "total") {
        EXPECT_EQ(nano, nanoseconds) << text;
        EXPECT_EQ(mille, permille) << text;
        EXPECT_EQ(mille, 1000) << text;
      }
      nanoseconds += nano;
      permille += mille;
      ++rows;
    }
    EXPECT_EQ(rows, 8) << text;
  }
}

RC_GTEST_PROP(ExplainProperty, RoundedNumbersKeepTheirSum, ()) {
  const auto whole = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000000)));
  std::vector<double> numbers;
  for (const int number : whole) numbers.push_back(number / 997.0);
  const std::vector<std::int64_t> rounded = rounded_to_sum(numbers, 1);
  const double sum = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  RC_ASSERT(std::accumulate(rounded.begin(), rounded.end(), std::int64_t{0}) == std::llround(sum));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    RC_ASSERT(std::abs(static_cast<double>(rounded[i]) - numbers[i]) <= 1);
  }
}

TEST(Explain, AnIdleMachineIsLimitedByItsWaves) {
  // One CTA of 132 works: nearly all SM time is idle.
  const Explanation e = explain("fa2", workload("h=1/1,d=128:1q1s64k"), target("h200"));
  EXPECT_EQ(e.limit.part, "idle");
  EXPECT_GT(e.limit.share, 0.9);
  EXPECT_NEAR(e.idle_sm_seconds, e.timeline.breakdown.idle * 132, 1e-15);
  ASSERT_FALSE(e.alternatives.empty());
  EXPECT_LT(e.alternatives.front().seconds * 5, e.timeline.seconds) << "splitting helps";
}

TEST(Explain, AlternativesAreSortedAndLeaveOutTheScheduleItself) {
  const Explanation e = explain("lean", workload("llama-3-8b:2q1s9k"), target("a100"));
  EXPECT_TRUE(std::ranges::is_sorted(e.alternatives, {}, &Choice::seconds));
  EXPECT_EQ(std::ranges::count(e.alternatives, "lean", &Choice::schedule), 0);
  EXPECT_GT(e.alternatives.size(), 16U);
}

TEST(Explain, AutoIsTheFastestDefaultSchedule) {
  const workloads::Workload ragged = workload("llama-3-8b:7q1s2k_1q1s50k");
  const Explanation e = explain("auto", ragged, target("h200"));
  for (const std::string& name : schedules::default_names()) {
    EXPECT_LE(e.timeline.seconds, predict(ragged, name, target("h200")).timeline.seconds) << name;
  }
  EXPECT_NE(e.plan.schedule, "auto") << "it is explained under its own name";
}

TEST(Explain, JsonHoldsTheSameNumbers) {
  const Explanation e = explain("fa3", workload("llama-3-8b:8q1s32k"), target("h200", 100));
  const auto json = nlohmann::json::parse(to_json(e));
  EXPECT_EQ(json.at("seconds").get<double>(), e.timeline.seconds);
  EXPECT_EQ(json.at("sms"), 100);
  EXPECT_EQ(json.at("breakdown").at("stream").get<double>(), e.timeline.breakdown.stream);
  EXPECT_EQ(json.at("breakdown").size(), 7U);
  EXPECT_EQ(json.at("limit").at("part"), std::string(e.limit.part));
  EXPECT_EQ(json.at("alternatives").size(), e.alternatives.size());
  EXPECT_EQ(json.at("reason"), e.plan.reason);
}

TEST(Explain, RefusesWhatPredictRefuses) {
  EXPECT_THROW(explain("fa4", workload("llama-3-8b:1q1s1k"), target("h200")), base::InputError);
}

TEST(Explain, AnEmptyContextIsExplainedToo) {
  const Explanation e = explain("fa2", workload("llama-3-8b:1q1s0"), target("h200"));
  EXPECT_FALSE(to_text(e).empty());
  EXPECT_TRUE(std::isfinite(e.bandwidth_share));
}

}  // namespace
}  // namespace splitwave::studies
