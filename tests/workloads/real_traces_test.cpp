// SPDX-License-Identifier: Apache-2.0
// The published traces themselves, where the environment variable SPLITWAVE_TRACES names a folder that holds them:
// azure_2023_code.csv, azure_2023_conv.csv, mooncake_conversation.jsonl. They are not part of the project.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "workloads/generate.h"
#include "workloads/import.h"
#include "workloads/load.h"
#include "workloads/replay.h"

namespace splitwave::workloads {
namespace {

struct Published {
  const char* file;
  const char* distribution;
  std::size_t requests;
  std::int32_t median_prompt;
  double mean_prompt;
  double mean_output;
};

class RealTrace : public testing::TestWithParam<Published> {
 protected:
  std::vector<TraceRequest> read() const {
    const char* folder = std::getenv("SPLITWAVE_TRACES");
    if (folder == nullptr) return {};
    const std::string path = std::filesystem::path(folder) / GetParam().file;
    return import_trace(base::read_text_file(path), path);
  }
};

// Linear between order statistics, as lengths.json was made.
std::int32_t quantile(const std::vector<std::int32_t>& sorted, double p) {
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = place - static_cast<double>(below);
  return static_cast<std::int32_t>(std::nearbyint(sorted[below] + share * (sorted[above] - sorted[below])));
}

TEST_P(RealTrace, HasThePublishedFiguresAndIsWhatTheLengthsWereMadeFrom) {
  const std::vector<TraceRequest> trace = read();
  if (trace.empty()) GTEST_SKIP() << "SPLITWAVE_TRACES is not set";
  ASSERT_EQ(trace.size(), GetParam().requests);
  std::vector<std::int32_t> prompts;
  std::vector<std::int32_t> outputs;
  double prompt_sum = 0;
  double output_sum = 0;
  for (const TraceRequest& request : trace) {
    prompts.push_back(request.prompt_tokens);
    outputs.push_back(request.output_tokens);
    prompt_sum += request.prompt_tokens;
    output_sum += request.output_tokens;
  }
  EXPECT_NEAR(prompt_sum / static_cast<double>(trace.size()), GetParam().mean_prompt, 0.5);
  EXPECT_NEAR(output_sum / static_cast<double>(trace.size()), GetParam().mean_output, 0.5);
  std::sort(prompts.begin(), prompts.end());
  std::sort(outputs.begin(), outputs.end());
  EXPECT_EQ(quantile(prompts, 0.5), GetParam().median_prompt);
  const auto& all = length_distributions();
  const auto lengths = std::find_if(all.begin(), all.end(),
                                    [](const LengthDistribution& d) { return d.name == GetParam().distribution; });
  ASSERT_NE(lengths, all.end());
  for (std::size_t i = 0; i < lengths->probabilities.size(); ++i) {
    EXPECT_EQ(lengths->prompt_tokens[i], quantile(prompts, lengths->probabilities[i])) << i;
    EXPECT_EQ(lengths->output_tokens[i], quantile(outputs, lengths->probabilities[i])) << i;
  }
}

TEST_P(RealTrace, ReplaysIntoRaggedBatches) {
  const std::vector<TraceRequest> trace = read();
  if (trace.empty()) GTEST_SKIP() << "SPLITWAVE_TRACES is not set";
  const ReplayOptions options{32, 0.03};
  const std::vector<DecodeStep> steps = sample_decode_steps(trace, options, 50, 1);
  ASSERT_EQ(steps.size(), 50U);
  std::size_t ragged = 0;
  for (const DecodeStep& step : steps) {
    EXPECT_LE(step.requests.size(), 32U);
    const Request& first = step.requests.front();
    ragged += std::any_of(step.requests.begin(), step.requests.end(), [&](const Request& r) { return !(r == first); });
  }
  EXPECT_GE(ragged, 20U);
  const std::vector<Workload> workloads = workloads_of_steps(parse_spec("llama-3.1-8b:q1s1"), steps);
  for (const Workload& workload : workloads) EXPECT_EQ(parse_json(to_json(workload), "again").at(0), workload);
}

INSTANTIATE_TEST_SUITE_P(
    Published, RealTrace,
    testing::Values(Published{"azure_2023_code.csv", "azure-2023-code", 8819, 1469, 2047.8, 27.9},
                    Published{"azure_2023_conv.csv", "azure-2023-conv", 19366, 1020, 1154.7, 211.1},
                    Published{"mooncake_conversation.jsonl", "mooncake-conversation", 12031, 6909, 12035, 343}));

}  // namespace
}  // namespace splitwave::workloads
