// SPDX-License-Identifier: Apache-2.0
// Names, arguments and grids as users give them; counts of plans.
#include "schedules/schedules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "schedules/metrics.h"
#include "schedules/validate.h"
#include "tests/schedules/error_of.h"
#include "tests/schedules/hopper.h"
#include "tests/support/battery.h"

namespace splitwave::schedules {
namespace {

using testing::decode;
using testing::geometry;

std::string error_on_hopper(std::string_view name) {
  return error_of(name, decode("w", geometry(8, 2, 64), {1000}), kHopper);
}

TEST(Schedules, TableIsComplete) {
  std::set<std::string_view> names;
  for (const Schedule& schedule : all()) {
    EXPECT_TRUE(names.insert(schedule.name).second);
    EXPECT_FALSE(schedule.summary.empty());
    EXPECT_FALSE(schedule.source.empty());
    EXPECT_EQ(&find(schedule.name), &schedule);
  }
  for (const char* name : {"fa2", "fixed-split", "fa3", "seq-aware", "lean", "flashinfer", "flashinfer-holistic",
                           "flashmla", "fa4", "xqa", "fixed-size", "longest-first"}) {
    EXPECT_EQ(names.count(name), 1U) << name;
  }
}

TEST(Schedules, DefaultNamesMakePlans) {
  EXPECT_GE(default_names().size(), 5U);
  for (const std::string& name : default_names()) EXPECT_EQ(error_on_hopper(name), "");
}

TEST(Schedules, WhatCanBeInstalledMakesPlansAndIsNoProposal) {
  const std::vector<std::string> names = installable_names();
  for (const std::string& name : names) EXPECT_EQ(error_on_hopper(name), "") << name;
  for (const char* library : {"fa2", "fixed-split:fa2", "fa3", "lean:ort", "flashinfer", "flashmla", "fa4", "xqa"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), library), 1) << library;
  }
  for (const char* paper : {"lean", "seq-aware", "fixed-size:64", "longest-first:64"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), paper), 0) << paper;
  }
}

TEST(Schedules, UnknownNamesOfferTheNearest) {
  EXPECT_NE(error_on_hopper("laen").find("lean"), std::string::npos);
  EXPECT_NE(error_on_hopper("flashmal").find("flashmla"), std::string::npos);
  EXPECT_NE(error_on_hopper("").find("known"), std::string::npos);
  EXPECT_EQ(error_on_hopper(std::string("\n\x01", 2)).find('\n'), std::string::npos);
  EXPECT_THROW(find("nothing:3"), base::InputError);
}

