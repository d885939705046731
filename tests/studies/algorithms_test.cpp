// SPDX-License-Identifier: Apache-2.0
#include "studies/algorithms.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

using cpu_reference::algorithms::Algorithm;
using cpu_reference::algorithms::Call;
using cpu_reference::algorithms::HeadResult;

/// FlashAttention-2 that forgets the last token.
HeadResult forgetful(const cpu_reference::algorithms::Head& head, std::span<const std::int64_t> values) {
  cpu_reference::algorithms::Head short_head = head;
  --short_head.k.rows;
  --short_head.v.rows;
  HeadResult result = cpu_reference::algorithms::parse("flash-attention-2").algorithm->attend(short_head, values);
  result.traffic = cpu_reference::algorithms::parse("flash-attention-2").io(head.shape());
  return result;
}

struct Study {
  std::vector<reports::Record> records;
  CheckCount checks;
};

Study study(const std::string& spec, const std::vector<Call>& calls) {
  Study result;
  const Watcher watcher{[](const std::string&) {}, [](double) {},
                        [&](reports::Record record) { result.records.push_back(std::move(record)); }};
  measure_algorithms(workloads::load(spec).at(0), calls, 1, {watcher, result.checks});
  return result;
}

TEST(Algorithms, AWrongOneIsFoundOut) {
  Algorithm wrong = *cpu_reference::algorithms::parse("flash-attention-2").algorithm;
  wrong.name = "forgetful";
  wrong.attend = forgetful;
  const Study result = study("h=4/2,d=32:1q1s5000", {{&wrong, {128, 128}}, chosen_algorithms({"one-pass"}).front()});
  EXPECT_EQ(result.checks.checked, 2);
  ASSERT_EQ(result.checks.wrong.size(), 1U);
  EXPECT_NE(result.checks.wrong.front().find("forgetful:128x128"), std::string::npos) << result.checks.wrong.front();
}

TEST(Algorithms, OneThatMovesSomethingElseThanItsModelIsABug) {
  Algorithm wrong = *cpu_reference::algorithms::parse("flash-attention-2").algorithm;
  wrong.io = cpu_reference::algorithms::parse("standard").algorithm->io;
  EXPECT_THROW(study("h=4/2,d=32:1q1s50", {{&wrong, {128, 128}}}), std::logic_error);
}

TEST(Algorithms, AllStandsForEachOnce) {
  const std::vector<Call> calls = chosen_algorithms({"etap:1x2", "all"});
  ASSERT_EQ(calls.size(), cpu_reference::algorithms::all().size() + 1);
  EXPECT_EQ(calls[0].name(), "etap:1x2");
  EXPECT_EQ(calls[1].name(), "standard");
  EXPECT_THROW(chosen_algorithms({"al"}), base::InputError);
}

TEST(Algorithms, SharpScoresAtALongContextStayWithinTheTolerance) {
  const Study result = study("h=2/1,d=128,scale=4:1q1s16k", chosen_algorithms({"all"}));
  EXPECT_TRUE(result.checks.wrong.empty()) << result.checks.sentence();
}

}  // namespace
}  // namespace splitwave::studies
