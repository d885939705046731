// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/process.h"

namespace splitwave::tests {
namespace {

/// Records of three schedules at four contexts.
std::string sweep_file(const TemporaryFolder& folder) {
  std::string text;
  for (const char* workload : {"llama-3-8b:1q1s1k", "llama-3-8b:1q1s2k", "llama-3-8b:1q1s4k", "llama-3-8b:1q1s8k"}) {
    text += splitwave({"simulate", "-w", workload, "--schedule", "fa2,fixed-split:fa2,lean", "--json"}).out;
  }
  return folder.write("sweep.jsonl", text);
}

/// Status of a report that went well: 3 where the build left out the program that draws.
void expect_written(const Outcome& outcome) {
  EXPECT_TRUE(outcome.status == 0 || outcome.err.find("built without the program") != std::string::npos)
      << outcome.status << outcome.err;
}

TEST(Report, WritesAPageAndTheFiguresThatTheRecordsAllow) {
  const TemporaryFolder folder;
  const std::string out = folder.file("page");
  const Outcome outcome = splitwave({"report", sweep_file(folder), "--out", out, "--json"});
  expect_written(outcome);
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("page"), out + "/report.html");
  EXPECT_EQ(json.at("files").at(0).at("records"), 12);
  EXPECT_EQ(json.at("left_out"), 0);
  const std::vector<std::string> figures = json.at("figures");
  EXPECT_NE(std::find(figures.begin(), figures.end(), "speed_up_by_context"), figures.end()) << outcome.out;
  const std::string page = content(out + "/report.html");
  for (const std::string& name : figures) {
    EXPECT_TRUE(std::filesystem::exists(out + "/figures/" + name + ".csv")) << name;
    EXPECT_NE(page.find("id=\"spec-" + name + "\""), std::string::npos) << name;
  }
  EXPECT_NE(page.find("splitwave report " + folder.file("sweep.jsonl") + " --figure speed_up"), std::string::npos);
}

TEST(Report, NamesWhatItLeavesOut) {
  const TemporaryFolder folder;
  const std::string file = sweep_file(folder);
  const std::string cut = folder.write("cut.jsonl", "{\"workload\": \"w\", \"sched");
  const Outcome outcome = splitwave({"report", file, cut, "--out", folder.file("page")});
  expect_written(outcome);
  EXPECT_NE(outcome.err.find("left out: " + cut + ": line 1: no valid JSON"), std::string::npos) << outcome.err;
  const Outcome strict = splitwave({"report", file, cut, "--out", folder.file("strict"), "--strict"});
  EXPECT_EQ(strict.status, 2);
  EXPECT_FALSE(std::filesystem::exists(folder.file("strict") + "/report.html"));
}

TEST(Report, RefusesWhatThereIsNot) {
  const TemporaryFolder folder;
  const std::string file = sweep_file(folder);
  const auto error = [&](const std::string& option, const std::string& value) {
    const Outcome outcome = splitwave({"report", file, "--out", folder.file("page"), option, value});
    EXPECT_EQ(outcome.status, 2) << option;
    EXPECT_FALSE(std::filesystem::exists(folder.file("page")));
    return outcome.err;
  };
  EXPECT_NE(error("--baseline", "leam").find("did you mean lean?"), std::string::npos);
  EXPECT_NE(error("--figure", "heatmap").find("did you mean heat_map?"), std::string::npos);
  EXPECT_NE(error("--column", "x={y}").find("--column: x={y} is not KEY=TEMPLATE"), std::string::npos);
}

TEST(Report, AsksForItsFolderBeforeItWorks) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "text");
  for (const std::vector<std::string>& what :
       {std::vector<std::string>{"--reproduce"}, {folder.file("there is none")}, {sweep_file(folder)}}) {
    std::vector<std::string> words = {"report", "--out", file + "/page"};
    words.insert(words.end(), what.begin(), what.end());
    const Outcome outcome = splitwave(words);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.err.find(file + ": cannot write: Not a directory"), std::string::npos) << outcome.err;
  }
}

TEST(Report, DrawsWhatEndToEndGives) {
  const TemporaryFolder folder;
  const Outcome records = splitwave({"end-to-end", "--model", "phi-3-medium", "--gpu", "h200", "--prompt", "1k,4k",
                                     "--schedule", "fixed-split:fa2,lean", "--json"});
  ASSERT_EQ(records.status, 0) << records.err;
  const std::string file = folder.write("requests.jsonl", records.out);
  const Outcome outcome =
      splitwave({"report", file, "--out", folder.file("page"), "--json", "--strict", "--baseline", "lean"});
  expect_written(outcome);
  EXPECT_EQ(nlohmann::json::parse(outcome.out).at("figures"), (nlohmann::json{"time_share", "end_to_end"}));
}

