// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reports/record.h"
#include "tests/cli/process.h"
#include "tests/reports/sample_records.h"

namespace splitwave::tests {
namespace {

std::string lines(double factor) {
  std::string text;
  for (reports::Record one : comparison()) {
    if (one.seconds) *one.seconds *= one.schedule == "lean" ? factor : 1;
    text += to_json(one) + '\n';
  }
  return text;
}

TEST(Records, DiffIsAGate) {
  const TemporaryFolder folder;
  const std::string before = folder.write("before.jsonl", lines(1));
  const std::string slower = folder.write("slower.jsonl", lines(1.5));
  EXPECT_EQ(splitwave({"records", "diff", before, before}).status, 0);
  EXPECT_EQ(splitwave({"records", "diff", slower, before}).status, 0);
  const Outcome outcome = splitwave({"records", "diff", before, slower});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("slower"), std::string::npos) << outcome.out;
  EXPECT_EQ(splitwave({"records", "diff", before, slower, "--tolerance", "0.6"}).status, 0);
  const Outcome json = splitwave({"records", "diff", before, slower, "--json"});
  EXPECT_EQ(json.status, 1);
  EXPECT_NE(json.out.find(R"("change":"slower","ratio":1.5)"), std::string::npos) << json.out;
}

TEST(Records, DiffOfStrangersIsRefused) {
  const TemporaryFolder folder;
  const std::string before = folder.write("a.jsonl", to_json(record("a", "lean", "cpu", "m", 1)) + '\n');
  const std::string after = folder.write("b.jsonl", to_json(record("b", "lean", "cpu", "m", 1)) + '\n');
  const Outcome outcome = splitwave({"records", "diff", before, after});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("has a time in both"), std::string::npos) << outcome.err;
}

TEST(Records, WhatIsGoneIsNamedAndRefusedWithStrict) {
  const TemporaryFolder folder;
  const std::string one = to_json(record("a", "lean", "simulator", "m", 1)) + '\n';
  const std::string before = folder.write("a.jsonl", one + to_json(record("b", "lean", "simulator", "m", 1)) + '\n');
  const std::string after = folder.write("b.jsonl", one);
  const Outcome outcome = splitwave({"records", "diff", before, after});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.err.find("b by lean (simulator, m) is not in"), std::string::npos) << outcome.err;
  EXPECT_EQ(splitwave({"records", "diff", before, after, "--strict"}).status, 2);
}

TEST(Records, BadLinesAreNamedAndRefusedWithStrict) {
  const TemporaryFolder folder;
  const std::string good = to_json(full_record()) + '\n';
  const std::string file = folder.write("r.jsonl", good + "{\"worklo");
  const Outcome outcome = splitwave({"records", "merge", file});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, good);
  EXPECT_NE(outcome.err.find("r.jsonl: line 2: no valid JSON"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("1 skipped"), std::string::npos) << outcome.err;
  const Outcome strict = splitwave({"records", "merge", file, "--strict"});
  EXPECT_EQ(strict.status, 2);
  EXPECT_EQ(strict.out, "");
}

TEST(Records, FilterAndConvertWriteFiles) {
  const TemporaryFolder folder;
  const std::string file = folder.write("r.jsonl", lines(1));
  const std::string csv = folder.file("r.csv");
  EXPECT_EQ(splitwave({"records", "filter", file, "--where", "executor=cpu", "--output", csv}).status, 0);
  const Outcome back = splitwave({"records", "convert", csv, "--to", "jsonl"});
  EXPECT_EQ(back.err, "");
  EXPECT_EQ(reports::parse_records(back.out, "stdout").size(), 5U);
  EXPECT_EQ(splitwave({"records", "convert", file, "--to", "csv", "--output", csv}).status, 2) << "it exists";
  EXPECT_EQ(splitwave({"records", "filter", file, "--where", "nothing=1"}).status, 2);
  EXPECT_EQ(splitwave({"records", "merge", folder.path().string()}).status, 2);
  EXPECT_EQ(splitwave({"records", "merge", folder.file("none")}).status, 2);
}

TEST(Records, PipesAreRead) {
  const TemporaryFolder folder;
  const std::string file = folder.write("r.jsonl", lines(1));
  const std::string merged = folder.file("merged.jsonl");
  const std::string command =
      "cat '" + file + "' | '" SPLITWAVE_BINARY "' records merge /dev/stdin --output '" + merged + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(reports::parse_records(content(merged), "merged").size(), comparison().size());
}

}  // namespace
}  // namespace splitwave::tests
