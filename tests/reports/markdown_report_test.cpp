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

TEST(MarkdownReport, OfRunsInPairsIsAsApproved) {
  std::vector<Record> records = tests::comparison();
  for (Record& one : records) {
    if (one.executor == "cpu" && one.schedule == "lean") {
      one.speed_up = one.workload == "short" ? RecordSpeedUp{"fixed-split:fa2", 0.92, 0.9, 0.95, 9}
                                             : RecordSpeedUp{"fixed-split:fa2", 1.43, 0.98, 1.6, 9};
    }
    if (one.executor == "cpu") {
      one.seconds_p20 = *one.seconds * 0.98;
      one.seconds_p80 = *one.seconds * 1.03;
      one.interrupted = 2;
    }
    if (one.executor == "simulator" && one.machine == "a cpu") {
      one.probes = RecordProbes{3e10, 5e10, 2e-11, 1e-6, 1.25e-6, 1e-8, 0.0625, 0.03125, 9, 2.5, 1.5e-6};
    }
  }
  tests::expect_golden("report_in_pairs.md",
                       markdown_report(records, ReportContext{"Pairs", "fixed-split:fa2", {}, "", {}, ""}));
}

TEST(MarkdownReport, HasATableOfEnergyWhereItIsKnown) {
  const ReportContext context{"T", "fixed-split:fa2", {}, "", {}, ""};
  std::vector<Record> records = tests::comparison();
  EXPECT_EQ(markdown_report(records, context).find("energy"), std::string::npos);
  for (Record& one : records) {
    if (one.workload != "short" || one.schedule != "lean") continue;
    one.joules = one.executor == "cpu" ? 2.0 : 1.9;
  }
  const std::string text = markdown_report(records, context);
  EXPECT_NE(text.find("Predicted energy of a call.\n"), std::string::npos);
  EXPECT_NE(text.find(" 1.90 J |"), std::string::npos);
  EXPECT_NE(text.find("Measured energy of a call (in brackets what the predicted one is off by)."), std::string::npos);
  EXPECT_NE(text.find(" 2.00 J (-5.0 %) |"), std::string::npos);
  EXPECT_NE(text.find("Their energy, 1 points: median error 5.0 %, p90 error 5.0 %; 100.0 % are within 10 %."),
            std::string::npos);
}

TEST(MarkdownReport, SaysWhatAutoTook) {
  Record record = tests::record("w", "auto", "simulator", "h200", 1e-5);
  record.chosen = "fa3";
  const std::string text = markdown_report(std::vector<Record>{record}, ReportContext{"T", "fa2", {}, "", {}, ""});
  EXPECT_NE(text.find("| w        | 10.0 µs: fa3 |"), std::string::npos) << text;
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
