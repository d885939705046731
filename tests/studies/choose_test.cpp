// SPDX-License-Identifier: Apache-2.0
#include "studies/choose.h"

#include <gtest/gtest.h>

#include "schedules/schedules.h"
#include "simulator/kernel.h"
#include "simulator/machine.h"
#include "studies/records.h"
#include "studies/target.h"
#include "tests/studies/target.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

Target h200() {
  Target target;
  target.machine = simulator::load_machine("h200");
  target.name = "h200";
  return target;
}

// But for lists of several items, which have to be 3 % faster.
TEST(AutoSchedule, IsNoSlowerThanAnyMainSchedule) {
  for (const char* spec : {"llama-3-8b:1q1s32k", "llama-3-8b:64q1s1k", "llama-3-8b:15q1s512_1q1s64k"}) {
    const workloads::Workload workload = workloads::load(spec).at(0);
    const Prediction chosen = predict(workload, "auto", h200());
    EXPECT_TRUE(chosen.by_auto);
    EXPECT_NE(chosen.plan.schedule, "auto");
    EXPECT_EQ(chosen.plan.reason.rfind("auto: ", 0), 0U) << chosen.plan.reason;
    bool reached = false;
    for (const std::string& name : schedules::default_names()) {
      const double seconds = predict(workload, name, h200()).timeline.seconds;
      EXPECT_LE(chosen.timeline.seconds, 1.03 * seconds) << spec << " by " << name;
      reached = reached || chosen.timeline.seconds == seconds;
    }
    EXPECT_TRUE(reached) << spec;
  }
}

TEST(AutoSchedule, PutsTheHeadsOfARequestSideBySideWhereNothingIsCut) {
  for (const char* spec : {"h=68/17,d=64:484q1s230", "h=14/14,d=128:139q1s779"}) {
    const workloads::Workload workload = workloads::load(spec).at(0);
    const Prediction chosen = predict(workload, "auto", tests::own_kernels());
    ASSERT_EQ(chosen.plan.lists(), workload.geometry.kv_heads * static_cast<std::int32_t>(workload.requests.size()));
    EXPECT_EQ(chosen.plan.outputs[0].request, 0);
    EXPECT_EQ(chosen.plan.outputs[1].request, 0) << spec;
    EXPECT_LT(chosen.timeline.seconds, predict(workload, "fixed-split:1", tests::own_kernels()).timeline.seconds)
        << spec;
  }
}

// Such lists come out too fast more often than other plans: one that is predicted 2 % faster took 5 % longer.
TEST(AutoSchedule, TakesListsOfItemsOnlyWhereTheyAreClearlyFaster) {
  const Target h100 = tests::own_kernels("h100-sxm-calibrated");
  const workloads::Workload close = workloads::parse_spec("h=72/24,d=128,page=64:145q6s1089");
  const Prediction chosen = predict(close, "auto", h100);
  EXPECT_EQ(chosen.plan.items.size(), static_cast<std::size_t>(chosen.plan.lists()));
  EXPECT_LT(predict(close, "lean", h100).timeline.seconds, chosen.timeline.seconds);
  const workloads::Workload clear = workloads::parse_spec("h=57/19,d=256:301q4s195");
  const Prediction lists = predict(clear, "auto", h100);
  EXPECT_GT(lists.plan.items.size(), static_cast<std::size_t>(lists.plan.lists()));
}

// Of heads of 64 elements neighbours that do not stay in step cost more than a choice between plans.
TEST(AutoSchedule, ReadsHeadsOf64ElementsInPairs) {
  for (const char* spec : {"h=48/48,d=64:6q1s64k", "h=32/8,d=64:32q1s8k", "h=64/8,d=64:32q1s8k"}) {
    const workloads::Workload workload = workloads::load(spec).at(0);
    const Prediction chosen = predict(workload, "auto", tests::own_kernels());
    EXPECT_EQ(chosen.kernel.kv_heads, 2) << spec << " " << chosen.kernel.config;
  }
  const workloads::Workload odd = workloads::load("h=47/47,d=64:6q1s64k").at(0);
  EXPECT_EQ(predict(odd, "auto", tests::own_kernels()).kernel.kv_heads, 1);
}

