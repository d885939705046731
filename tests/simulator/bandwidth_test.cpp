// SPDX-License-Identifier: Apache-2.0
#include "simulator/bandwidth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace splitwave::simulator {
namespace {

/// Plain reads on one H200 (2026-11-20, medians, graph replay): GB/s by number of CTAs, one per SM up to 132; every
/// thread has eight 16-byte loads in flight.
constexpr std::array<int, 15> kCtas = {1, 8, 16, 32, 48, 64, 80, 96, 112, 128, 132, 198, 264, 396, 528};
constexpr std::array<double, 15> k32KiB = {36,   289,  580,  1117, 1623, 2092, 2503, 2886,
                                           3216, 3498, 3557, 4194, 4463, 4563, 4567};
constexpr std::array<double, 15> k64KiB = {70,   561,  1098, 2051, 2863, 3492, 3871, 4138,
                                           4316, 4426, 4446, 4464, 4566, 4563, 4567};

double total_rate(const Machine& machine, int ctas, double bytes_in_flight) {
  // Breadth first over the SMs: some hold one CTA more than the others.
  const int least = ctas / machine.sms;
  const int fuller = ctas % machine.sms;
  const MemoryLaw law = memory_law(machine, bytes_in_flight, 1, 1);
  std::vector<StreamClass> classes;
  if (fuller > 0) {
    classes.push_back({static_cast<double>(fuller * (least + 1)), machine.sm_bytes_per_second / (least + 1), 0});
  }
  if (least > 0) {
    classes.push_back({static_cast<double>((machine.sms - fuller) * least), machine.sm_bytes_per_second / least, 0});
  }
  share_bandwidth(law, classes);
  double total = 0;
  for (const StreamClass& one : classes) total += one.ctas * one.rate;
  return total;
}

TEST(Bandwidth, ReproducesTheMeasuredTableOfTheH200WithinThreePercent) {
  const Machine h200 = load_machine("h200");
  for (std::size_t i = 0; i < kCtas.size(); ++i) {
    EXPECT_NEAR(total_rate(h200, kCtas[i], 32768) / 1e9 / k32KiB[i], 1, 0.03) << kCtas[i] << " CTAs of 32 KiB";
    EXPECT_NEAR(total_rate(h200, kCtas[i], 65536) / 1e9 / k64KiB[i], 1, 0.03) << kCtas[i] << " CTAs of 64 KiB";
  }
}

MemoryLaw plain_law() {
  MemoryLaw law;
  law.bytes_in_flight = 100;
  law.latency_seconds = 1;
  law.asymptote = 1000;
  law.plateau = 1000;
  law.l2_bytes_per_second = 1e9;
  return law;
}

TEST(Bandwidth, ALoneCtaGetsBytesInFlightOverLatency) {
  std::vector<StreamClass> classes = {{1, 1e9, 0}};
  share_bandwidth(plain_law(), classes);
  EXPECT_NEAR(classes[0].rate, 100, 1e-9);
}

TEST(Bandwidth, ManyCtasShareThePlateauEvenly) {
  std::vector<StreamClass> classes = {{50, 1e9, 0}};
  share_bandwidth(plain_law(), classes);
  EXPECT_NEAR(classes[0].rate, 20, 1e-9);
}

TEST(Bandwidth, WhatCappedCtasLeaveGoesToTheOthers) {
  // 10 CTAs capped at 5 take 50; the 19 others share 950, 50 each.
  std::vector<StreamClass> classes = {{10, 5, 0}, {19, 1e9, 0}};
  share_bandwidth(plain_law(), classes);
  EXPECT_NEAR(classes[0].rate, 5, 1e-9);
  EXPECT_NEAR(classes[1].rate, 50, 1e-9);
}

TEST(Bandwidth, LatencyGrowsWithLoad) {
  MemoryLaw law = plain_law();
  law.queue_seconds = 0.5;
  std::vector<StreamClass> classes = {{5, 1e9, 0}};
  share_bandwidth(law, classes);
  const double rho = 5 * classes[0].rate / law.asymptote;
  EXPECT_NEAR(classes[0].rate, 100 / (1 + 0.5 * rho / (1 - rho)), 1e-9);
}

TEST(Bandwidth, BytesFromL2DoNotLoadDram) {
  MemoryLaw law = plain_law();
  law.dram_share = 0.25;
  std::vector<StreamClass> classes = {{400, 1e9, 0}};
  share_bandwidth(law, classes);
  EXPECT_NEAR(classes[0].rate, 10, 1e-9);  // 400 * 10 * 0.25 = 1000
  law.dram_share = 0;
  law.l2_bytes_per_second = 2000;
  share_bandwidth(law, classes);
  EXPECT_NEAR(classes[0].rate, 5, 1e-9);
}

TEST(Bandwidth, TwoStreamsOfAnSmLetLessThrough) {
  Machine machine;
  machine.sms = 100;
  EXPECT_EQ(stream_share(machine, 200), 1) << "nothing is known";
  machine.stream_share = 0.9;
  for (const auto& [ctas, share] : {std::pair{1, 1.0}, {100, 1.0}, {150, 0.95}, {200, 0.9}, {300, 0.9}}) {
    EXPECT_NEAR(stream_share(machine, ctas), share, 1e-12) << ctas;
  }
}

TEST(Bandwidth, AMeasuredCurveIsFollowed) {
  const std::vector<double> curve = {10, 18, 20};
  MemoryLaw law;
  law.by_sms = curve;
  law.overlap = 3;
  for (int ctas = 1; ctas <= 4; ++ctas) {
    std::vector<StreamClass> classes = {{static_cast<double>(ctas), 1e9, 0}};
    share_bandwidth(law, classes);
    EXPECT_NEAR(classes[0].rate, curve[static_cast<std::size_t>(std::min(ctas, 3) - 1)] / ctas, 1e-9);
  }
}

}  // namespace
}  // namespace splitwave::simulator
