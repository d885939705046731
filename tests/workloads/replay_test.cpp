// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <deque>
#include <limits>

#include "tests/workloads/refused.h"
#include "workloads/load.h"

namespace splitwave::workloads {
namespace {

std::vector<DecodeStep> all_steps(const std::vector<TraceRequest>& trace, const ReplayOptions& options) {
  return sample_decode_steps(trace, options, count_decode_steps(trace, options), 0);
}

TEST(Replay, ThreeRequestsByHand) {
  // Two slots, one second a step. The third request waits until the first is done.
  const std::vector<TraceRequest> trace = {{0, 10, 2}, {0.5, 20, 3}, {0.5, 30, 1}};
  const std::vector<DecodeStep> steps = all_steps(trace, {2, 1.0});
  const std::vector<DecodeStep> expected = {
      {0, {{1, 11}}}, {1, {{1, 12}, {1, 21}}}, {2, {{1, 22}, {1, 31}}}, {3, {{1, 23}}}};
  EXPECT_EQ(steps, expected);
}

TEST(Replay, IdleTimeIsPassedOver) {
  const std::vector<TraceRequest> trace = {{0, 5, 1}, {1e9, 6, 1}};
  EXPECT_EQ(count_decode_steps(trace, {4, 1.0}), 2);
  EXPECT_EQ(all_steps(trace, {4, 1.0}).back(), (DecodeStep{1'000'000'000, {{1, 7}}}));
}

TEST(Replay, RequestsWithoutOutputNeverDecode) {
  EXPECT_EQ(count_decode_steps({{0, 5, 0}, {1, 5, 0}}, {4, 1.0}), 0);
  EXPECT_TRUE(all_steps({{0, 5, 0}}, {4, 1.0}).empty());
  EXPECT_TRUE(all_steps({}, {4, 1.0}).empty());
}

// The same server, step by step and without shortcuts.
std::vector<DecodeStep> slow_replay(const std::vector<TraceRequest>& trace, const ReplayOptions& options) {
  std::deque<TraceRequest> waiting(trace.begin(), trace.end());
  std::vector<std::pair<TraceRequest, std::int32_t>> running;  // and the tokens it has made
  std::vector<DecodeStep> steps;
  for (std::int64_t now = 0; !waiting.empty() || !running.empty(); ++now) {
    while (!waiting.empty() && static_cast<std::int32_t>(running.size()) < options.max_running &&
           waiting.front().arrival_seconds <= static_cast<double>(now) * options.step_seconds) {
      if (waiting.front().output_tokens > 0) running.emplace_back(waiting.front(), 0);
      waiting.pop_front();
    }
    DecodeStep step{now, {}};
    for (auto& [request, made] : running) step.requests.push_back({1, request.prompt_tokens + ++made});
    std::erase_if(running, [](const auto& entry) { return entry.second == entry.first.output_tokens; });
    if (!step.requests.empty()) steps.push_back(step);
  }
  return steps;
}

RC_GTEST_PROP(Replay, AgreesWithAServerThatTakesEveryStep, ()) {
  std::vector<TraceRequest> trace;
  double arrival = 0;
  const int requests = *rc::gen::inRange(0, 30);
  for (int i = 0; i < requests; ++i) {
    arrival += *rc::gen::inRange(0, 40) * 0.25;
    trace.push_back({arrival, *rc::gen::inRange(0, 1000), *rc::gen::inRange(0, 20)});
  }
  const ReplayOptions options{*rc::gen::inRange(1, 6), 0.5};
  RC_ASSERT(all_steps(trace, options) == slow_replay(trace, options));
}

TEST(Replay, SamplesAreStepsOfTheReplayInOrder) {
  const std::vector<TraceRequest> trace = {{0, 10, 500}, {0.1, 20, 300}, {5, 30, 900}};
  const ReplayOptions options{2, 0.03};
  const std::vector<DecodeStep> all = all_steps(trace, options);
  const std::vector<DecodeStep> some = sample_decode_steps(trace, options, 20, 7);
  ASSERT_EQ(some.size(), 20U);
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_NE(std::find(all.begin(), all.end(), some[i]), all.end());
    if (i > 0) {
      EXPECT_LT(some[i - 1].step, some[i].step);
    }
  }
  EXPECT_EQ(sample_decode_steps(trace, options, 20, 7), some);
  EXPECT_NE(sample_decode_steps(trace, options, 20, 8), some);
}

TEST(Replay, HugeOutputsCostNoTime) {
  std::vector<TraceRequest> trace;
  trace.reserve(2000);
  for (int i = 0; i < 2000; ++i) trace.push_back({i * 1.0, 1 << 29, 1 << 20});
  EXPECT_GT(count_decode_steps(trace, {8, 0.001}), std::int64_t{200} << 20);
  EXPECT_EQ(sample_decode_steps(trace, {8, 0.001}, 3, 0).size(), 3U);
}

TEST(Replay, StepsBecomeWorkloads) {
  const Workload base = parse_spec("llama-3-8b:q1s1");
  const std::vector<Workload> made = workloads_of_steps(base, {{4, {{1, 9}, {1, 5}}}, {6, {{1, 2}}}});
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].name, "llama-3-8b:q1s1/step=4");
  EXPECT_EQ(made[0].requests, (std::vector<Request>{{1, 9}, {1, 5}}));
  EXPECT_EQ(made[1].geometry, base.geometry);
}

TEST(Replay, OptionsOutOfRangeAreRefused) {
  const auto refused = [](const ReplayOptions& options, const char* part) {
    tests::expect_refused([&] { count_decode_steps({{0, 1, 1}}, options); }, {part, "allowed"});
  };
  refused({0, 1.0}, "max_running is 0");
  refused({1025, 1.0}, "max_running is 1025");
  refused({1, 0.0}, "step_seconds is 0");
  refused({1, -1.0}, "step_seconds is -1");
  refused({1, std::numeric_limits<double>::quiet_NaN()}, "step_seconds is nan");
}

}  // namespace
}  // namespace splitwave::workloads
