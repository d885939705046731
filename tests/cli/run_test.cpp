// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cpu_reference/algorithms/algorithms.h"
#include "reports/record.h"
#include "reports/table.h"
#include "schedules/schedules.h"
#include "tests/cli/process.h"

namespace splitwave::tests {
namespace {

TEST(Run, MeasuresAndChecksEverySchedule) {
  const Outcome outcome = splitwave({"run", "-w", "llama-3-8b:2q1s300_1q1s0", "--threads", "2", "--samples", "2",
                                     "--schedule", "fa2,fixed-split:3,lean,auto", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::vector<reports::Record> records = reports::parse_records(outcome.out, "stdout");
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(records[0].schedule, "fa2");
  EXPECT_EQ(records[1].schedule, "fixed-split:3");
  EXPECT_EQ(records[1].num_splits, 3);
  EXPECT_EQ(records[3].schedule, "auto");
  for (const reports::Record& record : records) {
    EXPECT_EQ(record.executor, "cpu");
    EXPECT_NE(record.machine.find("(2 threads)"), std::string::npos) << record.machine;
    EXPECT_GT(*record.seconds, 0);
    EXPECT_LE(*record.seconds_p20, *record.seconds);
    EXPECT_LE(*record.seconds, *record.seconds_p80);
    EXPECT_GE(*record.samples, 2);
    EXPECT_LT(record.error->relative_l2, 0.01);
    EXPECT_FALSE(record.breakdown);
  }
}

TEST(Run, TableSaysThatTheOutputsWereChecked) {
  const Outcome outcome = splitwave({"run", "-w", "llama-3-8b:1q1s64", "--schedule", "lean", "--samples", "1"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("All 1 outputs are within tolerance of the oracle."), std::string::npos) << outcome.out;
}

TEST(Run, RepeatedRunsAreBitwiseEqual) {
  const std::vector<std::string> arguments = {"run",
                                              "-w",
                                              "h=8/2,d=32:2q1s300_1q1s0",
                                              "--threads",
                                              "2",
                                              "--samples",
                                              "1",
                                              "--repeat",
                                              "20",
                                              "--schedule",
                                              "fa2,fixed-split:3,fixed-split:3+last_arriver,lean"};
  std::vector<std::string> json = arguments;
  json.emplace_back("--json");
  const Outcome outcome = splitwave(json);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::vector<reports::Record> records = reports::parse_records(outcome.out, "stdout");
  ASSERT_EQ(records.size(), 4U);
  for (const reports::Record& record : records) {
    EXPECT_EQ(record.repeat, (reports::RecordRepeat{20, 0, ""})) << record.schedule;
  }
  const std::string text = splitwave(arguments).out;
  for (const char* part : {"repeated runs", "20, bitwise equal", "The runs of each of 4 plans are bitwise equal.",
                           "merge kernel: a second kernel joins", "merge last_arriver: the CTA that ends last"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << text;
  }
}

TEST(Run, ASampleStandsForWhatNoMemoryHolds) {
  const Outcome outcome = splitwave({"run", "-w", "h=1024/1024,d=8:100000q1s1000", "--schedule", "lean", "--sample",
                                     "3", "--threads", "2", "--json"});
  ASSERT_EQ(outcome.status, 2) << outcome.err;  // 102400000 output tiles
  EXPECT_NE(outcome.err.find("output tiles"), std::string::npos) << outcome.err;
  const Outcome fits = splitwave({"run", "-w", "h=8/8,d=8:100000q1s1000", "--schedule", "lean,fixed-split:3",
                                  "--sample", "3", "--threads", "2", "--json"});
  ASSERT_EQ(fits.status, 0) << fits.err;
  const std::vector<reports::Record> records = reports::parse_records(fits.out, "stdout");
  ASSERT_EQ(records.size(), 2U);
  for (const reports::Record& record : records) {
    EXPECT_EQ(record.sampled_groups, 3);
    EXPECT_FALSE(record.seconds);
    EXPECT_EQ(record.bytes, 100000LL * 8 * 8 * 2 * (2 * 1000 + 2));
    EXPECT_LT(record.error->relative_l2, 1e-3);
  }
}

TEST(Run, ASampleIsForTheCpuAndNotTimed) {
  const Outcome cuda = splitwave({"run", "-w", "h=2,d=8:1q1s9", "--sample", "1", "--executor", "cuda"});
  EXPECT_EQ(cuda.status, 2);
  EXPECT_NE(cuda.err.find("--sample with --executor cuda"), std::string::npos) << cuda.err;
  EXPECT_EQ(splitwave({"run", "-w", "h=2,d=8:1q1s9", "--sample", "0"}).status, 2);
  EXPECT_EQ(splitwave({"run", "-w", "h=2,d=8:1q1s9", "--sample", "1", "--algorithm", "all"}).status, 2);
  const Outcome table = splitwave({"run", "-w", "h=8/2,d=8:2q1s9", "--sample", "3", "--schedule", "lean"});
  EXPECT_NE(table.out.find("KV heads computed"), std::string::npos) << table.out;
  EXPECT_EQ(table.out.find("predicted"), std::string::npos) << table.out;
}

TEST(Run, TraceHoldsWhatWasPredictedAndMeasuredOfEveryPlan) {
  const TemporaryFolder folder;
  const std::string file = folder.file("trace.json");
  const Outcome outcome = splitwave({"run", "-w", "h=8/2,d=32:2q1s300_1q1s0", "--threads", "2", "--samples", "1",
                                     "--schedule", "fa2,fixed-split:3", "--trace", file});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  std::map<int, std::string> titles;
  std::map<int, std::map<int, int>> items;  // by process: how often each item
  std::map<int, int> merges;
  const nlohmann::json trace = nlohmann::json::parse(content(file));
  for (const auto& event : trace.at("traceEvents")) {
    const int process = event.at("pid").get<int>();
    if (event.at("name") == "process_name") titles[process] = event.at("args").at("name").get<std::string>();
    if (event.at("ph") != "X") continue;
    EXPECT_GE(event.at("ts").get<double>(), 0);
    EXPECT_GE(event.at("dur").get<double>(), 0);
    if (event.at("cat") == "merge") ++merges[process];
    if (event.at("cat") == "item") ++items[process][event.at("args").at("item").get<int>()];
  }
  ASSERT_EQ(titles.size(), 4U);
  EXPECT_EQ(titles[1].substr(0, 18), "simulator: fa2 on ");
  EXPECT_EQ(titles[2].substr(0, 17), "measured: fa2 on ");
  EXPECT_EQ(titles[4].substr(0, 27), "measured: fixed-split:3 on ");
  for (const int process : {1, 2, 3, 4}) {
    EXPECT_GT(items[process].size(), 0U);
    EXPECT_EQ(items[process], items[process % 2 == 0 ? process - 1 : process]);
    for (const auto& [item, count] : items[process]) EXPECT_EQ(count, 1) << titles[process] << " item " << item;
  }
  EXPECT_EQ(merges[2], 0);
  EXPECT_EQ(merges[4], 2) << "what a thread merges is one span";
}

TEST(Run, SeedChangesTheTensors) {
  const auto error = [](const char* seed) {
    return reports::parse_records(splitwave({"run", "-w", "llama-3-8b:1q1s64", "--schedule", "fa2", "--samples", "1",
                                             "--json", "--seed", seed})
                                      .out,
                                  "stdout")
        .at(0)
        .error;
  };
  EXPECT_NE(error("1"), error("2"));
}

TEST(RunAlgorithms, MeasuresAndChecksEveryAlgorithm) {
  const Outcome outcome = splitwave(
      {"run", "-w", "h=8/2,d=32:2q1s300_1q1s0", "--samples", "2", "--algorithm", "all,flash-decoding:16x3", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::vector<reports::Record> records = reports::parse_records(outcome.out, "stdout");
  ASSERT_EQ(records.size(), cpu_reference::algorithms::all().size() + 1);
  EXPECT_EQ(records.front().schedule, "standard");
  EXPECT_EQ(records.back().schedule, "flash-decoding:16x3");
  for (const reports::Record& record : records) {
    EXPECT_EQ(record.executor, "cpu");
    EXPECT_GT(*record.seconds, 0);
    EXPECT_EQ(record.samples, 2);
    EXPECT_LT(record.error->relative_l2, 1e-12);
    EXPECT_GT(record.error->relative_l2, 0);
    EXPECT_GT(record.io->kv, 0);
    EXPECT_FALSE(record.num_splits);
  }
  // Of 2 requests and 2 KV heads: 3 parts of 4 query rows of 32 elements and an LSE, written and read in fp32.
  EXPECT_EQ(records.back().io->partials, 2 * 2 * 2 * 3 * 4 * (32 + 1) * 4);
}

TEST(RunAlgorithms, TableShowsWhatEachMoves) {
  const Outcome outcome =
      splitwave({"run", "-w", "h=8/2,d=32:2q1s300", "--samples", "1", "--algorithm", "standard,flash-attention-2"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("All 2 outputs are within tolerance of the oracle."), std::string::npos) << outcome.out;
  // S written and read, P written and read: 2 requests, 8 query heads, 300 tokens, 2 bytes.
  EXPECT_NE(outcome.out.find(reports::format_bytes(4 * 2 * 8 * 300 * 2)), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("flash-attention-2:128x128"), std::string::npos) << outcome.out;
}

TEST(RunAlgorithms, ListIsCompleteAsTextAndAsJson) {
  const std::string text = splitwave({"algorithms"}).out;
  const std::string json = splitwave({"algorithms", "--json"}).out;
  for (const cpu_reference::algorithms::Algorithm& algorithm : cpu_reference::algorithms::all()) {
    EXPECT_NE(text.find("\n" + std::string(algorithm.name) + " "), std::string::npos) << algorithm.name;
    EXPECT_NE(json.find("{\"name\":\"" + std::string(algorithm.name) + "\""), std::string::npos) << algorithm.name;
  }
}

TEST(Simulate, RecordsAreCompleteAndTheSameEveryTime) {
  const std::vector<std::string> arguments = {"simulate", "-w", "real", "--gpu", "h200", "--json"};
  const Outcome outcome = splitwave(arguments);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, splitwave(arguments).out);
  const std::vector<reports::Record> records = reports::parse_records(outcome.out, "stdout");
  EXPECT_GE(records.size(), 8 * schedules::default_names().size());
  for (const reports::Record& record : records) {
    EXPECT_EQ(record.executor, "simulator");
    EXPECT_EQ(record.machine, "h200");
    ASSERT_TRUE(record.seconds || record.failure);
    if (record.seconds) {
      EXPECT_NEAR(record.breakdown->total(), *record.seconds, 1e-6 * *record.seconds) << to_json(record);
      EXPECT_LT(*record.bytes_per_second, 60e12);
    }
  }
}

TEST(Simulate, OverridesAreNamedInTheRecord) {
  const Outcome outcome = splitwave(
      {"simulate", "-w", "llama-3-8b:8q1s32k", "--schedule", "lean", "--sms", "66", "--bandwidth", "2000.5", "--json"});
  EXPECT_EQ(reports::parse_records(outcome.out, "stdout").at(0).machine, "h200 (sms=66, bandwidth=2000.5)");
}

TEST(Simulate, L2AndClockCanBeOverridden) {
  const auto record = [](const std::vector<std::string>& overrides) {
    // 64 query heads, one KV head: arithmetic is the limit, and query tiles share K and V.
    std::vector<std::string> arguments = {"simulate", "-w", "h=64/1,d=128:4q256s8k", "--schedule", "fa2", "--json"};
    arguments.insert(arguments.end(), overrides.begin(), overrides.end());
    return reports::parse_records(splitwave(arguments).out, "stdout").at(0);
  };
  const reports::Record own = record({});
  const reports::Record half = record({"--l2", "30M", "--clock", "990"});
  EXPECT_EQ(half.machine, "h200 (l2=31457280, clock=990)");
  EXPECT_GT(*half.seconds, 1.9 * *own.seconds);
  EXPECT_EQ(*record({"--l2", "62914560", "--clock", "1980"}).seconds, *own.seconds);
}

TEST(Simulate, OutWritesTheRecordsThatJsonPrints) {
  const TemporaryFolder folder;
  const Outcome outcome =
      splitwave({"simulate", "-w", "llama-3-8b:8q1s4k", "--json", "--out", folder.file("new/folder")});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(content(folder.file("new/folder/records.jsonl")), outcome.out);
  EXPECT_NE(content(folder.file("new/folder/records.csv")).find("\nllama-3-8b:8q1s4k,fa2,simulator,h200,"),
            std::string::npos);
}

TEST(Simulate, PointsThatCannotRunAreRecordedAmongOthers) {
  const Outcome outcome =
      splitwave({"simulate", "-w", "llama-3-8b:1q1s512", "--gpu", "l40s,h200", "--schedule", "fa3", "--json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::vector<reports::Record> records = reports::parse_records(outcome.out, "stdout");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_TRUE(records[0].failure);
  EXPECT_FALSE(records[0].seconds);
  EXPECT_TRUE(records[1].seconds);
}

}  // namespace
}  // namespace splitwave::tests
