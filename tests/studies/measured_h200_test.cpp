// SPDX-License-Identifier: Apache-2.0
#include "studies/measured_h200.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "reports/statistics.h"
#include "tests/reports/golden.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

constexpr const char* kFew =
    "# How it was made\n"
    "# NVIDIA H200, driver 1.2, 2026-01-02, commit 0123456789ab\n"
    "workload,schedule,predicted_us,measured_us\n"
    "w,fixed-split:fa2,20,25\n"
    "w,lean,10,9.5\n"
    "v,lean,3,3\n";

TEST(MeasuredH200, SectionIsAsApproved) {
  const MeasuredH200 few = parse_measured_h200(kFew);
  EXPECT_EQ(few.origin, "NVIDIA H200, driver 1.2, 2026-01-02, commit 0123456789ab");
  EXPECT_EQ(few.records.size(), 6U);
  tests::expect_golden("h200.md", h200_section(few, "fixed-split:fa2"));
  tests::expect_golden("h200.txt", h200_summary(few, "fixed-split:fa2"));
}

TEST(MeasuredH200, TheBinaryCarriesPointsOfTheShippedSuite) {
  const MeasuredH200 measured = measured_h200();
  for (const char* part : {"NVIDIA H200", "driver ", "commit "}) {
    EXPECT_NE(measured.origin.find(part), std::string::npos) << measured.origin;
  }
  std::set<std::string> suite;
  for (const workloads::Workload& workload : workloads::load(std::string(kMeasuredSuite))) suite.insert(workload.name);
  for (const reports::Record& record : measured.records)
    EXPECT_TRUE(suite.contains(record.workload)) << record.workload;
  EXPECT_GE(reports::pair_up(measured.records).size(), 90U);
}

TEST(MeasuredH200, ADamagedFileIsABug) {
  const std::string good = kFew;
  EXPECT_THROW(parse_measured_h200(""), std::logic_error);
  EXPECT_THROW(parse_measured_h200("w,lean,10,9.5\n"), std::logic_error);
  EXPECT_THROW(parse_measured_h200(good + "v,fa2,3\n"), std::logic_error);
  EXPECT_THROW(parse_measured_h200(good + "v,fa2,3,x\n"), std::logic_error);
  EXPECT_THROW(parse_measured_h200(good + "v,fa2,-3,3\n"), std::logic_error);
}

}  // namespace
}  // namespace splitwave::studies
