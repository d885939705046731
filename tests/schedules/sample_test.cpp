// SPDX-License-Identifier: Apache-2.0
// Parts of plans.
#include "schedules/sample.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "schedules/schedules.h"
#include "schedules/validate.h"
#include "tests/support/battery.h"

namespace splitwave::schedules {
namespace {

constexpr const char* kNames[] = {"fa2",        "fixed-split:3",       "fa3",           "lean",
                                  "flashinfer", "flashinfer-holistic", "fixed-size:256"};

TEST(SampledPlan, IsValidAndHoldsTheItemsOfItsGroups) {
  for (const workloads::Workload& workload : testing::battery()) {
    for (const char* const name : kNames) {
      const Plan plan = make_plan(name, workload, {7, 2, 0, 0});
      for (const std::int64_t count : {1, 3, 1000000}) {
        const std::vector<workloads::KvGroup> groups = workloads::sample_groups(workload, count);
        const workloads::Workload part = workloads::sampled_workload(workload, groups);
        const Plan sample = sampled_plan(workload, plan, groups);
        const std::vector<std::string> problems = violations(part, sample);
        ASSERT_TRUE(problems.empty()) << workload.name << " by " << name << ": " << problems.front();
        const auto in_sample = [&](const Item& item) {
          const OutputTile& output = plan.outputs[static_cast<std::size_t>(item.output)];
          const workloads::KvGroup group{output.request, kv_head(workload, output)};
          return std::find(groups.begin(), groups.end(), group) != groups.end();
        };
        EXPECT_EQ(sample.items.size(),
                  static_cast<std::size_t>(std::count_if(plan.items.begin(), plan.items.end(), in_sample)));
        if (count > 1000) {
          EXPECT_EQ(sample.items.size(), plan.items.size());
          EXPECT_EQ(sample.merges.size(), plan.merges.size());
        }
      }
    }
  }
}

}  // namespace
}  // namespace splitwave::schedules