TEST(Schedules, ArgumentsThatAreNotAllowed) {
  for (const char* name : {"fixed-split",
                           "fixed-split:",
                           "fixed-split:0",
                           "fixed-split:-1",
                           "fixed-split:x",
                           "fixed-split:3x",
                           "fixed-split: 3",
                           "fixed-split:65536",
                           "fixed-split:99999999999999999999",
                           "fixed-split:fa4",
                           "fixed-size",
                           "fixed-size:",
                           "fixed-size:0",
                           "fixed-size:2147483648",
                           "fixed-size:1.5",
                           "longest-first",
                           "longest-first:0",
                           "fa2:1",
                           "fa2:",
                           "fa3:x",
                           "fa3:0",
                           "fa3:257",
                           "lean:",
                           "lean:paper",
                           "seq-aware:",
                           "seq-aware:evolve",
                           "flashinfer:1",
                           "flashmla:2",
                           "fa4:",
                           "fa4:257",
                           "xqa:",
                           "xqa:flashinfer",
                           "xqa:0"}) {
    const std::string message = error_on_hopper(name);
    EXPECT_NE(message.find("allowed"), std::string::npos) << name << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
  EXPECT_NE(error_on_hopper("fixed-split:x").find("'x'"), std::string::npos);
}

TEST(Schedules, GridsThatAreNotAllowed) {
  const workloads::Workload w = decode("w", geometry(8, 2, 64), {1000});
  EXPECT_NE(error_of("lean", w, {0, 1, 0, 0}).find("sms is 0"), std::string::npos);
  EXPECT_NE(error_of("lean", w, {-132, 1, 0, 0}).find("sms is -132"), std::string::npos);
  EXPECT_NE(error_of("lean", w, {132, 0, 0, 0}).find("ctas_per_sm"), std::string::npos);
  EXPECT_NE(error_of("lean", w, {1 << 20, 1 << 20, 0, 0}).find("sms times ctas_per_sm"), std::string::npos);
  EXPECT_NE(error_of("lean", w, {132, 1, -1, 0}).find("tile_q"), std::string::npos);
  EXPECT_NE(error_of("lean", w, {132, 1, 0, -1}).find("tile_kv"), std::string::npos);
}

TEST(Schedules, MoreItemsThanAPlanMayHold) {
  const workloads::Workload longest = decode("w", geometry(8, 8, 64), {1 << 30});
  EXPECT_NE(error_of("fixed-size:1", longest, kHopper).find("allowed"), std::string::npos);
  const workloads::Workload many = decode("w", geometry(4096, 4096, 64), std::vector<std::int32_t>(100000, 1));
  EXPECT_NE(error_of("fa2", many, kHopper).find("allowed"), std::string::npos);
  const workloads::Workload prefills =
      testing::with_queries(decode("w", geometry(64, 64, 64), std::vector<std::int32_t>(5000, 10)), {1});
  EXPECT_NE(error_of("fixed-split:65535", prefills, kHopper).find("allowed"), std::string::npos);
}

TEST(Schedules, MillionCtas) {
  const workloads::Workload w = decode("w", geometry(8, 8, 64), {1 << 30});
  const Plan plan = make_plan("lean", w, {1 << 20, 1, 0, 0});
  EXPECT_EQ(plan.ctas(), 1 << 20);
  EXPECT_EQ(metrics(plan, {1 << 20, 1, 0, 0}).quantization_efficiency, 1.0);
}

// LeanAttention, section 6: 1024 output tiles on 864 SMs (eight A100s) leave 704 of them idle in the last wave.
TEST(Metrics, LastWave) {
  const workloads::Workload w = decode("w", geometry(256, 256, 64), std::vector<std::int32_t>(4, 128));
  const Grid grid{864, 1, 0, 0};
  const Metrics m = metrics(make_plan("fa2", w, grid), grid);
  EXPECT_EQ(m.ctas, 1024);
  EXPECT_DOUBLE_EQ(m.waves, 1024.0 / 864);
  EXPECT_EQ(2 * 864 - 1024, 704);
  EXPECT_DOUBLE_EQ(m.quantization_efficiency, 1024.0 / (2 * 864));
}

TEST(Metrics, ListsGoToTheFirstFreeSlot) {
  // Lists of 3, 1, 1, 2 tiles on two slots: 3 beside 1 + 1, then 2 on the second: 4 steps.
  const workloads::Workload w = decode("w", geometry(1, 1, 64), {768, 256, 256, 512});
  const Plan plan = make_plan("fa2", w, {2, 1, 0, 256});
  const Metrics m = metrics(plan, {2, 1, 0, 0});
  EXPECT_EQ(m.tiles, 7);
  EXPECT_EQ(m.longest_list_tiles, 3);
  EXPECT_DOUBLE_EQ(m.quantization_efficiency, 7.0 / (2 * 4));
  EXPECT_DOUBLE_EQ(m.waves, 2.0);
}

TEST(Metrics, NothingToDoIsEfficient) {
  const Plan plan = make_plan("lean", decode("w", geometry(8, 2, 64), {}), kHopper);
  EXPECT_EQ(metrics(plan, kHopper).quantization_efficiency, 1.0);
  EXPECT_EQ(plan.ctas(), 0);
}

TEST(FixedSize, SaysWhetherAnythingIsCut) {
  const workloads::Workload w = decode("cut", geometry(8, 2, 64), {300, 100});
  EXPECT_NE(make_plan("fixed-size:128", w, kHopper).reason.find("cut at multiples of 128"), std::string::npos);
  EXPECT_NE(make_plan("fixed-size:512", w, kHopper).reason.find("no output is cut"), std::string::npos);
}

TEST(LongestFirst, BeginsWithTheLongestAndHasTheHeadsOfAPieceSideBySide) {
  const Plan plan = make_plan("longest-first:128", decode("w", geometry(4, 2, 64), {40, 300, 100, 200}), kHopper);
  struct Begun {
    std::int32_t request, head, begin, tokens;
    bool operator==(const Begun&) const = default;
  };
  std::vector<Begun> begun;
  for (const Item& item : plan.items) {
    const OutputTile& output = plan.outputs[static_cast<std::size_t>(item.output)];
    begun.push_back({output.request, output.head_begin / 2, item.kv_begin, item.tokens()});
  }
  const std::vector<Begun> expected = {{1, 0, 0, 128},  {1, 1, 0, 128},  {1, 0, 128, 128}, {1, 1, 128, 128},
                                       {3, 0, 0, 128},  {3, 1, 0, 128},  {2, 0, 0, 100},   {2, 1, 0, 100},
                                       {3, 0, 128, 72}, {3, 1, 128, 72}, {1, 0, 256, 44},  {1, 1, 256, 44},
                                       {0, 0, 0, 40},   {0, 1, 0, 40}};
  EXPECT_TRUE(begun == expected);
  EXPECT_EQ(plan.lists(), 14);
  EXPECT_NE(plan.reason.find("longest first"), std::string::npos);
}

TEST(Schedules, RowBlocksAreOfResidentCtas) {
  const workloads::Workload w = decode("w", geometry(8, 2, 64), {1000});
  for (const std::int32_t blocks : {0, kHopper.resident() + 1}) {
    Grid grid = kHopper;
    grid.row_blocks = blocks;
    EXPECT_NE(error_of("lean", w, grid).find("row_blocks"), std::string::npos);
  }
}

TEST(FixedSize, RowTilesOfACutLieSideBySide) {
  Grid grid = kHopper;
  grid.tile_q = 16;
  const Plan plan = make_plan("fixed-size:128", decode("rows", geometry(40, 1, 64), {300, 0}), grid);
  std::vector<std::int32_t> outputs;
  std::vector<std::int32_t> begins;
  for (const Item& item : plan.items) {
    outputs.push_back(item.output);
    begins.push_back(item.kv_begin);
  }
  EXPECT_EQ(outputs, (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(begins, (std::vector<std::int32_t>{0, 0, 0, 128, 128, 128, 256, 256, 256, 0, 0, 0}));
}

}  // namespace
}  // namespace splitwave::schedules
