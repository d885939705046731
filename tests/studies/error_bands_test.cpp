// SPDX-License-Identifier: Apache-2.0
#include "studies/error_bands.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "simulator/kernel.h"
#include "studies/target.h"

namespace splitwave::studies {
namespace {

const std::string kText = R"({"format":2,"judged":[
  {"machine":"h200","points":506,"median_error":0.058,"p90_error":0.17,"source":"docs/accuracy.md","schedules":[
    {"schedule":"fa3","points":129,"median_error":0.04,"p90_error":0.1}]},
  {"machine":"h200","kernel":"own","points":50,"median_error":0.06,"p90_error":0.2,"source":"s","schedules":[
    {"schedule":"fa3","points":9,"median_error":0.05,"p90_error":0.12}]}]})";
const std::vector<std::string> kFa3 = {"fa3"};

TEST(ErrorBand, IsReadFromTheFileOfMeasuredAccuracyAndNeverInvented) {
  EXPECT_EQ(error_band_from(kText, "f", "h200", "", kFa3),
            "fa3 median 4.0 %, p90 10.0 % over 129 measured points (docs/accuracy.md)");
  EXPECT_EQ(error_band_from(kText, "f", "h200", "", {"fa2", "fa3"}),
            "fa3 median 4.0 %, p90 10.0 % over 129 measured points (docs/accuracy.md); not yet judged: fa2");
  EXPECT_NE(error_band_from(kText, "f", "h200", "", {"lean"}).find("not yet judged against"), std::string::npos);
  EXPECT_NE(error_band_from(kText, "f", "a100", "", kFa3).find("not yet judged against"), std::string::npos);
  EXPECT_NE(error_band_from(kText, "f", "h200", "mine", kFa3).find("not yet judged against"), std::string::npos);
}

TEST(ErrorBand, OfOneKernelForAllSchedulesIsThatOfAllWhereAScheduleWasNotMeasured) {
  EXPECT_EQ(error_band_from(kText, "f", "h200", "own", {"lean", "fa3", "fa2"}),
            "fa3 median 5.0 %, p90 12.0 % over 9 measured points; lean, fa2 (as all in kernel own) median 6.0 %, p90 "
            "20.0 % over 50 measured points (s)");
}

TEST(ErrorBand, OfWhatWasNeverMeasuredIsNone) {
  Overrides overrides;
  overrides.sms = 100;
  EXPECT_NE(error_band(target("h200", overrides), kFa3).find("not judged"), std::string::npos);
  overrides = {};
  overrides.ctas_per_sm = 1;
  EXPECT_NE(error_band(target("h200", overrides), kFa3).find("not judged"), std::string::npos);
  EXPECT_NE(error_band(target("b200"), kFa3).find("not yet judged"), std::string::npos);
  overrides = {};
  overrides.kernel = simulator::kOwnKernel;
  EXPECT_NE(error_band(target("h100-sxm", overrides), kFa3).find("not yet judged"), std::string::npos);
}

TEST(ErrorBand, OfTheShippedFileNamesWhatWasMeasured) {
  EXPECT_EQ(error_band(target("h200"), {"fixed-split:fa2"}).rfind("fixed-split:fa2 median ", 0), 0U);
  Overrides own;
  own.kernel = simulator::kOwnKernel;
  EXPECT_EQ(error_band(target("h200-calibrated", own), {"lean"}).rfind("lean median ", 0), 0U);
}

TEST(ErrorBand, RefusesFilesOfAnotherFormat) {
  EXPECT_THROW(error_band_from("{", "f", "h200", "", kFa3), base::InputError);
  EXPECT_THROW(error_band_from(R"({"judged":[{"machine":"h200"}]})", "f", "h200", "", kFa3), base::InputError);
}

TEST(JudgedAs, IsTheRuleOfTheLibraryWhoseCallItIs) {
  EXPECT_EQ(judged_as("fa3:4"), "fa3");
  EXPECT_EQ(judged_as("fixed-split:12"), "fixed-split:fa2");
  for (const char* other : {"fa3", "fixed-split:fa3", "fixed-split:4+last_arriver", "lean", "xqa:8"}) {
    EXPECT_EQ(judged_as(other), other);
  }
}

}  // namespace
}  // namespace splitwave::studies
