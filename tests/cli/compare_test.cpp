// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "reports/record.h"
#include "reports/statistics.h"
#include "tests/cli/process.h"

namespace splitwave::tests {
namespace {

/// Standard error names the report; a busy machine's figures are not kept, which is told too.
void expect_report_named(const std::string& errors, const std::filesystem::path& folder) {
  const std::string last = "splitwave: the report is " + (folder / "report.html").string() + "\n";
  ASSERT_TRUE(errors.ends_with(last)) << errors;
  const std::string before = errors.substr(0, errors.size() - last.size());
  EXPECT_TRUE(before.empty() || before.find("are not kept") != std::string::npos) << errors;
}

TEST(Compare, WritesRecordsReportAndPictures) {
  const TemporaryFolder folder;
  const std::filesystem::path out = folder.path() / "result";
  const Outcome outcome =
      splitwave({"compare", "-w", "llama-3-8b:3q1s200_1q2s700", "--schedule", "fa2,fixed-split:fa2,lean", "--gpu",
                 "h200,cpu", "--threads", "2", "--samples", "1", "--out", out.string()});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::vector<reports::Record> records = reports::parse_records(content(out / "records.jsonl"), "records");
  EXPECT_EQ(records.size(), 9U);  // predicted for the GPU, predicted and measured here
  EXPECT_EQ(reports::pair_up(records).size(), 3U);
  const std::string report = content(out / "report.md");
  for (const char* part : {"All 3 outputs are within tolerance of the oracle.", "median error", "p90 error",
                           "Speed-up over fixed-split:fa2", "figures/speed_up.svg", "## h200: predicted",
                           "predicted against measured", "cold caches"}) {
    EXPECT_NE(report.find(part), std::string::npos) << part;
  }
  EXPECT_NE(content(out / "figures" / "predicted_measured.svg").find("</svg>"), std::string::npos);
  EXPECT_NE(outcome.out.find("All 3 outputs are within tolerance"), std::string::npos) << outcome.out;
  expect_report_named(outcome.err, out);
  const auto predicted_here = std::count_if(records.begin(), records.end(), [](const reports::Record& one) {
    return one.executor == reports::kSimulator && one.probes && one.probes->rounds >= 1 && one.probes->read_by_all > 0;
  });
  EXPECT_EQ(predicted_here, 3);
  for (const reports::Record& one : records) {
    const bool pair = one.executor == "cpu" && one.schedule != "fixed-split:fa2";
    ASSERT_EQ(one.speed_up.has_value(), pair) << one.schedule;
    EXPECT_EQ(pair ? one.speed_up->over : "fixed-split:fa2", "fixed-split:fa2");
  }
  // Measurements of another suite say nothing about this one.
  EXPECT_EQ(report.find("## Measured on an H200"), std::string::npos);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(out)) {
    EXPECT_EQ(entry.path().string().find(".partial"), std::string::npos) << entry.path();
  }
}

TEST(Compare, WritesUnderOutByDefaultAndPrintsRecordsAsJson) {
  const TemporaryFolder folder;
  RunOptions options;
  options.folder = folder.path();
  const Outcome outcome =
      splitwave({"compare", "-w", "llama-3-8b:1q1s64", "--schedule", "lean", "--samples", "1", "--json"}, options);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(reports::parse_records(outcome.out, "stdout").size(), 4U);
  const std::filesystem::path made = std::filesystem::directory_iterator(folder.path() / "out")->path();
  EXPECT_EQ(content(made / "records.jsonl"), outcome.out);
}

TEST(Compare, OfTheShippedSuiteShowsWhatAnH200MeasuredFromAnyFolder) {
  if (std::string(SPLITWAVE_SANITIZED) != "") {
    GTEST_SKIP() << "a suite under a sanitizer takes minutes";
  }
  const TemporaryFolder folder;
  RunOptions options;
  options.folder = folder.path();
  const Outcome outcome = splitwave({"compare", "--schedule", "lean", "--samples", "1", "--out", "here"}, options);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("The same suite, measured on an H200 (NVIDIA H200, driver "), std::string::npos)
      << outcome.out;
  const std::string report = content(folder.path() / "here" / "report.md");
  EXPECT_NE(report.find("## Measured on an H200\n"), std::string::npos);
  EXPECT_NE(report.find("commit "), std::string::npos);
}

TEST(Compare, MeasureCpuIsForThisCpu) {
  EXPECT_EQ(splitwave({"compare", "-w", "llama-3-8b:1q1s64", "--executor", "cuda", "--measure-cpu"}).err,
            "splitwave: --measure-cpu: --executor cuda does not run on this computer's CPU; allowed: --executor cpu\n");
  EXPECT_EQ(splitwave({"simulate", "-w", "llama-3-8b:1q1s64", "--gpu", "h200", "--measure-cpu"}).err,
            "splitwave: --measure-cpu: this computer's CPU is not among the machines; allowed: with --gpu cpu\n");
  const Outcome outcome = splitwave({"simulate", "-w", "llama-3-8b:1q1s64", "--gpu", "cpu", "--measure-cpu"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(outcome.err.empty() || outcome.err.find("are not kept") != std::string::npos) << outcome.err;
}

TEST(Compare, WhatIfDoesNotApplyToThisCpu) {
  for (const char* machines : {"cpu", "h200,cpu"}) {
    const Outcome outcome = splitwave({"compare", "-w", "llama-3-8b:1q1s64", "--gpu", machines, "--sms", "66"});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.err, "splitwave: --gpu cpu: --sms 66 does not apply to it; allowed: --threads\n");
  }
}

TEST(Compare, ThisCpuIsNoMachineOfOtherExecutors) {
  const Outcome outcome = splitwave({"compare", "-w", "llama-3-8b:1q1s64", "--gpu", "h200,cpu", "--executor", "cuda"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err,
            "splitwave: --gpu cpu: --executor cuda does not run on it; allowed: --executor cpu, or the machines of "
            "'splitwave gpus'\n");
}

TEST(Compare, WithoutNodeEverythingButThePicturesIsThere) {
  const TemporaryFolder folder;
  RunOptions options;
  options.environment = {"PATH=" + folder.path().string()};
  const std::filesystem::path out = folder.path() / "result";
  const Outcome outcome = splitwave(
      {"compare", "-w", "llama-3-8b:1q1s64", "--schedule", "lean", "--samples", "1", "--out", out.string()}, options);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.err.find("no pictures: "), std::string::npos) << outcome.err;
  EXPECT_NE(content(out / "report.md").find("no pictures"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(out / "figures" / "predicted_measured.vl.json"));
  EXPECT_NE(content(out / "report.html").find("id=\"spec-predicted_measured\""), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(out / "records.jsonl"));
}

}  // namespace
}  // namespace splitwave::tests
