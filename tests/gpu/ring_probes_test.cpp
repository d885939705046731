// SPDX-License-Identifier: Apache-2.0
// What probes of a lone ring that streams from DRAM say of its turns. No device is needed.
#include <gtest/gtest.h>

#include "studies/round_costs.h"

namespace splitwave::studies {
namespace {

constexpr double kSecondsPerNs = 1e-9;
constexpr double kLatencyOfL2 = 180, kFarther = 250, kSmOfDram = 160;
constexpr std::int32_t kRound = 64;

/// A config of so many stages whose rounds take `chain` ns from L2 and `streamed` from DRAM.
ProbedConfig ring(std::int32_t stages, double chain, double streamed) {
  ProbedConfig probed;
  probed.geometry.head_dim = 128;
  probed.geometry.value_dim = 128;
  probed.config.stages = stages;
  const auto add = [&](gpu::ProbeKind kind, std::int32_t rounds, double ns) {
    gpu::KernelProbe probe;
    probe.config = probed.config;
    probe.kind = kind;
    probe.count = rounds * kRound;
    probe.any_plan = true;
    probe.seconds = ns * kSecondsPerNs;
    probed.probes.push_back(probe);
  };
  for (const std::int32_t rounds : {stages, stages + 8}) add(gpu::ProbeKind::item, rounds, 2000 + rounds * chain);
  if (streamed <= 0) return probed;
  for (const std::int32_t rounds : {stages, stages + gpu::kStreamedRounds}) {
    add(gpu::ProbeKind::cold, rounds, 3000 + rounds * streamed);
  }
  return probed;
}

ProbeBase base() {
  ProbeBase base;
  base.ring_l2_seconds = kLatencyOfL2 * kSecondsPerNs;
  base.farther_seconds = kFarther * kSecondsPerNs;
  base.sm_bytes_per_second = kSmOfDram * 1e9;
  return base;
}

TEST(RingProbes, WhatATurnTakesBesidesALatencyAndArithmetic) {
  const ProbedConfig probed = ring(2, 370, 430);
  const ProbeBase of = base();
  EXPECT_NEAR(RoundCosts(probed, of).ring_refill(true, false).value(), 2 * 430 - kLatencyOfL2 - kFarther - 370, 1e-6);
  const double passing = kRound * 512 / kSmOfDram;
  EXPECT_NEAR(RoundCosts(probed, of).ring_refill(true, true).value(), 2 * 430 - kLatencyOfL2 - kFarther - passing - 370,
              1e-6);
  EXPECT_FALSE(RoundCosts(probed, of).ring_refill(false, false)) << "the kernel for single items was not probed";
}

TEST(RingProbes, SayNothingOfTurnsWhereArithmeticIsTheLimit) {
  const ProbedConfig probed = ring(4, 370, 380);
  const ProbeBase of = base();
  EXPECT_EQ(RoundCosts(probed, of).ring_refill(true, false), 0);
}

TEST(RingProbes, RoundsFromDramMayTakeLessThanFromL2) {
  const ProbedConfig sooner = ring(2, 680, 630);
  EXPECT_NEAR(ProbeTimes(sooner).chain(1, true), 630, 1e-6);
  const ProbedConfig later = ring(2, 370, 430);
  EXPECT_NEAR(ProbeTimes(later).chain(1, true), 370, 1e-6) << "they wait for latencies";
}

TEST(RingProbes, OfOlderPointsSayNothing) {
  const ProbedConfig probed = ring(2, 370, 0);
  const ProbeBase of = base();
  EXPECT_FALSE(RoundCosts(probed, of).ring_refill(true, false));
  EXPECT_NEAR(ProbeTimes(probed).chain(1, true), 370, 1e-6);
}

}  // namespace
}  // namespace splitwave::studies
