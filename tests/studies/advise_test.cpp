// SPDX-License-Identifier: Apache-2.0
#include "studies/advise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/error.h"
#include "schedules/schedules.h"
#include "simulator/machine.h"
#include "studies/advise_export.h"
#include "studies/predict.h"
#include "tests/cli/process.h"
#include "tests/studies/target.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

using tests::content;
using tests::target;
using tests::TemporaryFolder;

AdviseQuestion question(const std::string& geometry) {
  AdviseQuestion result;
  result.geometry = workloads::parse_spec(geometry + ":1q1s1").geometry;
  result.batches = {1, 3, 8};
  result.contexts = {256, 4096, 16384};
  result.rules = library_rules(result.geometry);
  return result;
}

const Advice& advice() {
  static const Advice result = advise(question("llama-3-8b"), target("h200"), 2, [](std::size_t) {});
  return result;
}

const AdviceOrigin kOrigin{"splitwave advise", "splitwave 0", "not yet judged"};

TEST(Advise, TheBestBeatsEveryRuleAndSplit) {
  for (const AdvicePoint& point : advice().points) {
    ASSERT_TRUE(point.split);
    EXPECT_LE(point.best.seconds, point.split->seconds);
    for (std::size_t rule = 0; rule < advice().question.rules.size(); ++rule) {
      EXPECT_GE(point.regret(rule).value_or(0), 0);
    }
  }
}

TEST(Advise, TimesAreThoseOfSimulate) {
  const AdvicePoint& point = advice().at(1, 2);
  EXPECT_EQ(point.batch, 3);
  EXPECT_EQ(point.context, 16384);
  const workloads::Workload same = workloads::parse_spec("llama-3-8b:3q1s16k");
  EXPECT_EQ(point.best.seconds, predict(same, point.best.schedule, target("h200")).timeline.seconds);
  EXPECT_EQ(point.split->seconds, predict(same, point.split->schedule, target("h200")).timeline.seconds);
  for (int splits = 1; splits <= 128; ++splits) {
    const std::string name = "fixed-split:" + std::to_string(splits);
    EXPECT_LE(point.split->seconds, predict(same, name, target("h200")).timeline.seconds * (1 + 1e-12)) << name;
  }
}

TEST(Advise, FlashMlaIsForMlaOnly) {
  const auto has_flashmla = [](const std::string& spec) {
    const auto rules = library_rules(workloads::parse_spec(spec + ":1q1s1").geometry);
    return std::count(rules.begin(), rules.end(), "flashmla") == 1;
  };
  EXPECT_FALSE(has_flashmla("llama-3-8b"));
  EXPECT_TRUE(has_flashmla("deepseek-v3"));
}

TEST(Advise, RulesThatServeNoPointAreLeftOut) {
  AdviseQuestion small = question("llama-3-8b");
  small.batches = {1};
  small.contexts = {1024};
  small.rules = {"fa3", "fixed-split:99999"};  // more splits than a grid has
  const Advice found = advise(small, target("h200"), 1, [](std::size_t) {});
  EXPECT_EQ(found.question.rules, (std::vector<std::string>{"fa3"}));
  EXPECT_EQ(found.points.front().rule_seconds.size(), 1U);
}

TEST(Advise, ThreadsDoNotChangeTheAnswer) {
  AdviseQuestion small = question("llama-3-8b");
  small.batches = {1, 2};
  small.contexts = {512, 8192};
  const Advice one = advise(small, target("h200"), 1, [](std::size_t) {});
  const Advice three = advise(small, target("h200"), 3, [](std::size_t) {});
  EXPECT_EQ(advice_json(one, kOrigin), advice_json(three, kOrigin));
}

