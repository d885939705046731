// SPDX-License-Identifier: Apache-2.0
#include "reports/dataset.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "reports/figures.h"
#include "reports/page.h"
#include "reports/statistics.h"
#include "tests/reports/figure_records.h"
#include "tests/reports/sample_records.h"
#include "workloads/load.h"

namespace splitwave::reports {
namespace {

/// Records as a comparison gives them, drawn at random: some workloads are specs, some points lack a time, some come
/// several times with different times.
std::vector<Record> drawn_records() {
  const std::vector<std::string> schedules = {"fa2", "fixed-split:2", "fixed-split:4", "fixed-split:16", "lean", "x<y"};
  const std::vector<std::string> machines = {"h200", "h200 (sms=66)", "h200 (sms=33)", "a cpu"};
  std::vector<Record> records;
  const int count = *rc::gen::inRange(0, 120);
  for (int i = 0; i < count; ++i) {
    const bool predicted = *rc::gen::arbitrary<bool>();
    const std::string workload = "h=8/" + std::to_string(1 << *rc::gen::inRange(0, 3)) +
                                 ",d=64:" + std::to_string(*rc::gen::inRange(1, 6)) + "q1s" +
                                 std::to_string(128 << *rc::gen::inRange(0, 5));
    Record record = tests::record(workload, *rc::gen::elementOf(schedules), predicted ? "simulator" : "cuda",
                                  *rc::gen::elementOf(machines), *rc::gen::inRange(1, 1000) * 1e-6);
    record.bytes = *rc::gen::inRange(1000, 1000000);
    record.waves = *rc::gen::inRange(1, 100) / 10.0;
    if (*rc::gen::inRange(0, 10) == 0) {
      record.seconds.reset();
      record.failure = "it cannot";
    }
    records.push_back(record);
  }
  return records;
}

RC_GTEST_PROP(Dataset, ShuffledRecordsGiveTheIdenticalReport, ()) {
  // Every second time with records that allow every figure, so that none is left out of what is compared.
  const bool all = *rc::gen::arbitrary<bool>();
  std::vector<Record> records = drawn_records();
  for (const Record& one : all ? tests::figure_records() : std::vector<Record>()) records.push_back(one);
  // Whole requests that differ in nothing but where their time goes.
  for (const double attention : {3, 1, 2}) {
    Record request = tests::record("m:1q1k+128", "fa2", "simulator", "h200", 10);
    request.stages = RecordStages{1, 1024, 128, 1, attention, 5 - attention, 1, 1, 1, 1};
    records.push_back(request);
  }
  const auto page = [&] {
    const Dataset data = dataset_of(records, Shapes());
    FigureRequest request = tests::figure_request();
    request.baseline = default_baseline(data);
    const FigureSet figures = figures_of(data, request);
    RC_ASSERT(!all || figures.missing.empty());
    return page_html(data, figures, {}, {"title", default_baseline(data), {}, {}});
  };
  const std::string before = page();
  std::shuffle(records.begin(), records.end(), std::mt19937(*rc::gen::arbitrary<unsigned>()));
  RC_ASSERT(page() == before);
}

RC_GTEST_PROP(Dataset, PairsAreThoseOfTheRecords, ()) {
  std::vector<Record> records = drawn_records();
  // Where a key occurs several times, its pairs depend on an order; here none does.
  std::set<std::vector<std::string>> seen;
  std::erase_if(records, [&](const Record& one) {
    return !seen.insert({one.workload, one.schedule, one.machine, one.executor}).second;
  });
  std::multiset<double> of_records;
  for (const Pair& pair : pair_up(records)) of_records.insert(pair.relative_error());
  std::multiset<double> of_points;
  const Dataset data = dataset_of(records, Shapes());
  for (const PointPair& pair : data.pairs()) of_points.insert(pair.error());
  RC_ASSERT(of_points == of_records);
}

TEST(Dataset, NothingIsLost) {
  const Dataset data = dataset_of(tests::comparison(), Shapes());
  EXPECT_EQ(data.points().size(), tests::comparison().size());
}

TEST(Dataset, SpeedUpsAreThoseOfTheRecords) {
  std::vector<Record> records = tests::comparison();
  records[5].speed_up = RecordSpeedUp{"fixed-split:fa2", 1.5, 1.4, 1.6, 9};
  const Baseline of_records(records, "fixed-split:fa2");
  std::multiset<double> expected;
  for (const Record& record : records) {
    if (const auto factor = of_records.speed_up(record)) expected.insert(*factor);
  }
  const Dataset data = dataset_of(records, Shapes());
  const BaselineTimes of_points(data, "fixed-split:fa2");
  std::multiset<double> found;
  for (const Point& point : data.points()) {
    if (const double factor = of_points.speed_up(point); factor > 0) found.insert(factor);
  }
  EXPECT_EQ(found, expected);
}

TEST(Dataset, KnowsTheShapesOfSpecsAndSuites) {
  const Shapes shapes;
  const auto spec = shapes.find("llama-3-8b:2q1s1k_2q1s3k");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->batch, 4);
  EXPECT_EQ(spec->kv_heads, 8);
  EXPECT_EQ(spec->mean_context, 2048);
  EXPECT_EQ(spec->max_context, 3072);
  EXPECT_FALSE(spec->uniform());
  EXPECT_TRUE(shapes.find("lean-figure-7a/context_len=1024"));
  EXPECT_FALSE(shapes.find("a name"));
  EXPECT_FALSE(shapes.find("a name: with a colon"));
}

TEST(Dataset, SchedulesComeInTheProjectsOrder) {
  const Dataset data = dataset_of(tests::comparison(), Shapes());
  std::vector<std::string> names;
  for (const std::uint32_t schedule : data.schedules()) names.push_back(data.name(schedule));
  EXPECT_EQ(names, (std::vector<std::string>{"fa2", "fixed-split:fa2", "lean"}));
  EXPECT_EQ(default_baseline(data), "fixed-split:fa2");
}

}  // namespace
}  // namespace splitwave::reports
