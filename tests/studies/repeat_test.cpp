// SPDX-License-Identifier: Apache-2.0
#include "studies/repeat.h"

#include <gtest/gtest.h>

#include <cmath>

#include "studies/measure.h"
#include "tests/support/battery.h"

namespace splitwave::studies {
namespace {

workloads::Workload small() {
  return testing::decode("small", testing::geometry(4, 2, 8), {16, 16});
}

TEST(Repeat, EqualRunsAreCounted) {
  int ran = 0;
  const reports::RecordRepeat repeat = repeat_runs(small(), 5, [&](std::int32_t index) {
    EXPECT_EQ(index, ran++);
    return poisoned_result(small());
  });
  EXPECT_EQ(ran, 5);
  EXPECT_EQ(repeat, (reports::RecordRepeat{5, 0, ""}));
}

/// An executor whose sums come in another order now and then.
TEST(Repeat, AnExecutorThatDependsOnTimingIsFound) {
  const reports::RecordRepeat repeat = repeat_runs(small(), 10, [](std::int32_t index) {
    cpu_reference::Result<float> result = poisoned_result(small());
    for (float& element : result.output) element = 0.5F;
    if (index % 4 == 3) result.output[5 * 8 + 2] = std::nextafter(0.5F, 1.0F);
    return result;
  });
  EXPECT_EQ(repeat.runs, 10);
  EXPECT_EQ(repeat.differing, 2);
  EXPECT_EQ(repeat.first,
            "run 4 in 1 elements: output of request 1, query 0, head 1, element 2: 0.5 (0x3f000000) and 0.50000006 "
            "(0x3f000001)");
}

TEST(Repeat, AnElementThatNobodyWritesDiffers) {
  const reports::RecordRepeat repeat =
      repeat_runs(small(), 3, [](std::int32_t index) { return poisoned_result(small(), index); });
  EXPECT_EQ(repeat.differing, 2);
}

TEST(Repeat, RunsThatDifferFailTheCheck) {
  CheckCount checks;
  reports::Record record;
  record.workload = "w";
  record.schedule = "lean";
  record.merge = "host_cta";
  record.repeat = reports::RecordRepeat{3, 0, ""};
  checks.add_repeat(record);
  EXPECT_TRUE(checks.passed());
  EXPECT_NE(checks.sentence().find("The runs of each of 1 plans are bitwise equal."), std::string::npos);
  record.repeat = reports::RecordRepeat{3, 1, "run 2 in 1 elements: somewhere"};
  checks.add_repeat(record);
  EXPECT_FALSE(checks.passed());
  EXPECT_NE(checks.sentence().find("1 of 2 plans gave other bits when they ran again, the first: w by lean: 1 of 3 "
                                   "runs differ from the first, run 2 in 1 elements: somewhere."),
            std::string::npos)
      << checks.sentence();
  const std::vector<reports::Record> records = {record};
  EXPECT_EQ(merge_orders(records),
            "merge host_cta: the CTA with an output's first part waits for the others and joins them in the order of "
            "their tokens\n");
}

}  // namespace
}  // namespace splitwave::studies