TEST(Advise, DistinctSplitsAreTheCountsThatCutDifferently) {
  const workloads::Geometry geometry = workloads::parse_spec("llama-3-8b:1q1s1").geometry;  // tiles of 128 tokens
  EXPECT_EQ(distinct_splits(geometry, 1), (std::vector<std::int32_t>{1}));
  EXPECT_EQ(distinct_splits(geometry, 10 * 128), (std::vector<std::int32_t>{1, 2, 3, 4, 5, 10}));
  EXPECT_EQ(distinct_splits(geometry, 0), (std::vector<std::int32_t>{1}));
  EXPECT_LE(distinct_splits(geometry, 1 << 20).back(), 128);
}

TEST(Advise, CliffsAreStepsWhereTimeGrowsFasterThanWork) {
  AdviseQuestion dense = question("h=32/32,d=128");
  dense.batches = {4, 5};  // 132 SMs: 128 tiles are one wave of one CTA each, 160 are not
  dense.contexts = {4096};
  dense.rules = {"fa2"};
  Target one_cta = target("h200");
  one_cta.ctas_per_sm = 1;
  const Advice found = advise(dense, one_cta, 1, [](std::size_t) {});
  const auto cliff = std::find_if(found.cliffs.begin(), found.cliffs.end(),
                                  [](const Cliff& one) { return one.schedule == "fa2" && one.along_batch; });
  ASSERT_NE(cliff, found.cliffs.end());
  EXPECT_EQ(cliff->before, 4);
  EXPECT_EQ(cliff->batch, 5);
  const double per_request = *found.at(1, 0).rule_seconds[0] / 5 / (*found.at(0, 0).rule_seconds[0] / 4);
  EXPECT_DOUBLE_EQ(cliff->jump, per_request);
  EXPECT_GT(cliff->jump, kCliff);
}

TEST(ErrorBand, IsReadFromTheFileOfMeasuredAccuracyAndNeverInvented) {
  const std::string text = R"({"format":1,"judged":[{"machine":"h200","points":506,"median_error":0.058,)"
                           R"("p90_error":0.17,"source":"docs/accuracy.md","schedules":[{"schedule":"fa3",)"
                           R"("points":129,"median_error":0.04,"p90_error":0.1}]}]})";
  EXPECT_EQ(error_band_from(text, "f", "h200"),
            "median 5.8 %, p90 17.0 % over 506 measured points: fa3 4.0 % and 10.0 % (docs/accuracy.md)");
  EXPECT_NE(error_band_from(text, "f", "a100").find("not yet judged"), std::string::npos);
  EXPECT_NE(error_band("h200", "h200 (sms=100)").find("not judged"), std::string::npos);
  EXPECT_NE(error_band("h200", "h200").find("fixed-split:fa2"), std::string::npos);
  EXPECT_NE(error_band("b200", "b200").find("not yet judged"), std::string::npos);
  EXPECT_THROW(error_band_from("{", "f", "h200"), base::InputError);
  EXPECT_THROW(error_band_from(R"({"judged":[{"machine":"h200"}]})", "f", "h200"), base::InputError);
}

/// What a table lookup must answer, by the words of the export: the largest tabulated values that are not above.
int looked_up(int batch, int context) {
  std::size_t b = 0;
  std::size_t c = 0;
  const AdviseQuestion& asked = advice().question;
  while (b + 1 < asked.batches.size() && asked.batches[b + 1] <= batch) ++b;
  while (c + 1 < asked.contexts.size() && asked.contexts[c + 1] <= context) ++c;
  return advice().at(b, c).split->num_splits;
}

const std::vector<std::pair<int, int>>& probes() {
  static const std::vector<std::pair<int, int>> result = {
      {0, 0}, {1, 1}, {1, 256}, {2, 4095}, {3, 4096}, {7, 16383}, {8, 16384}, {9, 1 << 30}, {1 << 30, 5000}};
  return result;
}

std::string expected_answers() {
  std::string text;
  for (const auto& [batch, context] : probes()) text += std::to_string(looked_up(batch, context)) + "\n";
  return text;
}

