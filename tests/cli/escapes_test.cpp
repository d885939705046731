// SPDX-License-Identifier: Apache-2.0
// Nothing that stands in a file steers a terminal, is a formula of a spreadsheet or a tag of a page.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/cli/process.h"

namespace splitwave::tests {
namespace {

using nlohmann::ordered_json;
using Arguments = std::vector<std::string>;

/// Sets the window's title, begins a line, turns red (by one C1 byte) and right to left.
const std::string kHostile =
    "x\x1b]0;title\x07\n\xc2\x9b"
    "31m\xe2\x80\xae<script>";

void expect_tame(const std::string& text, const std::string& what) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(base::is_plain_line(line)) << what << ": " << base::printable(line, 1000);
  }
}

void expect_tame(const Arguments& arguments, const std::string& what) {
  const Outcome outcome = splitwave(arguments);
  EXPECT_TRUE(outcome.status == 0 || outcome.status == 2) << what << ": " << outcome.status;
  const auto lines = std::count(outcome.err.begin(), outcome.err.end(), '\n');
  EXPECT_TRUE(outcome.status == 0 || lines == 1) << what;
  expect_tame(outcome.out, what);
  expect_tame(outcome.err, what);
}

/// The document once with each of its texts, and once with each of its keys, replaced.
std::vector<std::string> with_hostile_texts(const ordered_json& document) {
  std::vector<std::string> result;
  const ordered_json flat = document.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    ordered_json changed = document;
    changed[ordered_json::json_pointer(pointer)] = kHostile;
    result.push_back(changed.dump());
    const ordered_json::json_pointer parent = ordered_json::json_pointer(pointer).parent_pointer();
    if (!document[parent].is_object()) continue;
    changed = document;
    changed[parent][kHostile] = value;
    result.push_back(changed.dump());
  }
  return result;
}

ordered_json shipped(const std::string& path) {
  return ordered_json::parse(content(std::string(SPLITWAVE_SOURCE_FOLDER) + "/" + path));
}

const ordered_json kWorkload = {{"format", 1},
                                {"name", "w"},
                                {"note", "n"},
                                {"geometry", {{"query_heads", 8}, {"kv_heads", 2}, {"head_dim", 64}, {"dtype", "f16"}}},
                                {"requests", {{{"context_len", 64}}}}};

TEST(Escapes, TextsAndKeysOfDocuments) {
  const TemporaryFolder folder;
  const std::string file = folder.file("hostile.json");
  ordered_json suite = {{"format", 1}, {"suite", "s"}, {"note", "n"}, {"workloads", {kWorkload}}};
  suite["workloads"][0].erase("format");
  suite["workloads"][0]["sweep"] = {{"requests[0].context_len", {64, 128}}};
  ordered_json config = {{"model_type", "llama"}, {"num_attention_heads", 32}, {"num_key_value_heads", 8},
                         {"hidden_size", 4096},   {"torch_dtype", "float16"},  {"architectures", {"LlamaForCausalLM"}}};
  const std::vector<std::pair<ordered_json, Arguments>> all = {
      {kWorkload, {"simulate", "-w", file, "--schedule", "fa2"}},
      {kWorkload, {"workload", "show", "-w", file}},
      {suite, {"simulate", "-w", file, "--schedule", "fa2"}},
      {config, {"workload", "import", file, "--batch", "1q1s64"}},
      {shipped("simulator/machines/a100.json"),
       {"simulate", "-w", "llama-3-8b:1q1s64", "--gpu", file, "--schedule", "fa2"}},
      {shipped("simulator/machines/a100.json"), {"gpus", file}},
      {shipped("simulator/kernels/flashmla.json"),
       {"simulate", "-w", "deepseek-v3:1q1s64", "--kernel", file, "--schedule", "flashmla"}}};
  for (const auto& [document, arguments] : all) {
    folder.write("hostile.json", document.dump());
    for (const std::string& text : with_hostile_texts(document)) {
      folder.write("hostile.json", text);
      expect_tame(arguments, arguments.front() + " " + base::printable(text, 300));
    }
  }
}

