// SPDX-License-Identifier: Apache-2.0
// Every schedule's plan, run on the CPU, gives the oracle's answer, and the same bits for any number of threads.
#include <gtest/gtest.h>

#include <cstring>

#include "cpu_reference/compare.h"
#include "cpu_reference/oracle.h"
#include "cpu_reference/run_plan.h"
#include "schedules/sample.h"
#include "schedules/schedules.h"
#include "schedules/validate.h"
#include "tests/support/battery.h"
#include "workloads/load.h"
#include "workloads/sample.h"
#include "workloads/tensors.h"

namespace splitwave {
namespace {

constexpr std::int64_t kMemoryLimit = std::int64_t{1} << 30;

/// Every schedule, with the arguments that change its plan. The grid is one of few SMs, so that much is split.
constexpr const char* kNames[] = {"fa2",
                                  "fixed-split:3",
                                  "fixed-split:fa2",
                                  "fixed-split:fa2-2.5.6",
                                  "fixed-split:fa3",
                                  "fa3",
                                  "seq-aware",
                                  "seq-aware:evolved",
                                  "lean",
                                  "lean:ort",
                                  "flashinfer",
                                  "flashmla",
                                  "flashmla:etap",
                                  "flashinfer-holistic",
                                  "fixed-size:256"};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

class SameNumbers : public ::testing::TestWithParam<workloads::Workload> {};

TEST_P(SameNumbers, EveryPlanGivesTheOraclesAnswer) {
  const workloads::Workload& workload = GetParam();
  const workloads::Tensors tensors = workloads::make_tensors(workload, kMemoryLimit);
  const cpu_reference::Result<double> exact = cpu_reference::attend(workload, tensors);
  const cpu_reference::Tolerance limit = cpu_reference::tolerance(workload.geometry.dtype);
  for (const char* const name : kNames) {
    for (const std::int32_t sms : {1, 7, 132}) {
      const schedules::Plan plan = schedules::make_plan(name, workload, {sms, 2, 0, 0});
      ASSERT_NO_THROW(schedules::validate(workload, plan)) << name;
      const cpu_reference::Result<float> result = cpu_reference::run_plan(workload, tensors, plan, 2);
      const cpu_reference::Errors errors = cpu_reference::compare(result, exact);
      EXPECT_TRUE(cpu_reference::acceptable(errors, limit))
          << name << " on " << sms << " SMs: relative L2 " << errors.relative_l2 << ", LSE " << errors.lse_max_abs
          << ", " << errors.mismatched_non_finite << " non-finite out of place";
    }
  }
}

TEST_P(SameNumbers, AnyNumberOfThreadsGivesTheSameBits) {
  const workloads::Workload& workload = GetParam();
  const workloads::Tensors tensors = workloads::make_tensors(workload, kMemoryLimit);
  for (const char* const name : {"fa2", "fixed-split:3", "fa3", "lean", "flashinfer-holistic"}) {
    const schedules::Plan plan = schedules::make_plan(name, workload, {7, 2, 0, 0});
    const cpu_reference::Result<float> one = cpu_reference::run_plan(workload, tensors, plan, 1);
    for (const int threads : {2, 3, 7}) {
      const cpu_reference::Result<float> many = cpu_reference::run_plan(workload, tensors, plan, threads);
      EXPECT_TRUE(same_bits(one.output, many.output)) << name << " with " << threads << " threads";
      EXPECT_TRUE(same_bits(one.lse, many.lse)) << name << " with " << threads << " threads";
    }
  }
}

TEST_P(SameNumbers, ASampleHasTheBitsOfTheWhole) {
  const workloads::Workload& workload = GetParam();
  const workloads::Tensors tensors = workloads::make_tensors(workload, kMemoryLimit);
  const std::vector<workloads::KvGroup> groups = workloads::sample_groups(workload, 3);
  const workloads::Workload sample = workloads::sampled_workload(workload, groups);
  const workloads::Tensors part = workloads::make_sampled_tensors(workload, groups, kMemoryLimit);
  const std::int64_t group = workload.geometry.group();
  for (const char* const name : {"fixed-split:3", "lean", "flashinfer-holistic"}) {
    const schedules::Plan plan = schedules::make_plan(name, workload, {7, 2, 0, 0});
    const cpu_reference::Result<float> whole = cpu_reference::run_plan(workload, tensors, plan, 2);
    const cpu_reference::Result<float> result =
        cpu_reference::run_plan(sample, part, schedules::sampled_plan(workload, plan, groups), 2);
    std::vector<float> lse;
    for (const workloads::KvGroup& one : groups) {
      const auto request = static_cast<std::size_t>(one.request);
      for (std::int64_t token = tensors.first_query[request]; token < tensors.first_query[request + 1]; ++token) {
        const auto* const from = whole.lse.data() + token * workload.geometry.query_heads + one.kv_head * group;
        lse.insert(lse.end(), from, from + group);
      }
    }
    EXPECT_TRUE(same_bits(result.lse, lse)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Battery, SameNumbers, ::testing::ValuesIn(testing::battery()),
                         [](const auto& parameter) { return parameter.param.name; });

/// A request's output must not depend on who shares its batch under the schedule made for that, and does under others.
TEST(BatchInvariance, FixedSizeGivesARequestTheSameBitsInAnyBatch) {
  workloads::Workload alone = testing::decode("alone", testing::geometry(8, 2, 64), {6000});
  workloads::Workload batch = alone;
  for (const std::int32_t context_len : {17, 9000, 400}) batch.requests.push_back({1, context_len});
  const auto first_request = [](const workloads::Workload& workload, const char* name) {
    const workloads::Tensors tensors = workloads::make_tensors(workload, kMemoryLimit);
    const schedules::Plan plan = schedules::make_plan(name, workload, {5, 1, 0, 0});
    std::vector<float> output = cpu_reference::run_plan(workload, tensors, plan, 2).output;
    output.resize(8 * 64);
    return output;
  };
  EXPECT_TRUE(same_bits(first_request(alone, "fixed-size:512"), first_request(batch, "fixed-size:512")));
  EXPECT_TRUE(same_bits(first_request(alone, "fixed-size:512"), first_request(batch, "longest-first:512")));
  EXPECT_FALSE(same_bits(first_request(alone, "lean"), first_request(batch, "lean")));
}

}  // namespace
}  // namespace splitwave
