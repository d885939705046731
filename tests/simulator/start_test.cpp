// SPDX-License-Identifier: Apache-2.0
// How a lone CTA of the project's own kinds of kernels starts and ends, by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "simulator/alternatives.h"
#include "tests/simulator/toy.h"

namespace splitwave::simulator {
namespace {

constexpr double kUs = 1e-6;

/// What a further item's row takes of half the memory's 10 GB/s: 2,000 bytes.
constexpr double kRow = 0.4;

/// Tiles of 10 KB in a ring of two, 0.1 us of transfer each after a latency of 1 us.
KernelProfile ring(double clocks_per_token) {
  KernelProfile kernel = toy::kernel(1);
  kernel.tile_tokens = 10;
  kernel.bytes_in_flight = 20'000;
  kernel.exposed_latencies = 1;
  kernel.drain_tiles = 1;
  kernel.refills_after_use = true;
  kernel.chain_clocks = clocks_per_token;
  kernel.first_round_seconds = 0.2 * kUs;
  return kernel;
}

double seconds(std::int32_t tokens, const KernelProfile& kernel, const Machine& machine = toy::machine(1)) {
  const workloads::Workload workload = toy::workload({tokens});
  return simulate(workload, toy::one_cta_each(workload), machine, kernel).seconds;
}

TEST(Start, ARingWaitsForItsFirstTileAndThenForItsArithmetic) {
  const KernelProfile kernel = ring(200);  // 2 us a tile
  EXPECT_NEAR(seconds(10, kernel), 3.1 * kUs, kTolerance * kUs);
  EXPECT_NEAR(seconds(20, kernel), 5.3 * kUs, kTolerance * kUs) << "the second stage's first round";
  EXPECT_NEAR(seconds(30, kernel), 7.3 * kUs, kTolerance * kUs);
}

TEST(Start, APartOfATileTakesLessArithmetic) {
  KernelProfile kernel = ring(200);
  EXPECT_NEAR(seconds(15, kernel), 5.3 * kUs, kTolerance * kUs) << "or a whole one's";
  kernel.partial_tile = 0.4;
  EXPECT_NEAR(seconds(15, kernel), 4.7 * kUs, kTolerance * kUs);  // 0.4 + 0.6 / 2 of a tile
}

TEST(Start, OnlyTilesThatFollowAnotherInTheirStageWaitForLatencies) {
  const KernelProfile kernel = ring(20);  // 0.2 us a tile, 1.2 us from request to request
  EXPECT_NEAR(seconds(10, kernel), 1.3 * kUs, kTolerance * kUs);
  EXPECT_NEAR(seconds(20, kernel), 1.7 * kUs, kTolerance * kUs);
  EXPECT_NEAR(seconds(30, kernel), 2.3 * kUs, kTolerance * kUs);
  EXPECT_NEAR(seconds(40, kernel), 2.9 * kUs, kTolerance * kUs);
}

TEST(Start, ATileThatWarpsShareIsAskedForAnewOnceAllOfItIsThere) {
  Machine machine = toy::machine(1);
  machine.sm_bytes_per_second = 50e9;  // 0.2 us a tile
  const auto times = [&](bool shares) {
    KernelProfile kernel = ring(20);
    kernel.shares_tiles = shares;
    const double first = seconds(20, kernel, machine);
    return std::pair(first, seconds(200, kernel, machine) - first);
  };
  const auto [first, further] = times(false);  // 1.2 us from request to request
  const auto [first_shared, further_shared] = times(true);
  EXPECT_NEAR(first_shared, first, kTolerance * kUs) << "the first tiles wait for nothing";
  EXPECT_NEAR(further_shared, further * 1.4 / 1.2, kTolerance * kUs);
}

TEST(Start, ATurnOfARingTakesWhatAProbeShowedBesides) {
  const auto times = [&](double refill_us) {
    KernelProfile kernel = ring(20);
    kernel.ring_refill_seconds = refill_us * kUs;
    const double first = seconds(20, kernel);
    return std::pair(first, seconds(200, kernel) - first);
  };
  const auto [first, further] = times(0);  // 1.2 us from request to request
  const auto [first_later, further_later] = times(0.3);
  const auto [first_sooner, further_sooner] = times(-0.3);
  EXPECT_NEAR(first_later, first, kTolerance * kUs) << "the first tiles wait for nothing";
  EXPECT_NEAR(further_later, further * 1.5 / 1.2, kTolerance * kUs);
  EXPECT_NEAR(first_sooner, first, kTolerance * kUs);
  EXPECT_NEAR(further_sooner, further * 0.9 / 1.2, kTolerance * kUs);
}

TEST(Start, AWindowOfOneTileDoesNotComeBeforeItIsAskedFor) {
  KernelProfile kernel = ring(200);
  kernel.bytes_in_flight = 10'000;
  kernel.first_round_seconds = 0;
  kernel.exposed_latencies = 0;
  EXPECT_GT(seconds(10, kernel), 2 * kUs);  // its arithmetic
  kernel.chain_clocks = 90;
  EXPECT_GT(seconds(10, kernel), 0.9 * kUs);
}

TEST(Start, WhereTheMemoryIsFullTilesComeAtItsRate) {
  Machine machine = toy::machine(1);
  machine.dram_bytes_per_second = machine.dram_asymptote = 10e9;  // 1 us a tile
  EXPECT_NEAR(seconds(10, ring(20), machine), 2.2 * kUs, kTolerance * kUs);
  EXPECT_NEAR(seconds(40, ring(20), machine), 5.2 * kUs, kTolerance * kUs);
}

/// Of two CTAs that share a full memory, one reads a long item and the other several short ones.
TEST(Start, AShortItemWaitsForTheWindowsOfOthersWhereTheMemoryIsFull) {
  Machine machine = toy::machine(2);
  machine.dram_bytes_per_second = machine.dram_asymptote = 10e9;
  KernelProfile kernel = ring(20);
  kernel.prefetches_items = true;
  const workloads::Workload workload = toy::workload({400, 10, 10, 10, 10});
  schedules::Plan plan = toy::one_cta_each(workload);
  plan.cta_begin = {0, 1, 5};
  const auto spans = simulate(workload, plan, machine, kernel, {.spans = true}).spans;
  // Two windows of 20 KB take 4 us, one alone 1.2. The mean item has 88 tokens; one of 10 takes 2 us at half the rate.
  const double wait = (4 - 1.2) * (1 - 10.0 / 88) * kUs;
  for (std::size_t i = 2; i < 5; ++i) {
    EXPECT_NEAR(spans[i].end_seconds - spans[i - 1].end_seconds, wait + (2 + kRow) * kUs, kTolerance * kUs);
  }
  // A CTA that asks for nothing until its ring is there falls behind by the whole queue, whatever its items.
  kernel.item_stops = 1;
  const auto stopped = simulate(workload, plan, machine, kernel, {.spans = true}).spans;
  for (std::size_t i = 2; i < 5; ++i) {
    EXPECT_NEAR(stopped[i].end_seconds - stopped[i - 1].end_seconds, wait + (4 - 1.2 + 2 + kRow) * kUs,
                kTolerance * kUs);
  }
  kernel.item_stops = 0;
  const workloads::Workload equal = toy::workload({10, 10, 10, 10});
  plan = toy::one_cta_each(equal);
  plan.cta_begin = {0, 2, 4};
  EXPECT_NEAR(simulate(equal, plan, machine, kernel).seconds, (5.2 + kRow) * kUs, kTolerance * kUs) << "all wait alike";
}

/// A list of items of so many tokens in a CTA alone.
double list_seconds(const std::vector<std::int32_t>& items, const KernelProfile& kernel, const Machine& machine) {
  const workloads::Workload workload = toy::workload(items);
  schedules::Plan plan = toy::one_cta_each(workload);
  plan.cta_begin = {0, static_cast<std::int32_t>(items.size())};
  return simulate(workload, plan, machine, kernel).seconds;
}

// A CTA that reads 1 us a tile, of whose window two tiles are.
TEST(Start, WhileItsThreadsEndAnItemARingIsNotRefilled) {
  Machine machine = toy::machine(1);
  machine.dram_bytes_per_second = machine.dram_asymptote = 10e9;
  KernelProfile kernel = ring(20);
  kernel.prefetches_items = true;
  const auto list = [&](std::int32_t last) { return list_seconds({40, last}, kernel, machine); };
  const double of_long = list(40);
  const double of_short = list(10);
  // What had been asked for comes for 2 us. A place that comes free in the first one is asked for half of it later.
  kernel.epilogue_seconds = 1.0 * kUs;
  EXPECT_NEAR(list(40), of_long + (1.0 + 0.25) * kUs, kTolerance * kUs);
  EXPECT_NEAR(list(10), of_short + (1.0 + 0.125) * kUs, kTolerance * kUs) << "its tile had been asked for";
  kernel.epilogue_seconds = 0.5 * kUs;
  EXPECT_NEAR(list(40), of_long + (0.5 + 0.0625) * kUs, kTolerance * kUs);
  kernel.warps_alone = true;
  EXPECT_LT(list(40), of_long + 0.55 * kUs) << "the others go on";
}

/// A tile's place in the ring is a further item's queries', which warps that share no tiles take beside K and V.
TEST(Start, QueriesThatComeThroughARingKeepATileFromComing) {
  Machine machine = toy::machine(1);
  machine.dram_bytes_per_second = machine.dram_asymptote = 10e9;
  KernelProfile kernel = ring(20);
  kernel.prefetches_items = true;
  const auto of_further = [&] { return list_seconds({40, 40}, kernel, machine) - list_seconds({80}, kernel, machine); };
  EXPECT_LT(of_further(), kRow * kUs);
  kernel.shares_tiles = true;
  EXPECT_NEAR(of_further(), 1.0 * kUs, kTolerance * kUs);
}

TEST(Start, AClusterWaitsForTheLastOfItsCtas) {
  Machine machine = toy::machine(2);
  machine.dram_bytes_per_second = machine.dram_asymptote = 10e9;
  KernelProfile kernel = ring(20);
  kernel.prefetches_items = true;
  kernel.cluster = 4;
  const workloads::Workload equal = toy::workload({10, 10, 10, 10});
  schedules::Plan plan = toy::one_cta_each(equal);
  plan.cta_begin = {0, 2, 4};
  const double wait = simulate(equal, plan, machine, kernel).seconds - (5.2 + kRow) * kUs;
  // All wait ln 4 of a queue of two windows, 4 us, for the share of the time in which a CTA asks for more: of each item
  // that takes 2 us of transfer.
  EXPECT_NEAR(wait, std::log(4) * (4 * kUs * 2 * kUs / (2 * kUs + wait) - 1.2 * kUs), kTolerance * kUs);
  EXPECT_GT(wait, 0.5 * kUs);
}

TEST(Start, AKernelThatHoldsItsItemWaitsForALatencyAndTheTransfer) {
  KernelProfile kernel = toy::kernel(1);
  kernel.exposed_latencies = 1;
  kernel.most_tokens = 20;
  constexpr double kSoftmax = 1e-4 * kUs;
  EXPECT_NEAR(seconds(10, kernel), 1.1 * kUs, kSoftmax);
  EXPECT_NEAR(seconds(20, kernel), 1.2 * kUs, kSoftmax);
}

// Four CTAs on an SM ask for 20 KB each, which the memory delivers in 2 us.
TEST(Start, OfCtasThatHoldTheirItemsAndBeginTogetherTwoAreServedAtATime) {
  Machine machine = toy::machine(1);
  machine.dram_bytes_per_second = machine.dram_asymptote = 10e9;
  KernelProfile kernel = toy::kernel(4);
  kernel.exposed_latencies = 1;
  kernel.most_tokens = 20;
  const workloads::Workload workload = toy::workload({20, 20, 20, 20, 20, 20});
  const auto spans = simulate(workload, toy::one_cta_each(workload), machine, kernel, {.spans = true}).spans;
  constexpr double kSoftmax = 1e-3 * kUs;
  for (const int cta : {0, 1}) EXPECT_NEAR(spans[cta].end_seconds, 5 * kUs, kSoftmax);
  for (const int cta : {2, 3}) EXPECT_NEAR(spans[cta].end_seconds, 9 * kUs, kSoftmax);
  const auto [sooner, later] = std::minmax(spans[4].end_seconds, spans[5].end_seconds);
  EXPECT_NEAR(sooner, 11 * kUs, kSoftmax) << "one after the other";
  EXPECT_NEAR(later, 13 * kUs, kSoftmax);
}

TEST(Start, ATableIsInL2WhereTheLaunchBeforeLeavesItThere) {
  KernelProfile kernel = ring(200);
  Machine machine = toy::machine(1);
  machine.l2_latency_seconds = 0.4 * kUs;
  const double without = seconds(10, kernel, machine);
  kernel.reads_table = true;
  EXPECT_NEAR(seconds(10, kernel, machine), without + 0.6 * kUs, kTolerance * kUs);
  machine.l2_bytes = 1 << 20;
  EXPECT_NEAR(seconds(10, kernel, machine), without, kTolerance * kUs);
}

// What streams through L2 drives the table out before the lists that wait read it.
TEST(Start, ListsThatWaitFindTheTableNoNearer) {
  KernelProfile kernel = ring(200);
  Machine machine = toy::machine(1);
  machine.l2_latency_seconds = 0.4 * kUs;
  const workloads::Workload two = toy::workload({10, 10});
  const auto of_two = [&] { return simulate(two, toy::one_cta_each(two), machine, kernel).seconds; };
  const double without = of_two();
  kernel.reads_table = true;
  EXPECT_NEAR(of_two(), without + 2 * 0.6 * kUs, kTolerance * kUs);
}

TEST(Start, OnlyItemsAtTheEdgeOfAMaskPayForIt) {
  KernelProfile kernel = ring(200);
  workloads::Workload workload = toy::workload({40});
  workload.requests.front().query_len = 2;
  schedules::Plan plan = toy::cut({30, 10}, schedules::MergeKind::kernel);
  plan.outputs.front().row_end = 2;
  const auto ends = [&] {
    const auto spans = simulate(workload, plan, toy::machine(2), kernel, {.spans = true}).spans;
    return std::pair(spans[0].end_seconds, spans[1].end_seconds);
  };
  const auto [first, last] = ends();
  kernel.edge_seconds = 0.5 * kUs;
  EXPECT_NEAR(ends().first, first, kTolerance * kUs) << "both queries see all of the first 30 tokens";
  EXPECT_NEAR(ends().second, last + 0.5 * kUs, kTolerance * kUs);
  workload.geometry.window = 35;
  EXPECT_NEAR(ends().first, first + 0.5 * kUs, kTolerance * kUs) << "the second query does not see the fifth";
  workload.geometry.causal = false;
  workload.geometry.window = 40;
  EXPECT_NEAR(ends().second, last, kTolerance * kUs) << "a mask that hides nothing";
}

TEST(Start, FurtherQueriesOfATileAtTheEdgeCostMore) {
  KernelProfile kernel = ring(200);
  kernel.config = "r1c1";
  kernel.most_rows = 8;
  kernel.edge_seconds = 0.5 * kUs;
  kernel.edge_query_seconds = 0.1 * kUs;
  workloads::Workload workload = toy::workload({40});
  workload.requests.front().query_len = 4;
  schedules::Plan plan = toy::one_cta_each(workload);
  plan.outputs.front().row_end = 4;
  const std::optional<KernelProfile> run = as_run(kernel, workload, plan, 1);
  ASSERT_TRUE(run);
  EXPECT_NEAR(run->edge_query_seconds, 0.2 * kUs, kTolerance * kUs) << "two beside those of the probes";
  EXPECT_EQ(with_costs_of(kernel, workload, Lists::any).edge_query_seconds, 0);
}

TEST(Start, FirstRequestsWaitForThoseOfOtherCtas) {
  const KernelProfile kernel = toy::kernel(1);
  Machine machine = toy::machine(64);
  const auto later = [&](std::size_t ctas) {
    const std::vector<std::int32_t> contexts(ctas, 1000);
    machine.first_burst_seconds.reset();
    const double without = toy::seconds(contexts, machine, kernel);
    machine.first_burst_seconds = kMs;
    return toy::seconds(contexts, machine, kernel) - without;
  };
  EXPECT_NEAR(later(1), 0, kTolerance);
  EXPECT_NEAR(later(4), kMs / 2, kTolerance);
  EXPECT_NEAR(later(16), kMs, kTolerance) << "as measured, with a CTA on every fourth SM";
  EXPECT_NEAR(later(64), kMs, kTolerance);
}

TEST(Start, OnlyCtasWithTokensCrowdIt) {
  KernelProfile kernel = toy::kernel(4);
  const Machine machine = toy::machine(1);
  const double half = toy::seconds({1000, 1000, 0, 0}, machine, kernel);
  const double full = toy::seconds({1000, 1000, 1000, 1000}, machine, kernel);
  kernel.crowd_start_seconds = kMs;
  EXPECT_NEAR(toy::seconds({1000, 1000, 0, 0}, machine, kernel) - half, kMs / 2, kTolerance);
  EXPECT_NEAR(toy::seconds({1000, 1000, 1000, 1000}, machine, kernel) - full, kMs, kTolerance);
}

}  // namespace
}  // namespace splitwave::simulator
