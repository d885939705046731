// SPDX-License-Identifier: Apache-2.0
#include "reports/statistics.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/reports/sample_records.h"

namespace splitwave::reports {
namespace {

using tests::comparison;
using tests::record;

TEST(PairUp, MatchesWorkloadScheduleAndMachine) {
  const std::vector<Record> records = comparison();
  const std::vector<Pair> pairs = pair_up(records);
  ASSERT_EQ(pairs.size(), 5U);
  for (const Pair& pair : pairs) {
    EXPECT_EQ(pair.predicted->machine, "a cpu");
    EXPECT_EQ(pair.predicted->workload, pair.measured->workload);
    EXPECT_EQ(pair.predicted->schedule, pair.measured->schedule);
    EXPECT_EQ(pair.predicted->executor, "simulator");
    EXPECT_EQ(pair.measured->executor, "cpu");
  }
}

TEST(PairUp, RepeatedKeysGoInOrder) {
  const std::vector<Record> records = {record("w", "s", "simulator", "m", 1), record("w", "s", "cpu", "m", 2),
                                       record("w", "s", "simulator", "m", 3), record("w", "s", "cpu", "m", 4),
                                       record("w", "s", "cpu", "m", 5)};
  const std::vector<Pair> pairs = pair_up(records);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(*pairs[0].predicted->seconds, 1);
  EXPECT_EQ(*pairs[1].predicted->seconds, 3);
  EXPECT_EQ(*pairs[1].measured->seconds, 4);
}

TEST(Agreement, OfTheSampleByHand) {
  // Errors: 1.0/1.1, 2.0/1.9, 0.9/1.2, 10/10, 8/7 -> 0.0909, 0.0526, 0.25, 0, 0.1429.
  const Agreement result = agreement(comparison(), "fixed-split:fa2");
  EXPECT_EQ(result.points, 5);
  EXPECT_NEAR(result.median_error, 1 - 1 / 1.1, 1e-12);
  EXPECT_NEAR(result.p90_error, 0.6 * 0.25 + 0.4 / 7, 1e-12);
  EXPECT_NEAR(result.within_10_percent, 0.6, 1e-12);
  EXPECT_NEAR(result.geometric_mean_ratio, std::pow(1 / 1.1 * 2 / 1.9 * 0.75 * 8 / 7, 0.2), 1e-12);
  // Measured: fa2 0.58x (predicted 0.5x), lean 0.92x (predicted 1.11x), lean 1.43x (predicted 1.25x).
  EXPECT_EQ(result.clear_speed_ups, 3);
  EXPECT_NEAR(result.same_sign, 2.0 / 3, 1e-12);
}

TEST(Agreement, PerfectPredictionsHaveNoError) {
  std::vector<Record> records;
  for (int i = 1; i <= 20; ++i) {
    const std::string name = std::to_string(i);
    for (const char* executor : {"simulator", "cpu"}) {
      records.push_back(record(name, "base", executor, "m", i * 1e-3));
      records.push_back(record(name, "other", executor, "m", 2e-3));
    }
  }
  const Agreement result = agreement(records, "base");
  EXPECT_EQ(result.points, 40);
  EXPECT_EQ(result.median_error, 0);
  EXPECT_EQ(result.p90_error, 0);
  EXPECT_EQ(result.within_10_percent, 1);
  EXPECT_NEAR(result.geometric_mean_ratio, 1, 1e-12);
  EXPECT_EQ(result.same_sign, 1);
  EXPECT_EQ(result.clear_speed_ups, 19);  // all but 2, where both schedules take 2 ms
}

TEST(Agreement, WithoutMeasurementsHasNoPoints) {
  const std::vector<Record> records = {record("w", "s", "simulator", "m", 1)};
  EXPECT_EQ(agreement(records, "s").points, 0);
  EXPECT_EQ(agreement({}, "s").points, 0);
}

TEST(EnergyAgreement, CountsThePairsThatHaveBoth) {
  std::vector<Record> records = comparison();
  EXPECT_EQ(energy_agreement(records).points, 0);
  for (Record& one : records) {
    if (one.machine != "a cpu" || one.workload != "short") continue;
    if (one.executor == "cpu") one.joules = 2;
    if (one.executor == "simulator") one.joules = one.schedule == "fa2" ? 2.5 : 1.9;
  }
  const EnergyAgreement result = energy_agreement(records);
  EXPECT_EQ(result.points, 3);
  EXPECT_NEAR(result.median_error, 0.05, 1e-12);
  EXPECT_NEAR(result.p90_error, 0.05 + 0.8 * 0.2, 1e-12);
  EXPECT_NEAR(result.within_10_percent, 2.0 / 3, 1e-12);
}

/// One workload by three schedules: predicted, and measured in pairs with the baseline.
std::vector<Record> in_pairs(double predicted, const RecordSpeedUp& measured) {
  std::vector<Record> records = {record("w", "base", "simulator", "m", 1e-3), record("w", "base", "cpu", "m", 2e-3),
                                 record("w", "other", "simulator", "m", 1e-3 / predicted),
                                 record("w", "other", "cpu", "m", 2e-3)};
  records.back().speed_up = measured;
  return records;
}

TEST(Pairs, OfRunsSetTheSpeedUp) {
  const std::vector<Record> records = in_pairs(1.5, {"base", 1.25, 1.1, 1.4, 9});
  EXPECT_EQ(*Baseline(records, "base").speed_up(records.back()), 1.25);
  EXPECT_EQ(*Baseline(records, "other").speed_up(records[1]), 1);  // of other records: the ratio of the medians
  EXPECT_TRUE(Baseline(records, "base").clear(records.back()));
}

TEST(Pairs, AnIntervalThatHolds1IsNoise) {
  for (const RecordSpeedUp& noise :
       {RecordSpeedUp{"base", 1.25, 0.9, 1.4, 9}, RecordSpeedUp{"base", 0.8, 0.7, 1.01, 9},
        RecordSpeedUp{"base", 1.015, 1.01, 1.02, 99}, RecordSpeedUp{"base", 1.25, 1.1, 1.4, 5}}) {
    const std::vector<Record> records = in_pairs(1.5, noise);
    EXPECT_FALSE(Baseline(records, "base").clear(records.back())) << noise.median;
    EXPECT_EQ(agreement(records, "base").clear_speed_ups, 0) << noise.median;
  }
  const Agreement right = agreement(in_pairs(1.5, {"base", 1.25, 1.1, 1.4, 9}), "base");
  EXPECT_EQ(right.clear_speed_ups, 1);
  EXPECT_EQ(right.same_sign, 1);
  EXPECT_EQ(agreement(in_pairs(1.5, {"base", 0.9, 0.8, 0.95, 9}), "base").same_sign, 0);
}

TEST(Pairs, OfTheSamePlanCheckTheNoise) {
  const Agreement quiet = agreement(in_pairs(1, {"base", 1.01, 0.97, 1.05, 9}), "base");
  EXPECT_EQ(quiet.paired_speed_ups, 1);
  EXPECT_EQ(quiet.same_plans, 1);
  EXPECT_EQ(quiet.clear_same_plans, 0);
  const Agreement loud = agreement(in_pairs(1, {"base", 1.1, 1.05, 1.2, 9}), "base");
  EXPECT_EQ(loud.clear_same_plans, 1);
  EXPECT_EQ(loud.clear_speed_ups, 0);  // no side of 1 was predicted
  std::vector<Record> other = in_pairs(1, {"base", 1.1, 1.05, 1.2, 9});
  other[2].ctas = 7;  // as fast, but another plan
  EXPECT_EQ(agreement(other, "base").same_plans, 0);
  EXPECT_EQ(agreement(other, "base").clear_speed_ups, 1);
}

TEST(Noise, IsTheMedianSpreadOfRunsAndProbes) {
  std::vector<Record> records = in_pairs(1.5, {"base", 1.25, 1.1, 1.4, 9});
  EXPECT_EQ(noise(records).plans, 0);
  records[1].seconds_p20 = 1.9e-3;
  records[1].seconds_p80 = 2.1e-3;
  records[3].seconds_p20 = 1.8e-3;
  records[3].seconds_p80 = 2.4e-3;
  records[3].interrupted = 3;
  records[2].probes = RecordProbes{};
  records[2].probes->read_spread = 0.5;
  records[2].probes->tile_spread = 0.25;
  const Noise seen = noise(records);
  EXPECT_EQ(seen.plans, 2);
  EXPECT_NEAR(seen.run_spread, 0.2, 1e-12);
  EXPECT_EQ(seen.interrupted, 3);
  EXPECT_EQ(seen.probed, 1);
  EXPECT_EQ(seen.read_spread, 0.5);
  EXPECT_EQ(seen.tile_spread, 0.25);
}

TEST(Baseline, SpeedUpIsRelativeToTheSameExecutorAndMachine) {
  const std::vector<Record> records = comparison();
  const Baseline baseline(records, "fixed-split:fa2");
  EXPECT_NEAR(*baseline.speed_up(record("short", "lean", "simulator", "h200", 5e-6)), 2, 1e-12);
  EXPECT_FALSE(baseline.speed_up(record("other", "lean", "simulator", "h200", 5e-6)));
  EXPECT_FALSE(baseline.speed_up(records.back()));  // it has no time
}

TEST(Summarize, GeometricMeanLeastAndMost) {
  const std::vector<ScheduleSummary> all = summarize(comparison(), "fixed-split:fa2");
  ASSERT_EQ(all.size(), 9U);
  const ScheduleSummary& lean = all.at(2);
  EXPECT_EQ(lean.schedule, "lean");
  EXPECT_EQ(lean.machine, "h200");
  EXPECT_EQ(lean.workloads, 2);
  EXPECT_NEAR(lean.geometric_mean, std::sqrt(1.25 * 2), 1e-12);
  EXPECT_NEAR(lean.least, 1.25, 1e-12);
  EXPECT_NEAR(lean.most, 2, 1e-12);
  EXPECT_EQ(all.at(0).schedule, "fixed-split:fa2");
  EXPECT_EQ(all.at(0).geometric_mean, 1);
  EXPECT_EQ(all.at(1).schedule, "fa2");
  EXPECT_EQ(all.at(1).workloads, 1);  // the other has no time
}

}  // namespace
}  // namespace splitwave::reports