// What is predicted to be faster by less than such plans have come out too fast is not taken.
TEST(AutoSchedule, TakesClustersInSeveralWavesOnlyWhereTheyAreWellAhead) {
  const workloads::Workload few = workloads::load("h=6/2,d=128:2q1s155").at(0);
  EXPECT_EQ(predict(few, "auto", tests::own_kernels()).kernel.most_tokens > 0, true) << "one wave";
  for (const char* spec : {"h=27/9,d=256:84q1s191", "h=20/20,d=128:23q1s385", "h=4/2,d=128:342q1s499"}) {
    const workloads::Workload workload = workloads::load(spec).at(0);
    const Prediction chosen = predict(workload, "auto", tests::own_kernels());
    if (chosen.kernel.cluster < 4 || chosen.kernel.most_tokens == 0 || chosen.timeline.waves <= 1) continue;
    for (const char* name : {"fixed-size:1536", "fixed-split:fa3"}) {
      EXPECT_LT(chosen.timeline.seconds * 1.06, predict(workload, name, tests::own_kernels()).timeline.seconds) << spec;
    }
  }
}

// Eight or ten clusters of 16 find room on an H200, but two of them on the SMs of one GPC, and take 1.1 to 1.2 times as
// long as clusters of eight; seven of them are ahead.
TEST(AutoSchedule, TakesClustersThatShareSmsOnlyWhereTheyAreWellAhead) {
  for (const char* spec : {"h=32/8,d=128:1q1s1k", "h=32/8,d=128:1q1s2k", "h=40/10,d=128:1q1s1k"}) {
    EXPECT_EQ(predict(workloads::load(spec).at(0), "auto", tests::own_kernels()).kernel.cluster, 8) << spec;
  }
  EXPECT_EQ(predict(workloads::load("h=28/7,d=128:1q1s2k").at(0), "auto", tests::own_kernels()).kernel.cluster, 16);
}

// Batches of four judgements whose choice was 7 to 19 % slower than what a schedule by its own rule was predicted to
// take, and did take: such plans were not among the candidates.
TEST(AutoSchedule, KnowsWhatSchedulesDoByTheirOwnRules) {
  for (const char* spec :
       {"h=110/2,d=256:2q1s152", "h=90/18,d=128:50q1s160", "h=49/1,d=128,page=64:3q1s131809",
        "h=75/3,d=256,page=64:3q1s7612_6q1s900_9q1s2000", "h=26/2,d=256,page=64:1q3s186781_4q3s9000_8q3s30000"}) {
    const workloads::Workload workload = workloads::load(spec).at(0);
    const Prediction chosen = predict(workload, "auto", tests::own_kernels());
    for (const std::string& name : schedules::default_names({&workload, 1})) {
      const double seconds = predict(workload, name, tests::own_kernels()).timeline.seconds;
      EXPECT_LE(chosen.timeline.seconds, 1.04 * seconds) << spec << " by " << name;
    }
  }
}

TEST(AutoSchedule, SkipsSchedulesThatCannotServeTheWorkload) {
  const workloads::Workload workload = workloads::load("deepseek-v3@tp=8:4q1s4k").at(0);
  EXPECT_GT(predict(workload, "auto", h200()).timeline.seconds, 0);
}

TEST(AutoSchedule, RecordKeepsTheName) {
  const workloads::Workload workload = workloads::load("llama-3-8b:1q1s32k").at(0);
  const reports::Record record = predicted_record(workload, "auto", h200(), true);
  EXPECT_EQ(record.schedule, "auto");
  EXPECT_EQ(record.chosen, predict(workload, "auto", h200()).plan.schedule);
  EXPECT_EQ(record.executor, "simulator");
  EXPECT_NEAR(record.breakdown->total(), *record.seconds, 1e-9);
}

}  // namespace
}  // namespace splitwave::studies