TEST(Export, TheCppHeaderCompilesAndAgreesWithTheTable) {
  const TemporaryFolder folder;
  folder.write("num_splits.h", advice_cpp(advice(), kOrigin));
  std::string program = "#include \"num_splits.h\"\n#include <cstdio>\nint main() {\n";
  for (const auto& [batch, context] : probes()) {
    program += "  std::printf(\"%d\\n\", splitwave_advice::num_splits(" + std::to_string(batch) + ", " +
               std::to_string(context) + "));\n";
  }
  folder.write("main.cpp", program + "}\n");
  const std::string path = folder.path().string();
  const std::string command = "'" SPLITWAVE_CXX "' -std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Werror -o '" +
                              path + "/probe' '" + path + "/main.cpp' && '" + path + "/probe' > '" + path + "/answers'";
  ASSERT_EQ(std::system(command.c_str()), 0) << advice_cpp(advice(), kOrigin);
  EXPECT_EQ(content(folder.path() / "answers"), expected_answers());
}

TEST(Export, ThePythonFunctionAgreesWithTheTable) {
  const TemporaryFolder folder;
  folder.write("num_splits.py", advice_python(advice(), kOrigin));
  std::string program = "from num_splits import num_splits\n";
  for (const auto& [batch, context] : probes()) {
    program += "print(num_splits(" + std::to_string(batch) + ", " + std::to_string(context) + "))\n";
  }
  folder.write("probe.py", program);
  const std::string path = folder.path().string();
  const std::string command = "cd '" + path + "' && '" SPLITWAVE_PYTHON "' probe.py > answers";
  ASSERT_EQ(std::system(command.c_str()), 0) << advice_python(advice(), kOrigin);
  EXPECT_EQ(content(folder.path() / "answers"), expected_answers());
}

TEST(Export, AOneByOneTableIsStillATable) {
  AdviseQuestion one = question("llama-3-8b");
  one.batches = {4};
  one.contexts = {1024};
  const Advice small = advise(one, target("h200"), 1, [](std::size_t) {});
  const TemporaryFolder folder;
  folder.write("num_splits.py", advice_python(small, kOrigin) + "assert num_splits(1, 1) == num_splits(9, 9999)\n");
  const std::string command = "'" SPLITWAVE_PYTHON "' '" + folder.file("num_splits.py") + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(Export, JsonAndCsvHoldTheTable) {
  const auto json = nlohmann::json::parse(advice_json(advice(), kOrigin));
  std::istringstream csv(advice_csv(advice(), kOrigin));
  std::string line;
  int comments = 0;
  while (std::getline(csv, line) && line.rfind("# ", 0) == 0) ++comments;
  EXPECT_EQ(comments, 4);
  EXPECT_EQ(line.rfind("batch,context,best_schedule", 0), 0U) << line;
  for (std::size_t i = 0; i < advice().points.size(); ++i) {
    const AdvicePoint& point = advice().points[i];
    const auto& entry = json.at("points").at(i);
    EXPECT_EQ(entry.at("best").at("seconds").get<double>(), point.best.seconds);
    EXPECT_EQ(json.at("num_splits").at(i / 3).at(i % 3), point.split->num_splits);
    ASSERT_TRUE(std::getline(csv, line));
    EXPECT_EQ(line.rfind(std::to_string(point.batch) + "," + std::to_string(point.context) + ",", 0), 0U) << line;
  }
  EXPECT_EQ(json.at("error_band"), kOrigin.error_band);
  EXPECT_EQ(json.at("command"), kOrigin.command);
}

TEST(Export, EveryFormCarriesItsErrorBandAndCommand) {
  for (const std::string& text :
       {advice_table(advice(), kOrigin), advice_csv(advice(), kOrigin), advice_json(advice(), kOrigin),
        advice_cpp(advice(), kOrigin), advice_python(advice(), kOrigin)}) {
    EXPECT_NE(text.find(kOrigin.error_band), std::string::npos) << text;
    EXPECT_NE(text.find(kOrigin.command), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace splitwave::studies
