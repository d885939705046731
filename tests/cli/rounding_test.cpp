// SPDX-License-Identifier: Apache-2.0
// splitwave run --rounding: errors of emulated kernels, measured beside predicted.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cpu_reference/numerics/schemes.h"
#include "reports/record.h"
#include "tests/cli/process.h"
#include "tests/reports/golden.h"

namespace splitwave::tests {
namespace {

constexpr const char* kSmall = "h=4/2,d=64:1q1s1000_1q1s77_1q1s0";

TEST(RunRounding, TableIsAsApproved) {
  const Outcome outcome = splitwave({"run", "-w", kSmall, "--schedule", "fixed-split:4", "--rounding",
                                     "fa3,lean:ort,flashinfer,standard,f16-accumulator"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  expect_golden("run-rounding.txt", outcome.out);
}

TEST(RunRounding, RecordsHaveErrorsAndNoTimes) {
  const Outcome outcome =
      splitwave({"run", "-w", kSmall, "--schedule", "fixed-split:1,fixed-split:4", "--rounding", "all", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::vector<reports::Record> records = reports::parse_records(outcome.out, "stdout");
  const auto schemes = cpu_reference::numerics::schemes();
  ASSERT_EQ(records.size(), 2 * schemes.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const reports::Record& record = records[i];
    EXPECT_EQ(record.rounding, schemes[i % schemes.size()].name);
    EXPECT_EQ(record.schedule, i < schemes.size() ? "fixed-split:1" : "fixed-split:4");
    EXPECT_EQ(record.num_splits, i < schemes.size() ? 1 : 4);
    EXPECT_EQ(record.executor, "cpu");
    EXPECT_FALSE(record.seconds || record.samples || record.bytes_per_second);
    EXPECT_GT(record.error->rmse, 0);
    EXPECT_GE(record.error->max_abs, record.error->rmse);
    EXPECT_GT(record.error->rmse / *record.error->predicted_rmse, 0.6) << *record.rounding;
    EXPECT_LT(record.error->rmse / *record.error->predicted_rmse, 1.6) << *record.rounding;
  }
}

TEST(RunRounding, PlansAreThoseOfTheMachineThatIsAskedFor) {
  const auto record = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run", "-w",    "llama-3-8b:1q1s2k", "--schedule", "fa3", "--rounding",
                                          "fa3", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return reports::parse_records(splitwave(arguments).out, "stdout").at(0);
  };
  const auto planned = nlohmann::json::parse(
      splitwave({"plan", "-w", "llama-3-8b:1q1s2k", "--schedule", "fa3", "--gpu", "h200", "--json"}).out);
  const reports::Record on_h200 = record({"--gpu", "h200"});
  EXPECT_EQ(on_h200.machine, "h200");
  EXPECT_EQ(*on_h200.num_splits, planned.at("num_splits").get<int>());
  EXPECT_GT(*on_h200.num_splits, 1);
  EXPECT_EQ(record({"--threads", "1"}).num_splits, 1);
}

TEST(RunRounding, SchedulesThatCannotServeAreNamed) {
  const Outcome outcome = splitwave({"run", "-w", "h=16/1,d=576,dv=512,kind=mla:1q1s100", "--schedule",
                                     "fixed-split:2,flashinfer", "--rounding", "fa3"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("fixed-split:2 "), std::string::npos) << outcome.out;
}

TEST(RunRounding, OutWritesRecords) {
  const TemporaryFolder folder;
  const Outcome outcome = splitwave(
      {"run", "-w", kSmall, "--schedule", "fixed-split:1", "--rounding", "fa3", "--json", "--out", folder.file("new")});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(content(folder.file("new/records.jsonl")), outcome.out);
  const std::string csv = content(folder.file("new/records.csv"));
  EXPECT_NE(csv.find(",rounding,"), std::string::npos);
  EXPECT_NE(csv.find(",fa3,"), std::string::npos);
  EXPECT_NE(csv.find("error.predicted_rmse"), std::string::npos);
}

TEST(RunRounding, BadRequestsAreRefusedInOneLine) {
  struct Case {
    std::vector<std::string> arguments;
    std::vector<std::string> said;
  };
  const std::vector<Case> cases = {
      {{"--rounding", "fa4"}, {"rounding 'fa4' is not known", "allowed: fa2, fa3, lean, lean:ort, flashinfer", "f64"}},
      {{"--rounding", "fa3,flashmlaa"}, {"did you mean flashmla"}},
      {{"--rounding", ""}, {"''"}},
      {{"--rounding", "fa3", "--executor", "cuda"}, {"--rounding", "on the CPU only"}},
      {{"--rounding", "fa3", "--algorithm", "standard"}, {"--algorithm"}},
      {{"--rounding", "fa3", "--samples", "3"}, {"--samples"}},
      {{"--rounding", "fa3", "--trace", "t.json"}, {"--trace"}},
      {{"--rounding", "fa3", "--energy"}, {"--energy"}},
      {{"--rounding", "fa3", "--gpu", "h2000"}, {"h2000", "h200"}},
      {{"--gpu", "h200"}, {"--gpu", "--rounding"}},
  };
  for (const Case& one : cases) {
    std::vector<std::string> arguments = {"run", "-w", kSmall};
    arguments.insert(arguments.end(), one.arguments.begin(), one.arguments.end());
    const Outcome outcome = splitwave(arguments);
    EXPECT_EQ(outcome.status, 2) << one.arguments.back() << outcome.out;
    EXPECT_EQ(outcome.out, "") << one.arguments.back();
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
    for (const std::string& part : one.said) EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
}

TEST(RunRounding, GeometriesThatCannotBeRotatedAreRefused) {
  const Outcome outcome =
      splitwave({"run", "-w", "h=4/2,d=80:1q1s100", "--schedule", "fixed-split:1", "--rounding", "fa3-fp8"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("head_dim 80"), std::string::npos) << outcome.err;
}

TEST(RunRounding, CompletionKnowsEveryName) {
  for (const char* file : {"splitwave.bash", "_splitwave"}) {
    const std::string script = content(std::string(SPLITWAVE_SOURCE_FOLDER "/cli/completion/") + file);
    for (const auto& scheme : cpu_reference::numerics::schemes()) {
      EXPECT_NE(script.find(' ' + std::string(scheme.name)), std::string::npos) << file << ": " << scheme.name;
    }
  }
}

}  // namespace
}  // namespace splitwave::tests