TEST(Escapes, TracesAndArguments) {
  const TemporaryFolder folder;
  const Arguments import = {"workload", "import", folder.file("trace"), "--model", "llama-3-8b"};
  for (const std::string& text :
       {kHostile, "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.97," + kHostile + ",10\n",
        "TIMESTAMP,ContextTokens," + kHostile + "\n2023-11-16 18:17:03.97,12,10\n",
        "TIMESTAMP,ContextTokens,GeneratedTokens\n" + kHostile + ",12,10\n",
        "{\"timestamp\": 0, \"input_length\": 6, \"output_length\": 5, \"" + ordered_json(kHostile).dump().substr(1) +
            ": 1}\n"}) {
    folder.write("trace", text);
    expect_tame(import, base::printable(text, 300));
  }
  for (const Arguments& arguments :
       {Arguments{"simulate", "-w", kHostile},
        {"simulate", "-w", "llama-3-8b:1q1s64", "--gpu", kHostile},
        {"simulate", "-w", "llama-3-8b:1q1s64", "--schedule", kHostile},
        {"simulate", "-w", "llama-3-8b:1q1s64", "--kernel", kHostile},
        {"simulate", "-w", "llama-3-8b:1q1s64", "--sms", kHostile},
        {kHostile},
        {"simulate", "-w", "llama-3-8b:1q1s64", "--" + kHostile},
        {"simulate", "-w", "llama-3-8b:1q1s64", kHostile},
        {"run", "-w", "llama-3-8b:1q1s64", "--algorithm", kHostile},
        {"sweep", "-w", "llama-3-8b:1q1s64", "--axis", kHostile, "--out", folder.file("s")},
        {"sweep", "-w", "llama-3-8b:1q1s64", "--axis", "context=" + kHostile, "--out", folder.file("s")},
        {"sweep", "-w", "llama-3-8b:1q1s64", "--shard", kHostile, "--out", folder.file("s")},
        {"advise", "--model", kHostile, "--gpu", "h200"},
        {"explain", "-w", "llama-3-8b:1q1s64", "--gantt", folder.file("none/" + kHostile)},
        {"explain", "-w", "llama-3-8b:1q1s64", "--gantt", folder.file(kHostile + "/f")},
        {"simulate", "-w", "llama-3-8b:1q1s64", "--out", "/proc/" + kHostile}}) {
    expect_tame(arguments, base::printable(arguments.back(), 300));
  }
}

// What a user names is shown where it is taken, too.
TEST(Escapes, PathsThatAreTaken) {
  const TemporaryFolder folder;
  const std::string workload = folder.write(kHostile + ".json", kWorkload.dump());
  const std::string kernel = folder.write(
      kHostile + ".kernel.json", content(std::string(SPLITWAVE_SOURCE_FOLDER) + "/simulator/kernels/fa2-split.json"));
  const std::string out = folder.file(kHostile);
  for (const Arguments& arguments :
       {Arguments{"workload", "validate", workload},
        {"workload", "tensors", "-w", workload, "--out", out},
        {"simulate", "-w", workload, "--schedule", "fa2", "--kernel", kernel},
        {"sweep", "-w", workload, "--axis", "sms=1:3", "--schedule", "fa2", "--out", out + "1"},
        {"sweep", "-w", workload, "--axis", "sms=1:3", "--schedule", "fa2", "--out", out + "2", "--shard", "1/2"}}) {
    EXPECT_EQ(splitwave(arguments).status, 0) << arguments.front();
    std::filesystem::remove_all(out);
    std::filesystem::remove_all(out + "1");
    std::filesystem::remove_all(out + "2");
    expect_tame(arguments, arguments.front() + " " + arguments[1]);
  }
}

TEST(Escapes, NamesInReportsAndTables) {
  const TemporaryFolder folder;
  const std::string name = "=cmd|' /C calc'!A0<script>alert(1)</script>[x](http://y)`z`";
  ordered_json workload = kWorkload;
  workload["name"] = name;
  ordered_json machine = shipped("simulator/machines/a100.json");
  machine["name"] = name;
  const std::string out = folder.file("out");
  const Outcome outcome =
      splitwave({"compare", "-w", folder.write("w.json", workload.dump()), "--gpu",
                 folder.write("m.json", machine.dump()), "--schedule", "fa2,lean", "--samples", "1", "--out", out});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const std::string report = content(out + "/report.md");
  EXPECT_EQ(report.find("<script"), std::string::npos);
  EXPECT_NE(report.find("&lt;script>alert(1)&lt;/script>\\[x](http://y)`z`"), std::string::npos) << report;
  EXPECT_EQ(content(out + "/figures/speed_up.svg").find("<script"), std::string::npos);
  std::istringstream lines(content(out + "/records.csv"));
  std::string line;
  std::getline(lines, line);
  for (int records = 0; std::getline(lines, line); ++records) EXPECT_EQ(line.rfind("'=cmd|", 0), 0U) << line;
  const std::string gantt = folder.file("g.svg");
  ASSERT_EQ(
      splitwave({"explain", "-w", folder.file("w.json"), "--gpu", folder.file("m.json"), "--gantt", gantt}).status, 0);
  EXPECT_EQ(content(gantt).find("<script"), std::string::npos);
}

}  // namespace
}  // namespace splitwave::tests
