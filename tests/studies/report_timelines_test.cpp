// SPDX-License-Identifier: Apache-2.0
#include "studies/report_timelines.h"

#include <gtest/gtest.h>

#include "studies/predict.h"
#include "studies/target.h"
#include "tests/reports/sample_records.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

/// What `simulate` predicts, times `factor`.
reports::Record predicted(const std::string& spec, const std::string& schedule, const Target& target,
                          double factor = 1) {
  const workloads::Workload workload = workloads::parse_spec(spec);
  return tests::record(spec, schedule, "simulator", target.name,
                       predict(workload, schedule, target).timeline.seconds * factor);
}

std::vector<reports::PageTimeline> timelines(const std::vector<reports::Record>& records) {
  return timelines_of(reports::dataset_of(records, reports::Shapes()), {});
}

TEST(ReportTimelines, ExplainWorkloadsWhoseSchedulesDifferTheMost) {
  Overrides fewer;
  fewer.sms = 20;
  const Target h200 = target("h200", fewer);
  std::vector<reports::Record> records;
  for (const char* spec : {"h=8/2,d=128:1q1s256", "h=8/2,d=128:1q1s64k"}) {
    for (const char* schedule : {"fa2", "lean", "fa3"}) records.push_back(predicted(spec, schedule, h200));
  }
  const std::vector<reports::PageTimeline> made = timelines(records);
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].workload, "h=8/2,d=128:1q1s64k");
  EXPECT_EQ(made[1].workload, "h=8/2,d=128:1q1s256");
  EXPECT_EQ(made[0].machine, "h200 (sms=20)");
  ASSERT_EQ(made[0].schedules.size(), 3U);
  EXPECT_TRUE(made[0].schedules[0].first.starts_with("fa2: "));
  EXPECT_NE(made[0].schedules[0].second.find("what would help"), std::string::npos);
  EXPECT_NE(made[0].svg.find("simulator: fa2 on h200 (sms=20)"), std::string::npos);
}

TEST(ReportTimelines, NothingIsSaidOfWhatThisProgramPredictsOtherwise) {
  const Target h200 = target("h200");
  const std::string spec = "h=8/2,d=128:1q1s4k";
  const std::vector<reports::PageTimeline> made =
      timelines({predicted(spec, "fa2", h200), predicted(spec, "lean", h200, 1.1), predicted(spec, "fa3", h200)});
  ASSERT_EQ(made.size(), 1U);
  ASSERT_EQ(made[0].schedules.size(), 2U);
  EXPECT_TRUE(made[0].schedules[1].first.starts_with("fa3: "));
}

TEST(ReportTimelines, UnknownMachinesWorkloadsAndLoneSchedulesHaveNone) {
  const Target h200 = target("h200");
  const std::string spec = "h=8/2,d=128:1q1s4k";
  EXPECT_TRUE(timelines({predicted(spec, "fa2", h200)}).empty());
  std::vector<reports::Record> records = {predicted(spec, "fa2", h200), predicted(spec, "lean", h200)};
  EXPECT_EQ(timelines(records).size(), 1U);
  for (reports::Record& record : records) record.workload = "no such workload";
  EXPECT_TRUE(timelines(records).empty());
  for (reports::Record& record : records) record.workload = spec, record.machine = "h200 (kernel=/etc/passwd)";
  EXPECT_TRUE(timelines(records).empty());
  for (reports::Record& record : records) record.machine = "h200", record.executor = "cuda";
  EXPECT_TRUE(timelines(records).empty());
}

}  // namespace
}  // namespace splitwave::studies
