// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "schedules/plan_json.h"
#include "schedules/validate.h"
#include "tests/cli/process.h"
#include "tests/reports/golden.h"
#include "workloads/load.h"

namespace splitwave::tests {
namespace {

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(nlohmann::json::parse(line));
  }
  return lines;
}

TEST(Plan, OfTwoSmallWorkloadsIsAsApproved) {
  for (const auto& [name, workload] :
       {std::pair{"uniform", "llama-3-8b:2q1s4k"}, {"ragged", "llama-3-8b:7q1s512_1q1s32k"}}) {
    const std::vector<std::string> arguments = {
        "plan", "-w", workload, "--gpu", "h200", "--schedule", "fa2,fixed-split:fa2,fixed-split:4,fa3,lean"};
    std::vector<std::string> with_json = arguments;
    with_json.emplace_back("--json");
    const Outcome outcome = splitwave(arguments);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    expect_golden(std::string("plan-") + name + ".txt", outcome.out);
    expect_golden(std::string("plan-") + name + ".jsonl", splitwave(with_json).out);
  }
}

TEST(Plan, JsonHasThePromisedKeys) {
  const Outcome outcome = splitwave({"plan", "-w", "llama-3-8b:2q1s4k", "--gpu", "h100-sxm", "--json"});
  const std::vector<nlohmann::json> plans = json_lines(outcome.out);
  ASSERT_GE(plans.size(), 4U);
  for (const nlohmann::json& plan : plans) {
    for (const char* key : {"workload", "machine", "schedule", "num_splits", "splits_per_request", "ctas", "items",
                            "merges", "waves", "quantization_efficiency", "tile_q", "tile_kv", "reason"}) {
      EXPECT_TRUE(plan.contains(key)) << key << " in " << plan;
    }
    EXPECT_EQ(plan["splits_per_request"].size(), 2U);
  }
}

TEST(Plan, AnotherMergeIsPartOfTheSchedulesName) {
  const Outcome outcome = splitwave({"plan", "-w", "llama-3-8b:1q1s8k", "--gpu", "h200", "--schedule",
                                     "fixed-split:4+last_arriver,lean+kernel", "--json"});
  const std::vector<nlohmann::json> plans = json_lines(outcome.out);
  ASSERT_EQ(plans.size(), 2U) << outcome.err;
  EXPECT_EQ(plans[0]["schedule"], "fixed-split:4+last_arriver");
  EXPECT_EQ(plans[0]["merge"], "last_arriver");
  EXPECT_EQ(plans[1]["schedule"], "lean+kernel");
  EXPECT_EQ(plans[1]["merge"], "kernel");
  const Outcome bad = splitwave({"plan", "-w", "llama-3-8b:1q1s8k", "--gpu", "h200", "--schedule", "lean+host"});
  EXPECT_EQ(bad.status, 2);
  EXPECT_EQ(bad.err,
            "splitwave: schedule lean: merge 'host' is not allowed; allowed is kernel, host_cta or last_arriver\n");
  EXPECT_NE(splitwave({"schedules"}).out.find("kernel, host_cta or last_arriver"), std::string::npos);
}

TEST(Plan, SchedulesThatCannotRunAreListedAmongOthers) {
  const std::vector<std::string> arguments = {"plan",       "-w",      "llama-3-8b:1q1s512", "--gpu", "l40s,h200",
                                              "--schedule", "fa3,lean"};
  const Outcome text = splitwave(arguments);
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("fa3 cannot run llama-3-8b:1q1s512 on l40s: "), std::string::npos) << text.out;
  std::vector<std::string> with_json = arguments;
  with_json.emplace_back("--json");
  const std::vector<nlohmann::json> lines = json_lines(splitwave(with_json).out);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0]["schedule"], "fa3");
  EXPECT_NE(lines[0]["failure"].get<std::string>().find("wgmma"), std::string::npos);
  EXPECT_FALSE(lines[1].contains("failure"));
}

TEST(Plan, FullPlanReadsBackAndIsValid) {
  const std::string spec = "llama-3-8b:7q1s512_1q1s32k";
  const Outcome outcome = splitwave({"plan", "-w", spec, "--schedule", "lean", "--json", "--full"});
  const workloads::Workload workload = workloads::load(spec).at(0);
  const schedules::Plan plan = schedules::plan_from_json(workload, outcome.out, "plan");
  EXPECT_EQ(plan.schedule, "lean");
  EXPECT_TRUE(schedules::violations(workload, plan).empty());
}

TEST(Plan, OverridesReachTheGrid) {
  const auto ctas = [](const std::vector<std::string>& overrides) {
    std::vector<std::string> arguments = {"plan", "-w", "llama-3-8b:8q1s32k", "--schedule", "lean", "--json"};
    arguments.insert(arguments.end(), overrides.begin(), overrides.end());
    return json_lines(splitwave(arguments).out).at(0)["ctas"].get<int>();
  };
  EXPECT_EQ(ctas({"--sms", "50", "--ctas-per-sm", "1"}), 50);
  EXPECT_EQ(ctas({"--sms", "50", "--ctas-per-sm", "2"}), 100);
}

}  // namespace
}  // namespace splitwave::tests
