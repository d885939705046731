// SPDX-License-Identifier: Apache-2.0
#include "studies/advise.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "base/error.h"
#include "schedules/schedules.h"
#include "simulator/machine.h"
#include "studies/advise_export.h"
#include "studies/error_bands.h"
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
  const workloads::Workload spec = workloads::parse_spec(geometry + ":1q1s1");
  result.geometry = spec.geometry;
  result.kv = spec.kv;
  result.batches = {1, 3, 8};
  result.contexts = {256, 4096, 16384};
  result.available = schedules::installable_names();
  result.rules = result.available;
  return result;
}

const Advice& advice() {
  static const Advice result = advise(question("llama-3-8b"), target("h200"), 2, [](std::size_t) {});
  return result;
}

const AdviceOrigin kOrigin{"splitwave advise", "splitwave 0", "not yet judged"};

TEST(Advise, TheBestBeatsEveryRuleAndSplit) {
  for (const AdvicePoint& point : advice().points) {
    for (const auto& split : point.splits) {
      ASSERT_TRUE(split);
      EXPECT_LE(point.best.seconds, split->seconds);
    }
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
  for (const auto& split : point.splits) {
    EXPECT_EQ(split->seconds, predict(same, split->schedule, target("h200")).timeline.seconds);
  }
}

AdviseQuestion one_point(const std::string& geometry, std::int32_t batch, std::int32_t context) {
  AdviseQuestion result = question(geometry);
  result.batches = {batch};
  result.contexts = {context};
  return result;
}

AdvicePoint answer(const AdviseQuestion& asked, const Target& machine) {
  return advise(asked, machine, 1, [](std::size_t) {}).points.front();
}

TEST(Advise, NoCountIsFasterThanTheBest) {
  struct Case {
    const char* geometry;
    const char* machine;
    std::int32_t batch;
    std::int32_t context;
  };
  for (const Case& one :
       {Case{"llama-3-8b", "h200", 3, 16384}, Case{"llama-3-8b", "a100", 1, 2048}, Case{"llama-3-8b", "a100", 4, 6000},
        Case{"h=32/4,d=64", "a100", 7, 12345}, Case{"h=8/1,d=128,page=16", "h200", 5, 30000},
        Case{"h=8/8,d=128,cache=32k", "a100", 2, 900}}) {
    const AdviseQuestion asked = one_point(one.geometry, one.batch, one.context);
    const AdvicePoint point = answer(asked, target(one.machine));
    const workloads::Workload same =
        workloads::parse_spec(fmt::format("{}:{}q1s{}", one.geometry, one.batch, one.context));
    for (std::size_t call = 0; call < kSplitCalls.size(); ++call) {
      EXPECT_EQ(point.splits[call].has_value(), call == 0 || std::string(one.machine) == "h200");
      if (!point.splits[call]) continue;
      double least = std::numeric_limits<double>::infinity();
      for (std::int32_t count = 1; count <= kSplitCalls[call].most; ++count) {
        const std::string name = fmt::format("{}:{}", kSplitCalls[call].schedule, count);
        least = std::min(least, predict(same, name, target(one.machine)).timeline.seconds);
      }
      EXPECT_EQ(point.splits[call]->seconds, least) << kSplitCalls[call].library << " " << same.name;
    }
  }
}

TEST(Advise, CountsOfFlashAttention3AreLeftOutOnlyIfTheyPlanTheSame) {
  const workloads::Workload w = workloads::parse_spec("llama-3-8b:3q1s16k");
  const SplitCall& call = kSplitCalls[1];
  const std::vector<std::int32_t> counts = distinct_splits(call, w, target("h200"), call.most);
  ASSERT_GT(counts.size(), 3U);
  ASSERT_LT(counts.back(), call.most);
  const schedules::Plan last = predict(w, fmt::format("fa3:{}", counts.back()), target("h200")).plan;
  for (std::int32_t count = 1; count <= call.most; ++count) {
    const schedules::Plan plan = predict(w, fmt::format("fa3:{}", count), target("h200")).plan;
    EXPECT_EQ(plan.items == last.items && plan.merge == last.merge, count >= counts.back()) << count;
  }
}

TEST(Advise, HonoursHowKAndVLie) {
  for (const char* geometry : {"llama-3-8b", "llama-3-8b,page=16", "llama-3-8b,layout=bhsd", "llama-3-8b,cache=64k"}) {
    const AdviseQuestion asked = one_point(geometry, 3, 5000);
    const Advice found = advise(asked, target("h200"), 1, [](std::size_t) {});
    const workloads::Workload same = workloads::parse_spec(std::string(geometry) + ":3q1s5000");
    EXPECT_EQ(found.points.front().best.seconds,
              predict(same, found.points.front().best.schedule, target("h200")).timeline.seconds);
    for (std::size_t rule = 0; rule < found.question.rules.size(); ++rule) {
      EXPECT_EQ(found.points.front().rule_seconds[rule],
                predict(same, found.question.rules[rule], target("h200")).timeline.seconds)
          << geometry << " " << found.question.rules[rule];
    }
  }
  EXPECT_NE(answer(one_point("llama-3-8b", 3, 5000), target("h200")).rule_seconds,
            answer(one_point("llama-3-8b,page=16", 3, 5000), target("h200")).rule_seconds);
  EXPECT_THROW(answer(one_point("llama-3-8b,cache=1k", 3, 5000), target("h200")), base::InputError);
}

TEST(Advise, ChoosesOnlyWhatIsAvailable) {
  AdviseQuestion asked = question("llama-3-8b");
  asked.available = {"flashinfer"};
  asked.rules = {"flashinfer", "fa3"};
  const Advice found = advise(asked, target("h200"), 1, [](std::size_t) {});
  EXPECT_TRUE(found.calls.empty());
  for (const AdvicePoint& point : found.points) {
    EXPECT_EQ(point.best.schedule, "flashinfer");
    EXPECT_EQ(point.regret(0), 0);
    EXPECT_EQ(*point.regret(1), *point.rule_seconds[1] / point.best.seconds - 1);
  }
  EXPECT_THROW(advice_cpp(found, kOrigin), base::InputError);
  asked.available = {"fa3", "flashinfer"};
  for (const AdvicePoint& point : advise(asked, target("h200"), 1, [](std::size_t) {}).points) {
    EXPECT_TRUE(point.best.schedule.starts_with("fa3") || point.best.schedule == "flashinfer");
    EXPECT_FALSE(point.splits[0]);
    EXPECT_TRUE(point.splits[1]);
  }
  asked.available = {"fa3"};
  EXPECT_THROW(advise(asked, target("a100"), 1, [](std::size_t) {}), base::InputError) << "it needs wgmma";
}

TEST(Advise, NothingIsBestThatCannotBeInstalled) {
  for (const char* geometry : {"llama-3-8b", "h=8/1,d=128", "deepseek-v3"}) {
    for (const AdvicePoint& point : advise(question(geometry), target("h200"), 1, [](std::size_t) {}).points) {
      EXPECT_NE(point.best.schedule, "lean");
      EXPECT_NE(point.best.schedule, "seq-aware");
      EXPECT_NE(point.best.schedule.substr(0, 10), "fixed-size");
    }
  }
}

TEST(Advise, ACapHoldsForCountsAndForRules) {
  AdviseQuestion asked = one_point("h=8/1,d=128", 1, 65536);  // every rule splits this in many
  asked.available = asked.rules = {"fixed-split:fa2", "fa3"};
  const AdvicePoint free = answer(asked, target("h200"));
  EXPECT_GT(free.best.num_splits, 4);
  asked.max_splits = 4;
  const AdvicePoint capped = answer(asked, target("h200"));
  EXPECT_LE(capped.best.num_splits, 4);
  for (const auto& split : capped.splits) EXPECT_LE(split->num_splits, 4);
  EXPECT_LT(capped.regret(0), 0.0) << "what the cap costs is shown";
}

TEST(Advise, ColumnsAndBandsAreOfSchedulesThatServe) {
  const Advice mla = advise(question("deepseek-v3"), target("h200"), 2, [](std::size_t) {});
  EXPECT_EQ(std::count(mla.question.rules.begin(), mla.question.rules.end(), "flashmla"), 1);
  EXPECT_EQ(mla.question.available, mla.question.rules);
  const std::string band = error_band(target("h200"), workloads::AttentionKind::mla, shown_schedules(mla));
  for (const char* other : {"fa2", "flashinfer", "lean:ort"}) {
    EXPECT_EQ(std::count(mla.question.rules.begin(), mla.question.rules.end(), other), 0) << other;
    EXPECT_EQ(band.find(other), std::string::npos) << band;
  }
  const std::vector<std::string> shown = shown_schedules(advice());
  EXPECT_EQ(std::count(shown.begin(), shown.end(), "flashmla"), 0);
  EXPECT_EQ(shown, advice().question.rules) << "every best call is judged as one of the rules";
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

TEST(Advise, CliffsAreStepsWhereTimeGrowsFasterThanWork) {
  AdviseQuestion dense = question("h=32/32,d=128");
  dense.batches = {4, 5};  // 132 SMs: 128 tiles are one wave of one CTA each, 160 are not
  dense.contexts = {4096};
  dense.available = dense.rules = {"fa2"};
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

/// What a table lookup must answer, by the words of the export: the largest tabulated values that are not above.
int looked_up(int batch, int context) {
  std::size_t b = 0;
  std::size_t c = 0;
  const AdviseQuestion& asked = advice().question;
  while (b + 1 < asked.batches.size() && asked.batches[b + 1] <= batch) ++b;
  while (c + 1 < asked.contexts.size() && asked.contexts[c + 1] <= context) ++c;
  return advice().at(b, c).splits[0]->num_splits;
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

// With every time of the others far away no line says that schedules are equal; with one near by, one point is counted.
TEST(Export, TheHeaderCountsThePointsAtWhichSchedulesAreEqual) {
  Advice changed = advice();
  for (AdvicePoint& point : changed.points) {
    point.best.schedule = "lean";
    point.available_seconds.assign(changed.question.available.size(), point.best.seconds * 1.06);
  }
  EXPECT_EQ(advice_csv(changed, kOrigin).find("another schedule"), std::string::npos);
  AdvicePoint& point = changed.points[1];
  ASSERT_NE(changed.question.available[0], "lean");
  point.available_seconds[0] = point.best.seconds * 1.04;
  const std::string counted = fmt::format("At 1 of {} points another schedule is within 5 %", changed.points.size());
  EXPECT_NE(advice_csv(changed, kOrigin).find(counted), std::string::npos) << advice_csv(changed, kOrigin);
  // The best itself, or the call of its own library, is no other schedule.
  point.best.schedule = std::string(kSplitCalls[0].schedule) + ":4";
  changed.question.available[0] = kSplitCalls[0].rule;
  EXPECT_EQ(advice_csv(changed, kOrigin).find("another schedule"), std::string::npos);
}

TEST(Export, JsonAndCsvHoldTheTable) {
  const auto json = nlohmann::json::parse(advice_json(advice(), kOrigin));
  std::istringstream csv(advice_csv(advice(), kOrigin));
  std::string line;
  while (std::getline(csv, line) && line.rfind("# ", 0) == 0) {
  }
  EXPECT_EQ(line.rfind("batch,context,best_schedule", 0), 0U) << line;
  for (std::size_t i = 0; i < advice().points.size(); ++i) {
    const AdvicePoint& point = advice().points[i];
    const auto& entry = json.at("points").at(i);
    EXPECT_EQ(entry.at("best").at("seconds").get<double>(), point.best.seconds);
    for (const std::size_t call : {0, 1}) {
      const std::string schedule(kSplitCalls[call].schedule);
      EXPECT_EQ(json.at("num_splits").at(schedule).at(i / 3).at(i % 3), point.splits[call]->num_splits);
    }
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
