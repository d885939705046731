// SPDX-License-Identifier: Apache-2.0
// A schedule that the project does not ship goes everywhere that shipped ones go, without a change to the project.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "base/memory.h"
#include "cpu_reference/compare.h"
#include "cpu_reference/oracle.h"
#include "cpu_reference/run_plan.h"
#include "schedules/validate.h"
#include "studies/explain.h"
#include "studies/predict.h"
#include "studies/sweep_evaluate.h"
#include "studies/sweep_space.h"
#include "tests/pipeline/halves.h"
#include "tests/support/battery.h"
#include "workloads/load.h"
#include "workloads/tensors.h"

namespace splitwave {
namespace {

/// The one line that a user adds.
const bool added = (schedules::add(tests::halves_row()), true);

TEST(OwnSchedule, IsInTheTableOnce) {
  ASSERT_TRUE(added);
  EXPECT_EQ(schedules::find("halves").summary, "every output in two halves");
  EXPECT_THROW(schedules::add(tests::halves_row()), std::logic_error);
  EXPECT_THROW(schedules::add({}), std::logic_error);
}

TEST(OwnSchedule, ItsPlansAreValidAndComputeAttention) {
  for (const workloads::Workload& workload : testing::battery()) {
    const schedules::Plan plan = schedules::make_plan("halves", workload, {});
    EXPECT_TRUE(schedules::violations(workload, plan).empty()) << workload.name;
    const workloads::Tensors tensors = workloads::make_tensors(workload, base::available_memory_bytes() / 2);
    const cpu_reference::Errors errors = cpu_reference::compare(cpu_reference::run_plan(workload, tensors, plan, 2),
                                                                cpu_reference::attend(workload, tensors));
    EXPECT_TRUE(cpu_reference::acceptable(errors, cpu_reference::tolerance(workload.geometry.dtype))) << workload.name;
  }
}

TEST(OwnSchedule, IsPredictedExplainedAndSwept) {
  const workloads::Workload workload = workloads::parse_spec("llama-3-8b:2q1s8k");
  const studies::Target h200 = studies::target("h200");
  const studies::Prediction made = studies::predict(workload, "halves", h200);
  EXPECT_EQ(made.kernel.name, "fa2-split");
  EXPECT_EQ(made.plan.num_splits, 2);
  EXPECT_EQ(made.timeline.seconds, studies::predict(workload, "fixed-split:2", h200).timeline.seconds);
  EXPECT_EQ(studies::explain("halves", workload, h200).timeline.seconds, made.timeline.seconds);
  const studies::SweepSpace space = studies::make_space({h200}, {workload}, {"context=4k,8k"}, {"halves"});
  EXPECT_NE(studies::SweepEvaluator(space, 1, "c", "v").lines(0, 2).find("\"schedule\":\"halves\""), std::string::npos);
}

}  // namespace
}  // namespace splitwave
