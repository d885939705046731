// SPDX-License-Identifier: Apache-2.0
// Cases whose time can be worked out by hand; toy.h has the round numbers. 1,000 tokens are 1 MB.
#include "simulator/simulate.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/simulator/toy.h"

namespace splitwave::simulator {
namespace {

TEST(Simulate, OneWaveTakesAsLongAsItsLongestCta) {
  EXPECT_NEAR(toy::seconds({1000, 1000}, toy::machine(2), toy::kernel(1)), 1 * kMs, kTolerance);
  EXPECT_NEAR(toy::seconds({1000, 3000}, toy::machine(2), toy::kernel(1)), 3 * kMs, kTolerance);
}

TEST(Simulate, ATailTakesAnotherWave) {
  EXPECT_NEAR(toy::seconds({1000, 1000, 1000}, toy::machine(2), toy::kernel(1)), 2 * kMs, kTolerance);
}

TEST(Simulate, AFullMemoryIsSharedEvenly) {
  Machine machine = toy::machine(4);
  machine.dram_bytes_per_second = machine.dram_asymptote = 2e9;  // for four CTAs that could take 1 GB/s each
  EXPECT_NEAR(toy::seconds({1000, 1000, 1000, 1000}, machine, toy::kernel(1)), 2 * kMs, kTolerance);
  // 0.5 GB/s each until the three short ones end after 2 ms; the long one has 1 MB left and then gets 1 GB/s.
  EXPECT_NEAR(toy::seconds({1000, 1000, 1000, 2000}, machine, toy::kernel(1)), 3 * kMs, kTolerance);
}

TEST(Simulate, LittlesLawLimitsALoneCta) {
  Machine machine = toy::machine(4);
  machine.dram_bytes_per_second = machine.dram_asymptote = 1e15;
  EXPECT_NEAR(toy::seconds({1000}, machine, toy::kernel(1)), 1 * kMs, kTolerance);
  KernelProfile kernel = toy::kernel(1);
  kernel.bytes_in_flight *= 2;
  EXPECT_NEAR(toy::seconds({1000}, machine, kernel), 0.5 * kMs, kTolerance);
}

/// 2 us of CUDA-core work per token of 1,000 bytes: 0.5 GB/s per SM.
KernelProfile slow_kernel(std::int32_t ctas_per_sm) {
  KernelProfile kernel = toy::kernel(ctas_per_sm);
  kernel.instruction = MmaInstruction::cuda_core;
  kernel.clocks_per_token = 2000 / (250 / 128.0);
  return kernel;
}

TEST(Simulate, ArithmeticLimitsAndIsSharedOnAnSm) {
  const KernelProfile kernel = slow_kernel(2);
  const Machine machine = toy::machine(2);
  // Nothing is computed before a latency of 1 us is over.
  const double first = 1e-6;
  EXPECT_NEAR(toy::seconds({1000}, machine, kernel), first + 2 * kMs, kTolerance);
  EXPECT_NEAR(toy::seconds({1000, 1000}, machine, kernel), first + 2 * kMs, kTolerance);              // an SM each
  EXPECT_NEAR(toy::seconds({1000, 1000, 1000, 1000}, machine, kernel), first + 4 * kMs, kTolerance);  // two on each
  const workloads::Workload batch = toy::workload({1000});
  const schedules::Timeline timeline = simulate(batch, toy::one_cta_each(batch), machine, kernel);
  // Memory would have needed 1 ms; one of four slots works.
  EXPECT_NEAR(timeline.breakdown.stream, 1 * kMs / 4, 50e-9);
  EXPECT_NEAR(timeline.breakdown.compute, 1 * kMs / 4, 50e-9);
  EXPECT_NEAR(timeline.breakdown.idle, 3 * (first + 2 * kMs) / 4, kTolerance);
}

TEST(Simulate, APartialTileCostsAWholeOneInArithmetic) {
  KernelProfile kernel = slow_kernel(1);
  kernel.tile_tokens = 100;
  EXPECT_NEAR(toy::seconds({101}, toy::machine(1), kernel), 200 * 2e-6, 1.1e-6);
}

// A tile of 400 tokens is 400 KB, which takes 4 us at the memory's whole 100 GB/s; a latency is 1 us.
TEST(Simulate, ArithmeticStartsWithPartOfATileWhereTheKernelCan) {
  KernelProfile kernel = slow_kernel(1);
  kernel.tile_tokens = 400;
  const double whole = toy::seconds({2000}, toy::machine(1), kernel);
  kernel.first_tiles = 0.5;
  EXPECT_NEAR(whole - toy::seconds({2000}, toy::machine(1), kernel), 2e-6, 1e-10);
  kernel.first_tiles = 0.125;
  EXPECT_NEAR(whole - toy::seconds({2000}, toy::machine(1), kernel), 3e-6, 1e-10);
}

TEST(Simulate, TheLastTilesArithmeticFollowsItsBytes) {
  KernelProfile kernel = toy::kernel(1);
  kernel.instruction = MmaInstruction::cuda_core;
  kernel.clocks_per_token = 500 / (250 / 128.0);  // half of what memory takes
  kernel.tile_tokens = 100;
  kernel.drain_tiles = 1;
  EXPECT_NEAR(toy::seconds({1000}, toy::machine(1), kernel), 1 * kMs + 100 * 0.5e-6, kTolerance);
}

TEST(Simulate, AnSmTakesInNoMoreThanItsShare) {
  Machine machine = toy::machine(2);
  machine.sm_bytes_per_second = 1e9;
  EXPECT_NEAR(toy::seconds({1000, 1000, 1000}, machine, toy::kernel(2)), 2 * kMs, kTolerance);
}

TEST(Simulate, RowsArePaddedToTheInstruction) {
  KernelProfile kernel = toy::kernel(1);
  Machine machine = toy::machine(1);
  workloads::Geometry geometry = toy::workload({}).geometry;
  kernel.mma_rows = 64;
  machine.mma_sync_flops = 64e9;
  machine.fp32_lanes = 1e12;
  // 2 * 64 rows * 500 elements at 64 GFLOP/s.
  EXPECT_NEAR(seconds_per_token(machine, kernel, geometry, 1).crowded, 1e-6, 1e-12);
  EXPECT_NEAR(seconds_per_token(machine, kernel, geometry, 64).crowded, 1e-6, 1e-12);
  EXPECT_NEAR(seconds_per_token(machine, kernel, geometry, 65).crowded, 2e-6, 1e-12);
  kernel.mma_rows = 16;
  EXPECT_NEAR(seconds_per_token(machine, kernel, geometry, 1).crowded, 0.25e-6, 1e-12);
}

TEST(Simulate, UnitsThatOverlapCostTheLongestAndAShareOfTheOthers) {
  KernelProfile kernel = toy::kernel(1);
  kernel.mma_rows = 16;
  kernel.shared_reads = 2;
  kernel.unhidden_crowded = 0.5;
  kernel.unhidden_alone = 1;
  Machine machine = toy::machine(1);
  machine.mma_sync_flops = 16e9;          // 1 us for 16 rows of 500 elements
  machine.exp_per_second = 16e9;          // 1 ns for 16 exponentials
  machine.fp32_lanes = 80;                // 1 ns for 16 * 5 operations at 1 GHz
  machine.shared_bytes_per_clock = 4000;  // 0.5 ns for 2,000 bytes
  const TokenSeconds token = seconds_per_token(machine, kernel, toy::workload({}).geometry, 1);
  EXPECT_NEAR(token.crowded, 1e-6 + 0.5 * 2.5e-9, 1e-15);
  EXPECT_NEAR(token.alone, 1e-6 + 2.5e-9, 1e-15);
  // Exponentials and the other operations of the softmax are units of their own.
  machine.mma_sync_flops = 1e18;
  machine.fp32_lanes = 160;
  const TokenSeconds softmax = seconds_per_token(machine, kernel, toy::workload({}).geometry, 1);
  EXPECT_NEAR(softmax.crowded, 1e-9 + 0.5 * 1e-9, 1e-12);
  EXPECT_NEAR(softmax.alone, 1e-9 + 1e-9, 1e-12);
}

TEST(Simulate, ACtaTakesNoMoreOfItsSmThanItTakesAlone) {
  Machine machine = toy::machine(1);
  machine.mma_sync_flops = 1e9;  // 1 us for a row of 500 elements
  KernelProfile kernel = toy::kernel(1);
  const auto token = [&] { return seconds_per_token(machine, kernel, toy::workload({}).geometry, 1); };
  kernel.chain_clocks = 800;
  EXPECT_NEAR(token().alone, 0.8e-6, 1e-12) << "as measured, whatever the units' rates say";
  EXPECT_NEAR(token().crowded, 0.8e-6, 1e-12);
  kernel.chain_clocks = 3000;
  EXPECT_NEAR(token().alone, 3e-6, 1e-12);
  EXPECT_LT(token().crowded, 1.1e-6);
  kernel.crowded_clocks = 3500;
  EXPECT_NEAR(token().alone, 3.5e-6, 1e-12);
}

/// A ring with stages of ten tokens, 10 KB, and 0.2 us of arithmetic for each; a latency is 1 us.
KernelProfile ring_of_stages(std::int32_t stages) {
  KernelProfile kernel = toy::kernel(1);
  kernel.refills_after_use = true;
  kernel.exposed_latencies = 1;
  kernel.tile_tokens = 10;
  kernel.bytes_in_flight = 10'000 * stages;
  kernel.chain_clocks = 20;
  return kernel;
}

// With two stages a further one comes every 0.6 us.
TEST(Simulate, APartOfATileInAnEarlierOnesPlaceComesNoSoonerThanAllOfIt) {
  const KernelProfile kernel = ring_of_stages(2);
  const auto seconds = [&](std::int32_t tokens) { return toy::seconds({tokens}, toy::machine(1), kernel); };
  EXPECT_NEAR(seconds(30) - seconds(20), 0.6e-6, 1e-9);
  EXPECT_NEAR(seconds(21), seconds(30), 1e-9);
  EXPECT_NEAR(seconds(40) - seconds(31), 0, 1e-9);
  EXPECT_LT(seconds(11), seconds(20) + 1e-9) << "the second stage was asked for with the first";
}

TEST(Simulate, FirstRoundsThatTakeLessThanNothingEndAllTheSame) {
  KernelProfile kernel = ring_of_stages(4);
  kernel.first_round_seconds = -1;
  for (const double clocks : {20.0, 2000.0}) {  // bound by latency, by arithmetic
    kernel.chain_clocks = clocks;
    const double seconds = toy::seconds({40}, toy::machine(1), kernel);
    EXPECT_GT(seconds, 0);
    EXPECT_LT(seconds, 1);
  }
}

TEST(Simulate, ARefillKeepsAWindowEmpty) {
  // 1,000 bytes every 1 us of latency and 0.5 us until they are asked for anew.
  KernelProfile kernel = toy::kernel(1);
  kernel.refill_seconds = 0.5e-6;
  EXPECT_NEAR(toy::seconds({1000}, toy::machine(1), kernel), 1.5 * kMs, kTolerance);
  // A full memory gives what it has.
  const std::vector<std::int32_t> many(200, 1000);
  const double full = toy::seconds(many, toy::machine(200), kernel);
  kernel.refill_seconds = 0;
  EXPECT_NEAR(full, toy::seconds(many, toy::machine(200), kernel), kTolerance);
}

TEST(Simulate, ColdPagesCostOncePerDependentLoad) {
  Machine machine = toy::machine(1);
  machine.cold_seconds = 1 * kMs;
  KernelProfile kernel = toy::kernel(1);
  kernel.cold_loads = 3;
  EXPECT_NEAR(toy::seconds({3000, 3000}, machine, kernel), 3 * kMs + 6 * kMs, kTolerance);
}

TEST(Simulate, CachesOfLessThanAPageShareIt) {
  Machine machine = toy::machine(1);
  machine.cold_seconds = 1 * kMs;
  // 1,000 bytes a token: of 2,097,152 bytes a quarter, so that one launch in four touches a new page.
  const double quarter = 524.288;
  EXPECT_NEAR(toy::seconds({524}, machine, toy::kernel(1)), (524 / quarter / 4 + 0.524) * kMs, kTolerance);
  EXPECT_NEAR(toy::seconds({2100}, machine, toy::kernel(1)), (1 + 2.1) * kMs, kTolerance);
}

TEST(Simulate, EmptyItemsCostTheirOverheads) {
  Machine machine = toy::machine(1);
  KernelProfile kernel = toy::kernel(1);
  kernel.prologue_seconds = 2 * kMs;
  kernel.epilogue_seconds = 3 * kMs;
  EXPECT_NEAR(toy::seconds({0}, machine, kernel), 5 * kMs, kTolerance);
  EXPECT_NEAR(toy::seconds({0, 0, 1000}, machine, kernel), 16 * kMs, kTolerance);
}

TEST(Simulate, AnEmptyItemLoadsNothing) {
  // One CTA with the outputs of all empty requests: no Q and no K to begin with, only results to write.
  const workloads::Workload batch = toy::workload({0, 0, 1000, 0});
  schedules::Plan plan = toy::one_cta_each(batch);
  plan.cta_begin = {0, 4};
  KernelProfile kernel = toy::kernel(1);
  kernel.prologue_seconds = 2 * kMs;
  kernel.epilogue_seconds = 3 * kMs;
  kernel.item_seconds = 5 * kMs;
  EXPECT_NEAR(simulate(batch, plan, toy::machine(1), kernel).seconds, (2 + 3 + 3 + 5 + 1 + 3 + 3) * kMs, kTolerance);
}

TEST(Simulate, CtasWithoutTokensTakeNoShareOfTheMemory) {
  // 9 empty CTAs beside one that is bound by arithmetic: its first tile comes at the memory's whole rate, 2 GB/s.
  Machine machine = toy::machine(10);
  machine.dram_bytes_per_second = machine.dram_asymptote = 2e9;
  KernelProfile kernel = slow_kernel(1);
  kernel.tile_tokens = 1000;
  EXPECT_NEAR(toy::seconds({1000}, machine, kernel), 0.5 * kMs + 2 * kMs, kTolerance);
  EXPECT_NEAR(toy::seconds({1000, 0, 0, 0, 0, 0, 0, 0, 0, 0}, machine, kernel), 0.5 * kMs + 2 * kMs, kTolerance);
}

TEST(Simulate, HiddenLatencyIsNotPaidTwice) {
  Machine machine = toy::machine(10);
  KernelProfile kernel = toy::kernel(1);
  kernel.exposed_latencies = 1;
  // Bound by latency: the stream itself is latency after latency.
  EXPECT_NEAR(toy::seconds({1000}, machine, kernel), 1 * kMs, kTolerance);
  // Bound by memory at a tenth of that rate: nine tenths of the first latency show.
  machine.dram_bytes_per_second = 1e9;
  EXPECT_NEAR(toy::seconds(std::vector<std::int32_t>(10, 1000), machine, kernel), 10 * kMs + 0.9e-6, kTolerance / 10);
  // Less than a window: one latency, not a part of it, and 10 ns for 1 kB at 100 GB/s.
  kernel.bytes_in_flight = 1000'000;
  EXPECT_NEAR(toy::seconds({1}, toy::machine(10), kernel), 1.01e-6, 2e-9);
}

TEST(Simulate, SharedReadersOfOneKvHeadLoadDramOnce) {
  workloads::Workload batch = toy::workload({1000});
  batch.geometry.kind = workloads::AttentionKind::mqa;
  batch.geometry.query_heads = 4;
  schedules::Plan plan;
  plan.schedule = "toy";
  plan.tile_q = plan.tile_kv = 1;
  for (std::int32_t head = 0; head < 4; ++head) {
    plan.outputs.push_back({0, head, 1, 0, 1});
    plan.items.push_back({head, 0, 1000, -1});
    plan.cta_begin.push_back(head + 1);
  }
  Machine machine = toy::machine(4);
  machine.l2_latency_seconds = machine.dram_latency_seconds;
  machine.dram_bytes_per_second = machine.dram_asymptote = 1e9;
  EXPECT_NEAR(simulate(batch, plan, machine, toy::kernel(1)).seconds, 1 * kMs, 1e-6);
  // On one SM they follow each other, and L2 keeps nothing.
  Machine one = machine;
  one.sms = 1;
  one.sms_per_gpc = {1};
  EXPECT_NEAR(simulate(batch, plan, one, toy::kernel(1)).seconds, 4 * kMs, kTolerance);
}

TEST(Simulate, WarmDataComeFromL2) {
  Machine machine = toy::machine(1);
  machine.l2_bytes = 6'000'000;
  machine.l2_latency_seconds = 0.25e-6;
  const workloads::Workload batch = toy::workload({3000});
  SimulateOptions options;
  options.l2 = L2State::warm;
  EXPECT_NEAR(simulate(batch, toy::one_cta_each(batch), machine, toy::kernel(1), options).seconds, 0.75 * kMs,
              kTolerance);
  // 3 MB are half of this L2, more than stays in it; then the first touches meet cold pages too.
  machine.l2_kept = 0.49;
  machine.cold_seconds = 1 * kMs;
  EXPECT_NEAR(simulate(batch, toy::one_cta_each(batch), machine, toy::kernel(1), options).seconds, (1 + 3) * kMs,
              kTolerance);
}

TEST(Simulate, RefusesWhatDoesNotFit) {
  const workloads::Workload batch = toy::workload({1000});
  KernelProfile kernel = toy::kernel(1);
  SimulateOptions options;
  options.ctas_per_sm = 2;
  EXPECT_THROW(simulate(batch, toy::one_cta_each(batch), toy::machine(1), kernel, options), base::InputError);
  kernel.shared_bytes = 1 << 20;
  EXPECT_THROW(simulate(batch, toy::one_cta_each(batch), toy::machine(1), kernel), base::InputError);
  EXPECT_THROW(grid_of(toy::machine(1), kernel), base::InputError);
}

}  // namespace
}  // namespace splitwave::simulator
