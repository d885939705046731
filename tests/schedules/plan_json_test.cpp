// SPDX-License-Identifier: Apache-2.0
#include "schedules/plan_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "schedules/metrics.h"
#include "schedules/schedules.h"
#include "tests/schedules/hopper.h"
#include "tests/support/battery.h"

namespace splitwave::schedules {
namespace {

using testing::decode;
using testing::geometry;

TEST(PlanJson, SummaryHasTheDocumentedKeys) {
  const workloads::Workload w = decode("w", geometry(32, 8, 128), {4096});
  const nlohmann::json json = nlohmann::json::parse(plan_to_json(w, make_plan("fa3", w, kHopper), kHopper, false));
  EXPECT_EQ(json.at("schedule"), "fa3");
  EXPECT_EQ(json.at("num_splits"), 14);
  EXPECT_EQ(json.at("splits_per_request"), nlohmann::json::array({12}));
  EXPECT_EQ(json.at("ctas"), 132);
  EXPECT_EQ(json.at("items"), 96);
  EXPECT_EQ(json.at("merges"), 8);
  EXPECT_EQ(json.at("waves"), 1.0);
  EXPECT_NEAR(json.at("quantization_efficiency").get<double>(), 192.0 / 264, 1e-12);
  EXPECT_EQ(json.at("tile_q"), 128);
  EXPECT_EQ(json.at("tile_kv"), 176);
  EXPECT_NE(json.at("reason").get<std::string>().find("heuristics.h:25-59"), std::string::npos);
  EXPECT_EQ(json.at("dispatch"), "queue");
  EXPECT_EQ(json.at("merge"), "kernel");
  EXPECT_FALSE(json.contains("item_list"));
}

TEST(PlanJson, RoundTrip) {
  for (const workloads::Workload& w : testing::battery()) {
    for (const char* name : {"fa2", "fixed-split:3", "fa3", "lean", "flashinfer-holistic", "flashmla"}) {
      const Plan plan = make_plan(name, w, {16, 2, 0, 0});
      const std::string text = plan_to_json(w, plan, {16, 2, 0, 0}, true);
      EXPECT_EQ(plan_from_json(w, text, "plan.json"), plan) << name << " of " << w.name;
    }
  }
}

/// The error message for a document that is changed from a good one.
template <typename Change>
std::string error_after(Change change) {
  const workloads::Workload w = decode("w", geometry(4, 2, 64), {1280, 0, 600});
  nlohmann::json json = nlohmann::json::parse(plan_to_json(w, make_plan("lean", w, {4, 1, 0, 0}), kHopper, true));
  change(json);
  try {
    plan_from_json(w, json.dump(), "plan.json");
  } catch (const base::InputError& error) {
    return error.what();
  }
  return "";
}

void expect_mentions(const std::string& message, std::initializer_list<const char*> words) {
  for (const char* word : words) EXPECT_NE(message.find(word), std::string::npos) << word << " in: " << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(PlanJson, RefusesWhatIsNoPlan) {
  using nlohmann::json;
  expect_mentions(error_after([](json& j) { j.erase("item_list"); }), {"plan.json", "item_list"});
  // 2^64 - 1 is not the -1 of an item without a slot: items that have one.
  for (const std::uint64_t slot : {0xffff'ffff'ffff'ffffULL, 0x8000'0000'0000'0000ULL}) {
    expect_mentions(error_after([&](json& j) { j["item_list"].back()[3] = slot; }),
                    {"plan.json", "item_list[", std::to_string(slot).c_str(), "32 bits"});
  }
  expect_mentions(error_after([](json& j) { j.erase("dispatch"); }), {"plan.json", "dispatch"});
  expect_mentions(error_after([](json& j) { j["format"] = 2; }), {"plan.json", "format", "2", "1"});
  expect_mentions(error_after([](json& j) { j["extra"] = 1; }), {"plan.json", "extra"});
  expect_mentions(error_after([](json& j) { j["dispatch"] = "magic"; }), {"dispatch", "magic", "hardware", "queue"});
  expect_mentions(error_after([](json& j) { j["tile_kv"] = 0; }), {"tile_kv", "0"});
  expect_mentions(error_after([](json& j) { j["workers"] = -1; }), {"workers", "-1"});
  expect_mentions(error_after([](json& j) { j["outputs"] = "x"; }), {"outputs"});
  expect_mentions(error_after([](json& j) { j["item_list"][1] = json::array({0, 1}); }), {"item_list[1]"});
  expect_mentions(error_after([](json& j) { j["item_list"][1][0] = 0.5; }), {"item_list[1]", "0.5"});
  expect_mentions(error_after([](json& j) { j["item_list"][1][0] = 3000000000; }), {"item_list[1]", "3000000000"});
  expect_mentions(error_after([](json& j) { j["merge_list"][0] = nullptr; }), {"merge_list[0]"});
  expect_mentions(error_after([](json& j) { j["cta_begin"][1] = "a"; }), {"cta_begin[1]"});
}

TEST(PlanJson, RefusesAPlanThatBreaksTheContract) {
  using nlohmann::json;
  expect_mentions(error_after([](json& j) { j["item_list"][0][0] = 77; }), {"plan.json", "output 77"});
  expect_mentions(error_after([](json& j) { j["item_list"][0][2] = 1; }), {"plan.json"});
  expect_mentions(error_after([](json& j) { j["cta_begin"] = json::array(); }), {"plan.json", "cta_begin"});
  expect_mentions(error_after([](json& j) { j["merge_list"] = json::array(); }), {"plan.json", "merge"});
  expect_mentions(error_after([](json& j) { j["outputs"][0][1] = -1; }), {"plan.json", "output 0"});
}

}  // namespace
}  // namespace splitwave::schedules
