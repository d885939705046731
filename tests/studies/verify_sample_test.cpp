// SPDX-License-Identifier: Apache-2.0
// Outputs of workloads whose K and V have more than 2^32 elements, judged by a sample.
#include "studies/verify_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "cpu_reference/run_plan.h"
#include "schedules/sample.h"
#include "schedules/schedules.h"
#include "workloads/load.h"
#include "workloads/sample.h"

namespace splitwave::studies {
namespace {

constexpr std::int64_t kGroups = 5;

/// The output of a whole batch, NaN but for the rows of the sample.
std::vector<float> sampled_output(const workloads::Workload& w) {
  const std::vector<workloads::KvGroup> groups = workloads::sample_groups(w, kGroups);
  const workloads::Tensors tensors = workloads::make_sampled_tensors(w, groups, std::int64_t{1} << 30);
  const schedules::Plan plan = schedules::make_plan("lean", w, {132, 2, 0, 0});
  const cpu_reference::Result<float> result = cpu_reference::run_plan(workloads::sampled_workload(w, groups), tensors,
                                                                      schedules::sampled_plan(w, plan, groups), 2);
  const std::int64_t row = std::int64_t{w.geometry.group()} * w.geometry.value_dim;
  std::vector<float> output(w.requests.size() * static_cast<std::size_t>(w.geometry.kv_heads * row),
                            std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t i = 0; i < kGroups; ++i) {
    const workloads::KvGroup& group = groups[static_cast<std::size_t>(i)];
    const std::int64_t at = (std::int64_t{group.request} * w.geometry.kv_heads + group.kv_head) * row;
    std::copy_n(result.output.begin() + i * row, row, output.begin() + at);
  }
  return output;
}

TEST(VerifySample, JudgesBatchesOf100000RequestsAndMoreThanTwoToThe32Elements) {
  const workloads::Workload w = workloads::parse_spec("h=16/8,d=8:100000q1s1000");  // K: 6.4e9 elements
  std::vector<float> output = sampled_output(w);
  const auto judge = [&](std::int64_t groups) {
    return verify_sample(w, base::c_order_view(output.data(), base::ElementType::f32, {100000, 16, 8}), std::nullopt,
                         false, {}, groups);
  };
  const cpu_reference::Verification good = judge(kGroups);
  EXPECT_TRUE(good.passed) << good.rules.front().text;
  EXPECT_EQ(good.rows, kGroups * 2);
  EXPECT_FALSE(judge(kGroups + 1).passed) << "rows that were not computed are NaN";
  output.back() += 0.01F;
  const cpu_reference::Verification bad = judge(kGroups);
  EXPECT_FALSE(bad.passed);
  EXPECT_EQ(bad.worst->at.request, 99999);
  EXPECT_EQ(bad.worst->at.head, 15);
  EXPECT_EQ(bad.worst->at.element, 7);
}

}  // namespace
}  // namespace splitwave::studies
