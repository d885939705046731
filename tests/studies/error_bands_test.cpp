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

const std::string kText = R"({"format":3,"judged":[
  {"machine":"h200","points":506,"median_error":0.058,"p90_error":0.17,"source":"docs/accuracy.md","schedules":[
    {"schedule":"fa3","points":129,"median_error":0.04,"p90_error":0.1}]},
  {"machine":"h200","kernel":"own","points":50,"median_error":0.06,"p90_error":0.2,"source":"s","schedules":[
    {"schedule":"fa3","points":9,"median_error":0.05,"p90_error":0.12}]},
  {"machine":"h200","kernel":"own","attention":"mla","points":7,"median_error":0.07,"p90_error":0.3,"source":"s",
   "schedules":[{"schedule":"fa3","points":7,"median_error":0.07,"p90_error":0.3}]}]})";
const std::vector<std::string> kFa3 = {"fa3"};
constexpr auto kGqa = workloads::AttentionKind::gqa;
constexpr auto kMla = workloads::AttentionKind::mla;

TEST(ErrorBand, IsReadFromTheFileOfMeasuredAccuracyAndNeverInvented) {
  EXPECT_EQ(error_band_from(kText, "f", "h200", "", kGqa, kFa3),
            "fa3 median 4.0 %, p90 10.0 % over 129 measured points (docs/accuracy.md)");
  EXPECT_EQ(error_band_from(kText, "f", "h200", "", kGqa, {"fa2", "fa3"}),
            "fa3 median 4.0 %, p90 10.0 % over 129 measured points (docs/accuracy.md); not yet judged: fa2");
  EXPECT_NE(error_band_from(kText, "f", "h200", "", kGqa, {"lean"}).find("not yet judged against"), std::string::npos);
  EXPECT_NE(error_band_from(kText, "f", "a100", "", kGqa, kFa3).find("not yet judged against"), std::string::npos);
  EXPECT_NE(error_band_from(kText, "f", "h200", "mine", kGqa, kFa3).find("not yet judged against"), std::string::npos);
}

TEST(ErrorBand, OfOneKernelForAllSchedulesIsThatOfAllWhereAScheduleWasNotMeasured) {
  EXPECT_EQ(error_band_from(kText, "f", "h200", "own", kGqa, {"lean", "fa3", "fa2"}),
            "fa3 median 5.0 %, p90 12.0 % over 9 measured points; lean, fa2 (as all in kernel own) median 6.0 %, p90 "
            "20.0 % over 50 measured points (s)");
}

TEST(ErrorBand, OfLatentAttentionIsOfItsOwnPoints) {
  EXPECT_EQ(error_band_from(kText, "f", "h200", "own", kMla, kFa3),
            "fa3 median 7.0 %, p90 30.0 % over 7 measured points (s)");
  EXPECT_NE(error_band_from(kText, "f", "h200", "", kMla, kFa3).find("not yet judged against"), std::string::npos);
  Overrides own;
  own.kernel = simulator::kOwnKernel;
  const std::string latent = error_band(target("h100-sxm-calibrated", own), kMla, {"lean"});
  EXPECT_EQ(latent.rfind("lean median ", 0), 0U) << latent;
  EXPECT_NE(latent, error_band(target("h100-sxm-calibrated", own), kGqa, {"lean"}));
  EXPECT_NE(error_band(target("h200"), kGqa, {"flashmla"}).find("not yet judged"), std::string::npos);
}

TEST(ErrorBand, OfWhatWasNeverMeasuredIsNone) {
  Overrides overrides;
  overrides.sms = 100;
  EXPECT_NE(error_band(target("h200", overrides), kGqa, kFa3).find("not judged"), std::string::npos);
  overrides = {};
  overrides.ctas_per_sm = 1;
  EXPECT_NE(error_band(target("h200", overrides), kGqa, kFa3).find("not judged"), std::string::npos);
  EXPECT_NE(error_band(target("b200"), kGqa, kFa3).find("not yet judged"), std::string::npos);
  overrides = {};
  overrides.kernel = simulator::kOwnKernel;
  EXPECT_NE(error_band(target("h100-sxm", overrides), kGqa, kFa3).find("not yet judged"), std::string::npos);
}

TEST(ErrorBand, OfTheShippedFileNamesWhatWasMeasured) {
  EXPECT_EQ(error_band(target("h200"), kGqa, {"fixed-split:fa2"}).rfind("fixed-split:fa2 median ", 0), 0U);
  Overrides own;
  own.kernel = simulator::kOwnKernel;
  EXPECT_EQ(error_band(target("h200-calibrated", own), kGqa, {"lean"}).rfind("lean median ", 0), 0U);
}

TEST(ErrorBand, RefusesFilesOfAnotherFormat) {
  EXPECT_THROW(error_band_from("{", "f", "h200", "", kGqa, kFa3), base::InputError);
  EXPECT_THROW(error_band_from(R"({"judged":[{"machine":"h200"}]})", "f", "h200", "", kGqa, kFa3), base::InputError);
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
