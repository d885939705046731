// SPDX-License-Identifier: Apache-2.0
#include "reports/markdown_report.h"

#include <gtest/gtest.h>

#include "tests/reports/golden.h"
#include "tests/reports/sample_records.h"

namespace splitwave::reports {
namespace {

TEST(MarkdownReport, IsAsApproved) {
  const ReportContext context{"Schedules compared",
                              "fixed-split:fa2",
                              {{"Date", "2026-01-02 03:04:05 UTC"}, {"Commit", "0123456789ab"}},
                              "All 5 outputs are within tolerance of the oracle.",
                              {{"Speed-up", "figures/speed_up.svg"}},
                              ""};
  tests::expect_golden("report.md", markdown_report(tests::comparison(), context));
}

TEST(MarkdownReport, SaysSoWhenNothingWasMeasured) {
  const std::vector<Record> records = {tests::record("w", "fa2", "simulator", "h200", 1e-5)};
  const std::string text =
      markdown_report(records, ReportContext{"T", "fixed-split:fa2", {}, "", {}, "no pictures: reason"});
  EXPECT_NE(text.find("Nothing was measured"), std::string::npos);
  EXPECT_NE(text.find("no pictures: reason"), std::string::npos);
}

TEST(SummaryLines, SayMedianAndP90Error) {
  const std::vector<std::string> lines = summary_lines(tests::comparison(), "fixed-split:fa2");
  EXPECT_EQ(lines.at(0),
            "Predicted against measured, 5 points: median error 9.1 %, p90 error 20.7 %; 60.0 % are within 10 %.");
  EXPECT_EQ(lines.at(2),
            "Of 3 measured speed-ups over fixed-split:fa2 that are more than 2 % away from 1, 66.7 % were predicted on "
            "the right side of 1.");
}

}  // namespace
}  // namespace splitwave::reports
