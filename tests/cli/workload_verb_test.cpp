// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/cli/process.h"
#include "workloads/load.h"

namespace splitwave::tests {
namespace {

std::vector<workloads::Workload> parsed(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  return workloads::parse_json(outcome.out, "stdout");
}

TEST(WorkloadVerb, ShownJsonIsTheWorkload) {
  EXPECT_EQ(parsed(splitwave({"workload", "show", "-w", "real", "--json"})), workloads::load("real"));
}

TEST(WorkloadVerb, ShowSummarizes) {
  const std::string text = splitwave({"workload", "show", "-w", "llama-3-8b:2q1s512_1q4s4k"}).out;
  EXPECT_NE(text.find("32/8"), std::string::npos) << text;
  EXPECT_NE(text.find("512 / 512 / 4096"), std::string::npos) << text;
}

TEST(WorkloadVerb, SeedOverridesTheFiles) {
  for (const workloads::Workload& workload :
       parsed(splitwave({"workload", "show", "-w", "real", "--seed", "99", "--json"}))) {
    EXPECT_EQ(workload.seed, 99U);
  }
}

TEST(WorkloadVerb, ValidateCountsWorkloads) {
  const Outcome outcome = splitwave({"workload", "validate", "llama-3-8b:1q1s8", "llama-3-8b:2q1s8"});
  EXPECT_EQ(outcome.out, "llama-3-8b:1q1s8: 1 workload, valid\nllama-3-8b:2q1s8: 1 workload, valid\n");
}

TEST(WorkloadVerb, GenerateMakesWhatWasAskedFor) {
  const TemporaryFolder folder;
  const Outcome outcome =
      splitwave({"workload", "generate", "one_long", "--model", "llama-3-8b", "--batch", "4", "--long-context-len",
                 "1000", "--short-context-len", "10", "--seed", "5", "--output", folder.file("w.jsonl")});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const workloads::Workload workload = workloads::load(folder.file("w.jsonl")).at(0);
  EXPECT_EQ(workload.seed, 5U);
  int total = 0;
  for (const workloads::Request& request : workload.requests) {
    total += request.context_len;
  }
  EXPECT_EQ(workload.requests.size(), 4U);
  EXPECT_EQ(total, 1030);
}

TEST(WorkloadVerb, ImportsAModelWithABatch) {
  const TemporaryFolder folder;
  const std::string config = folder.write(
      "config.json",
      R"({"model_type":"llama","num_attention_heads":32,"num_key_value_heads":8,"hidden_size":4096,"num_hidden_layers":32})");
  const std::vector<workloads::Workload> made =
      parsed(splitwave({"workload", "import", config, "--batch", "3q1s100", "--tensor-parallel", "2"}));
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].geometry.query_heads, 16);
  EXPECT_EQ(made[0].geometry.kv_heads, 4);
  EXPECT_EQ(made[0].requests, std::vector<workloads::Request>(3, workloads::Request{1, 100}));
}

TEST(WorkloadVerb, ImportsStepsOfATrace) {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 20; ++i) {
    lines += R"({"timestamp":)" + std::to_string(i * 100) + R"(,"input_length":)" + std::to_string(100 + i) +
             R"(,"output_length":50,"hash_ids":[]})" + "\n";
  }
  const std::string trace = folder.write("mooncake.jsonl", lines);
  const std::vector<std::string> arguments = {"workload", "import", trace,           "--model", "llama-3-8b,dtype=bf16",
                                              "--steps",  "5",      "--max-running", "4",       "--seed",
                                              "3"};
  const std::vector<workloads::Workload> made = parsed(splitwave(arguments));
  ASSERT_EQ(made.size(), 5U);
  EXPECT_EQ(made, parsed(splitwave(arguments)));
  for (const workloads::Workload& workload : made) {
    EXPECT_EQ(workload.geometry.dtype, workloads::Dtype::bf16);
    EXPECT_GE(workload.requests.size(), 1U);
    EXPECT_LE(workload.requests.size(), 4U);
  }
}

TEST(WorkloadVerb, ImportsALongBatchUnderAShortName) {
  const TemporaryFolder folder;
  const std::string config = folder.write(
      "config.json",
      R"({"model_type":"llama","num_attention_heads":32,"num_key_value_heads":8,"hidden_size":4096,"num_hidden_layers":32})");
  std::string batch = "1q1s100";
  for (int i = 1; i < 300; ++i) batch += "_1q1s" + std::to_string(100 + i);
  const std::vector<workloads::Workload> made = parsed(splitwave({"workload", "import", config, "--batch", batch}));
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].requests.size(), 300U);
  EXPECT_LT(made[0].name.size(), 150U);
}

TEST(WorkloadVerb, ImportsATraceWithALongFileName) {
  const TemporaryFolder folder;
  const std::string trace = folder.write(std::string(240, 't') + ".csv",
                                         "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:00,8,4\n");
  EXPECT_EQ(parsed(splitwave({"workload", "import", trace, "--model", "llama-3-8b"})).size(), 4U);
}

}  // namespace
}  // namespace splitwave::tests
