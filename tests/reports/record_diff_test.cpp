// SPDX-License-Identifier: Apache-2.0
#include "reports/record_diff.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "base/quantile.h"
#include "tests/reports/sample_records.h"

namespace splitwave::reports {
namespace {

Record measured(double seconds, double low, double high, std::int64_t samples) {
  Record one = tests::record("w", "lean", "cuda", "h200", seconds);
  one.seconds_p20 = low;
  one.seconds_p80 = high;
  one.samples = samples;
  return one;
}

Record failed() {
  Record one = tests::record("w", "lean", "cuda", "h200", 0);
  one.seconds.reset();
  one.failure = "no";
  return one;
}

Change change_of(const std::vector<Record>& before, const std::vector<Record>& after, double tolerance = 0.02) {
  RecordDiff diff;
  for (const Record& one : before) diff.add_before(one);
  for (const Record& one : after) diff.add_after(one);
  return diff.changes(tolerance).at(0).change;
}

TEST(RecordDiff, MeasuredTimesChangeBeyondTheirSpread) {
  const Record base = measured(10, 9.9, 10.1, 9);
  EXPECT_EQ(change_of({base}, {base}), Change::same);
  EXPECT_EQ(change_of({base}, {measured(11, 10.9, 11.1, 9)}), Change::slower);
  EXPECT_EQ(change_of({base}, {measured(9, 8.9, 9.1, 9)}), Change::faster);
  EXPECT_EQ(change_of({base}, {measured(11, 10.05, 11.9, 9)}), Change::same) << "the spreads overlap";
  EXPECT_EQ(change_of({base}, {measured(10.15, 10.14, 10.16, 9)}), Change::same) << "within 2 %";
  EXPECT_EQ(change_of({base}, {measured(10.15, 10.14, 10.16, 9)}, 0.01), Change::slower);
  EXPECT_EQ(change_of({base}, {measured(11, 10.9, 11.1, 8)}), Change::unclear) << "eight samples";
  Record bare = base;
  bare.seconds = 11;
  bare.seconds_p20.reset();
  EXPECT_EQ(change_of({base}, {bare}), Change::unclear);
}

TEST(RecordDiff, PredictedTimesHaveNoSpread) {
  const auto predicted = [](double seconds) { return tests::record("w", "lean", "simulator", "h200", seconds); };
  EXPECT_EQ(change_of({predicted(10)}, {predicted(10.3)}), Change::slower);
  EXPECT_EQ(change_of({predicted(10)}, {predicted(9.7)}), Change::faster);
  EXPECT_EQ(change_of({predicted(10)}, {predicted(10.1)}), Change::same);
  EXPECT_EQ(change_of({predicted(10)}, {predicted(10.000001)}, 0), Change::slower);
}

TEST(RecordDiff, FailuresAndMissingRecords) {
  const Record base = measured(10, 9.9, 10.1, 9);
  EXPECT_EQ(change_of({base}, {failed()}), Change::fails);
  EXPECT_EQ(change_of({failed()}, {base}), Change::works);
  EXPECT_EQ(change_of({failed()}, {failed()}), Change::same);
  EXPECT_EQ(change_of({base}, {}), Change::gone);
  EXPECT_EQ(change_of({}, {base}), Change::added);
  EXPECT_TRUE(is_regression(Change::fails));
  EXPECT_TRUE(is_regression(Change::slower));
  EXPECT_FALSE(is_regression(Change::unclear));
}

TEST(RecordDiff, RecordsOfOnePointAreTakenTogether) {
  const std::vector<Record> before = {measured(10, 9.9, 10.1, 9), measured(12, 11.9, 12.1, 9),
                                      measured(11, 10.9, 11.1, 9)};
  EXPECT_EQ(change_of(before, {measured(12, 11.95, 12.2, 9)}), Change::same) << "the widest spread ends at 12.1";
  EXPECT_EQ(change_of(before, {measured(12.5, 12.2, 12.6, 9)}), Change::slower);
  EXPECT_EQ(change_of({before[2], before[1], before[0]}, {measured(12.5, 12.2, 12.6, 9)}), Change::slower);
}

TEST(RecordDiff, SeldomBlamesRunsOfTheSame) {
  // Two runs of 9 samples drawn from one distribution, of which 2 % are no tolerance: how often is one blamed?
  std::mt19937 random(5);
  std::normal_distribution<double> noise(1, 0.2);
  const auto run = [&] {
    std::vector<double> samples(9);
    for (double& one : samples) one = noise(random);
    return measured(base::quantile(samples, 0.5), base::quantile(samples, 0.2), base::quantile(samples, 0.8), 9);
  };
  int blamed = 0;
  for (int i = 0; i < 4000; ++i) blamed += change_of({run()}, {run()}) == Change::slower ? 1 : 0;
  EXPECT_LT(blamed, 4000 * 0.01);
}

TEST(RecordDiff, JsonAndTableSayWhatChanged) {
  RecordDiff diff;
  diff.add_before(measured(10e-6, 9.9e-6, 10.1e-6, 9));
  diff.add_after(measured(12e-6, 11.9e-6, 12.1e-6, 9));
  diff.add_before(tests::record("v", "fa2", "simulator", "h200", 1e-6));
  diff.add_after(tests::record("v", "fa2", "simulator", "h200", 1e-6));
  const std::vector<RecordChange> changes = diff.changes(0.02);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(to_json(changes[1]),
            R"({"workload":"w","schedule":"lean","executor":"cuda","machine":"h200","change":"slower","ratio":1.2,)"
            R"("before":{"seconds":1e-05,"seconds_p20":9.9e-06,"seconds_p80":1.01e-05,"samples":9},)"
            R"("after":{"seconds":1.2e-05,"seconds_p20":1.19e-05,"seconds_p80":1.21e-05,"samples":9}})");
  const std::string table = change_table(changes);
  EXPECT_NE(table.find("slower  10.0 µs  12.0 µs"), std::string::npos) << table;
  EXPECT_NE(table.find("1 same, 1 slower, 0 faster"), std::string::npos) << table;
  EXPECT_EQ(table.find("fa2"), std::string::npos) << "what is the same is only counted";
}

}  // namespace
}  // namespace splitwave::reports