TEST(Report, DrawsASweepThenOrLater) {
  const TemporaryFolder folder;
  const std::string out = folder.file("s");
  const Outcome sweep =
      splitwave({"sweep", "-w", "llama-3-8b:1q1s1k", "--schedule", "fa2,lean", "--axis", "context=1k,2k,4k", "--axis",
                 "sms=66,132", "--out", out, "--plot", "heatmap,curve", "--csv"});
  EXPECT_EQ(sweep.status, 0) << sweep.err;
  for (const char* name : {"sweep_heat_map", "sweep_curve"}) {
    EXPECT_TRUE(std::filesystem::exists(out + "/plots/figures/" + name + ".vl.json")) << name;
  }
  // The CSV has all that the lines have.
  EXPECT_EQ(splitwave({"records", "convert", out + "/records.csv", "--to", "jsonl"}).out,
            splitwave({"records", "merge", out + "/records.jsonl"}).out);
  const Outcome later =
      splitwave({"report", out + "/records.jsonl", "--out", folder.file("page"), "--strict", "--json"});
  expect_written(later);
  EXPECT_EQ(content(out + "/plots/figures/sweep_curve.csv"), content(folder.file("page") + "/figures/sweep_curve.csv"));
  const Outcome none = splitwave({"sweep", "-w", "llama-3-8b:1q1s1k", "--schedule", "lean", "--axis", "context=1k,2k",
                                  "--out", folder.file("short"), "--plot", "heatmap"});
  EXPECT_NE(none.err.find("no sweep_heat_map: it needs two axes of numbers"), std::string::npos) << none.err;
}

TEST(Report, DrawsAdvice) {
  const TemporaryFolder folder;
  const std::string out = folder.file("advice");
  const Outcome advice = splitwave({"advise", "--model", "llama-3-8b", "--gpu", "h200", "--batch", "1,4", "--context",
                                    "1k,4k,16k", "--available", "fa3,flashinfer", "--plot", out});
  EXPECT_EQ(advice.status, 0) << advice.err;
  const std::string numbers = content(out + "/figures/sweep_heat_map.csv");
  EXPECT_EQ(std::count(numbers.begin(), numbers.end(), '\n'), 1 + 2 * 3) << numbers;
  EXPECT_TRUE(std::filesystem::exists(out + "/report.html"));
}

TEST(Report, TakesFilesOrThePapers) {
  const Outcome none = splitwave({"report"});
  EXPECT_EQ(none.status, 2);
  EXPECT_NE(none.err.find("allowed: files of records, or --reproduce"), std::string::npos) << none.err;
  EXPECT_EQ(splitwave({"report", "a.jsonl", "--reproduce"}).status, 2);
}

TEST(Report, MachinesWhoseNamesTellNoSizesAreDrawnWithoutPeaks) {
  const TemporaryFolder folder;
  const std::string records =
      splitwave({"simulate", "-w", "llama-3-8b:1q1s4k", "--gpu", "h200", "--schedule", "fa2,lean", "--json"}).out;
  const std::string named = "\"machine\":\"h200\"";
  int number = 0;
  for (const char* machine : {"h200 (sms=nan)", "h200 (sms=-5)", "h200 (sms=1e300)", "h200 (bandwidth=nan)",
                              "h200 (bandwidth=-1)", "h200 (bandwidth=1e300)", "h200 (clock=inf)"}) {
    std::string text = records;
    for (std::size_t at = text.find(named); at != std::string::npos; at = text.find(named, at + 1)) {
      text.replace(at, named.size(), std::string("\"machine\":\"") + machine + '"');
    }
    const std::string out = folder.file(std::to_string(number++));
    const Outcome outcome = splitwave({"report", folder.write("odd.jsonl", text), "--out", out});
    expect_written(outcome);
    EXPECT_NE(content(out + "/report.html").find(machine), std::string::npos) << machine;
  }
}

TEST(Report, NeverReplacesWhatIsThere) {
  const TemporaryFolder folder;
  const std::string file = sweep_file(folder);
  const std::string kept = folder.write("report.html", "earlier");
  EXPECT_EQ(splitwave({"report", file, "--out", folder.path().string()}).status, 2);
  EXPECT_EQ(content(kept), "earlier");
}

}  // namespace
}  // namespace splitwave::tests
