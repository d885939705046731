// SPDX-License-Identifier: Apache-2.0
#include "explorer/answers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "studies/records.h"
#include "studies/target.h"
#include "workloads/load.h"

namespace splitwave::explorer {
namespace {

using Json = nlohmann::json;

TEST(Answers, AreTheRecordsOfTheCommandLine) {
  const Answer answer = predict(
      R"({"workload":"llama-3-8b:2q1s4k_1q1s900","gpu":"h200","sms":20,"schedules":["fa2","lean","auto"],"spans":true})");
  const Json json = Json::parse(answer.json);
  const workloads::Workload workload = workloads::parse_spec("llama-3-8b:2q1s4k_1q1s900");
  studies::Overrides overrides;
  overrides.sms = 20;
  const studies::Target target = studies::target("h200", overrides);
  ASSERT_EQ(json["panels"].size(), 3U);
  std::size_t spans = 0;
  for (const Json& panel : json["panels"]) {
    const reports::Record expected =
        studies::predicted_record(workload, panel["schedule"].get<std::string>(), target, true);
    EXPECT_DOUBLE_EQ(panel["record"]["seconds"].get<double>(), *expected.seconds);
    EXPECT_FALSE(panel["reason"].get<std::string>().empty());
    EXPECT_FALSE(panel["source"].get<std::string>().empty());
    spans += panel["spans"].get<std::size_t>();
  }
  EXPECT_EQ(answer.spans.size(), spans * kSpanNumbers);
  EXPECT_EQ(json["machine"], "h200 (sms=20)");
}

TEST(Answers, SpansLieInTheirPanel) {
  const Answer answer =
      predict(R"({"workload":"llama-3-8b:3q1s8k","gpu":"h100-sxm","schedules":["fixed-split:4","lean"],"spans":true})");
  const Json json = Json::parse(answer.json);
  bool merges = false;
  for (std::size_t at = 0; at < answer.spans.size(); at += kSpanNumbers) {
    const double* span = answer.spans.data() + at;
    const Json& panel = json["panels"][static_cast<std::size_t>(span[9])];
    EXPECT_GE(span[0], 0);
    EXPECT_LT(span[0], panel["rows"].get<double>());
    EXPECT_LE(span[1], span[2]);
    EXPECT_LE(span[2], panel["record"]["seconds"].get<double>() * (1 + 1e-9));
    merges |= span[8] == 1;
    if (span[8] == 0) {
      EXPECT_GE(span[3], 0);
      EXPECT_LT(span[3], 3);
      EXPECT_LT(span[6], span[7]);
    }
  }
  EXPECT_TRUE(merges);
}

TEST(Answers, WhatCannotRunIsARecordAndWhatIsWrongAnError) {
  const Json cannot = Json::parse(predict(R"({"workload":"llama-3-8b:1q1s1k","gpu":"a100","schedules":["fa3"]})").json);
  EXPECT_TRUE(cannot["panels"][0]["record"].contains("failure"));
  for (const char* bad : {"", "{}", "[]", R"({"workload":1})", R"({"workload":"x","gpu":"h200","schedules":[]})",
                          R"({"workload":"llama-3-8b:1q1s1k","gpu":"nothing","schedules":["lean"]})",
                          R"({"workload":"llama-3-8b:1q1s1k","gpu":"h200","schedules":["nothing"]})",
                          R"({"workload":"llama-3-8b:1q1s1k","gpu":"h200","schedules":[],"sms":-1})",
                          R"({"workload":"llama-3-8b:1q1s1k","gpu":"h200","schedules":"lean"})"}) {
    EXPECT_TRUE(Json::parse(predict(bad).json).contains("error")) << bad;
  }
}

RC_GTEST_PROP(Answers, AnythingIsAnswered, (const std::string& text)) {
  RC_ASSERT(Json::parse(predict(text).json).contains("error"));
  RC_ASSERT(Json::parse(trace(text)).contains("error"));
}

TEST(Answers, TheCatalogueIsWhole) {
  const Json json = Json::parse(catalogue());
  EXPECT_GE(json["models"].size(), 10U);
  EXPECT_GE(json["gpus"].size(), 8U);
  EXPECT_GE(json["schedules"].size(), 10U);
  const auto& gpus = json["gpus"];
  const auto h200 = std::find_if(gpus.begin(), gpus.end(), [](const Json& one) { return one["name"] == "h200"; });
  ASSERT_NE(h200, gpus.end());
  EXPECT_EQ((*h200)["sms"], 132);
  EXPECT_DOUBLE_EQ((*h200)["bandwidth"].get<double>(), 4800);
}

}  // namespace
}  // namespace splitwave::explorer
