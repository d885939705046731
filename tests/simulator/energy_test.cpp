// SPDX-License-Identifier: Apache-2.0
// Joules worked out by hand, and the time that SMs hold CTAs, from which a part of them follows.
#include "simulator/energy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simulator/simulate.h"
#include "toy.h"

namespace splitwave::simulator {
namespace {

Machine powered(std::int32_t sms) {
  Machine machine = toy::machine(sms);
  machine.energy = EnergyConstants{100, 2, 40e-12, 10e-12, 3e-12, 1e-12};
  return machine;
}

TEST(Energy, EachPartIsItsConstantTimesWhatThePlanTakes) {
  const workloads::Workload workload = toy::workload({1000, 3000});
  const schedules::Plan plan = toy::one_cta_each(workload);
  KernelProfile kernel = toy::kernel(1);
  kernel.mma_rows = 8;
  kernel.shared_reads = 2;
  schedules::Timeline timeline;
  timeline.seconds = 0.5;
  timeline.sm_seconds = 0.75;
  timeline.traffic = {4'000'000, 1'000'000, 300'000, 200'000, 250'000, 250'000};
  // 8 rows instead of 1, 500 elements, a multiplication and an addition.
  EXPECT_EQ(mma_flops(workload, plan, kernel), 8.0 * 500 * 2 * 4000);
  const schedules::Energy joules = energy(workload, plan, timeline, powered(4), kernel).value();
  EXPECT_DOUBLE_EQ(joules.idle, 50);
  EXPECT_DOUBLE_EQ(joules.sms, 1.5);
  EXPECT_DOUBLE_EQ(joules.dram, 160e-6);
  EXPECT_DOUBLE_EQ(joules.l2, 60e-6);
  EXPECT_DOUBLE_EQ(joules.shared, 30e-6);
  EXPECT_DOUBLE_EQ(joules.arithmetic, 32e-6);
  EXPECT_DOUBLE_EQ(joules.total(), 51.5 + 282e-6);
}

// 1,000 tokens of 1,000 bytes by 8 rows: 8 MFLOP in 1 ms of arithmetic, 9 W at 1.125 nJ/FLOP besides 1 W of idling.
TEST(Energy, AboveThePowerLimitClocksGoDownUntilCallsTakeNoMore) {
  Machine machine = toy::machine(1);
  machine.energy = EnergyConstants{1, 0, 0, 0, 0, 1.125e-9};
  const workloads::Workload workload = toy::workload({1000});
  const schedules::Plan plan = toy::one_cta_each(workload);
  KernelProfile kernel = toy::kernel(1);
  kernel.mma_rows = 8;
  machine.mma_sync_flops = 8e9;
  kernel.bytes_in_flight = 1'000'000;
  const double seconds = simulate(workload, plan, machine, kernel).seconds;
  ASSERT_NEAR(seconds, 1e-3, 5e-6);
  const auto limited = [&](double watts) {
    machine.energy->limit_watts = watts;
    const schedules::Timeline timeline = simulate(workload, plan, machine, kernel);
    EXPECT_NEAR(energy(workload, plan, timeline, machine, kernel)->total() / timeline.seconds, std::min(watts, 10.0),
                0.1);
    return timeline.seconds;
  };
  EXPECT_EQ(limited(11), seconds);
  EXPECT_NEAR(limited(5.5), seconds * std::cbrt(2), 0.01 * seconds) << "half of what is above idle";
  machine.energy->limit_watts = 0.5;
  EXPECT_EQ(simulate(workload, plan, machine, kernel).seconds, seconds) << "no clock is slow enough";
}

// The same with arithmetic that takes a thousandth of the memory's time, and an SM that takes the power.
TEST(Energy, AClockThatChangesLittleIsNotLookedAt) {
  Machine machine = toy::machine(1);
  machine.energy = EnergyConstants{1, 9, 0, 0, 0, 0};
  const workloads::Workload workload = toy::workload({1000});
  const schedules::Plan plan = toy::one_cta_each(workload);
  KernelProfile kernel = toy::kernel(1);
  kernel.mma_rows = 8;
  const auto seconds = [&](double flops, double watts) {
    machine.mma_sync_flops = flops;
    machine.energy->limit_watts = watts;
    return simulate(workload, plan, machine, kernel).seconds;
  };
  for (const double watts : {9.0, 5.5}) {
    EXPECT_EQ(seconds(8e13, watts), seconds(8e13, 11)) << watts;
    EXPECT_GT(seconds(8e8, watts), 1.01 * seconds(8e8, 11)) << watts;
  }
}

TEST(Energy, IsUnknownWithoutConstantsAndOnCudaCores) {
  const workloads::Workload workload = toy::workload({1000});
  const schedules::Plan plan = toy::one_cta_each(workload);
  KernelProfile kernel = toy::kernel(1);
  EXPECT_FALSE(energy(workload, plan, {}, toy::machine(1), kernel));
  EXPECT_TRUE(energy(workload, plan, {}, powered(1), kernel));
  kernel.instruction = MmaInstruction::cuda_core;
  EXPECT_EQ(mma_flops(workload, plan, kernel), 0);
  EXPECT_FALSE(energy(workload, plan, {}, powered(1), kernel));
}

TEST(Energy, AnSmCountsFromItsFirstCtaToItsLast) {
  const auto sm_seconds = [](const std::vector<std::int32_t>& contexts, std::int32_t sms, std::int32_t per_sm) {
    const workloads::Workload workload = toy::workload(contexts);
    return simulate(workload, toy::one_cta_each(workload), toy::machine(sms), toy::kernel(per_sm), {}).sm_seconds;
  };
  // 1,000 tokens at 1 GB/s: 1 ms for each CTA.
  EXPECT_NEAR(sm_seconds({1000}, 4, 1), 1e-3, 1e-6);
  EXPECT_NEAR(sm_seconds({1000, 1000, 1000}, 4, 1), 3e-3, 1e-6);
  EXPECT_NEAR(sm_seconds({1000, 2000}, 2, 1), 3e-3, 1e-6);
  // Two on one SM are counted once, and until the longer one's end.
  EXPECT_NEAR(sm_seconds({1000, 1000}, 1, 2), 1e-3, 1e-6);
  EXPECT_NEAR(sm_seconds({3000, 1000}, 1, 2), 3e-3, 1e-6);
  // A third one follows the shorter of the first two, on one SM of two slots; on two SMs it comes to the idle one.
  EXPECT_NEAR(sm_seconds({3000, 1000, 3000}, 1, 2), 4e-3, 1e-6);
  EXPECT_NEAR(sm_seconds({1000, 1000, 1000, 1000, 1000}, 2, 1), 5e-3, 1e-6);
}

TEST(Energy, WhatIfKeepsWhatHolds) {
  MachineOverrides more_sms;
  more_sms.sms = 8;
  EXPECT_TRUE(with_overrides(powered(4), more_sms).energy);
  MachineOverrides clock;
  clock.clock_hz = 0.5e9;
  EXPECT_FALSE(with_overrides(powered(4), clock).energy) << "another clock needs another voltage";
  clock.clock_hz = 1e9;
  EXPECT_TRUE(with_overrides(powered(4), clock).energy);
}

}  // namespace
}  // namespace splitwave::simulator
