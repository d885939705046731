// SPDX-License-Identifier: Apache-2.0
#include "simulator/merge.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "schedules/schedules.h"
#include "tests/simulator/toy.h"
#include "workloads/load.h"

namespace splitwave::simulator {
namespace {

using schedules::MergeKind;

KernelProfile merging_kernel() {
  KernelProfile kernel = toy::kernel(1);
  kernel.merge_launch_seconds = 10 * kMs;
  kernel.merge_seconds = 20 * kMs;
  kernel.merge_seconds_per_split = 1 * kMs;
  return kernel;
}

/// Whose CTAs have eight warps, and a turn of them a batch of partials.
KernelProfile kernel_of_many_warps() {
  KernelProfile kernel = merging_kernel();
  kernel.merge_kernel_batch_seconds = 2 * kMs;
  kernel.merge_kernel_warps = 8;
  kernel.merge_kernel_run = 4;
  return kernel;
}

double seconds(const std::vector<std::int32_t>& cuts, MergeKind kind, const Machine& machine,
               const KernelProfile& kernel) {
  std::int32_t context = 0;
  for (const std::int32_t tokens : cuts) context += tokens;
  return simulate(toy::workload({context}), toy::cut(cuts, kind), machine, kernel).seconds;
}

TEST(Merge, AKernelOfItsOwnStartsAfterTheLastCta) {
  EXPECT_NEAR(seconds({1000, 2000, 1000}, MergeKind::kernel, toy::machine(3), merging_kernel()), (2 + 10 + 3) * kMs,
              kTolerance);
}

TEST(Merge, AKernelMovesItsBytesThroughL2) {
  Machine machine = toy::machine(2);
  machine.l2_bytes_per_second = 2 * 251 * 4 / (5 * kMs);  // two partial rows of 250 values and an LSE in 5 ms
  machine.dram_bytes_per_second = machine.l2_bytes_per_second;
  KernelProfile kernel = merging_kernel();
  kernel.bytes_in_flight = 1000'000'000;
  const double stream = 2000.0 * 1000 / machine.l2_bytes_per_second;
  EXPECT_NEAR(seconds({1000, 1000}, MergeKind::kernel, machine, kernel), stream + (10 + 2 + 5) * kMs, 1e-6);
}

TEST(Merge, CtasOfAKernelThatAreMoreThanThereArePlacesForTakeTurns) {
  Machine machine = toy::machine(2);
  machine.l2_latency_seconds = 3 * kMs;
  KernelProfile kernel = kernel_of_many_warps();
  const auto more = [&] { return seconds({1000, 1000}, MergeKind::kernel, machine, kernel) - (1 + 10) * kMs; };
  // A fragment each of 16 warps, which two CTAs have. Of 24, which would take three, warps have four each.
  for (const std::int32_t fragments : {0, 16, 24, 64}) {
    kernel.merge_fragments = fragments;
    EXPECT_NEAR(more(), 2 * kMs, kTolerance) << fragments;
  }
  kernel.merge_fragments = 72;  // 18 warps in three CTAs
  EXPECT_NEAR(more(), (2 + 3 + 2) * kMs, kTolerance);
  kernel.merge_kernel_ctas = 2;
  EXPECT_NEAR(more(), 2 * kMs, kTolerance);
  // Two warps that share a fragment have no others: 18 CTAs on four places.
  kernel.merge_kernel_warp_splits = 1;
  kernel.merge_kernel_most_warps = 2;
  EXPECT_NEAR(more(), (1 + 4 * (3 + 2)) * kMs, kTolerance);
  // A cluster's CTAs have some of an output's fragments each.
  kernel.merge_fragments = 36;
  kernel.cluster = 2;
  EXPECT_NEAR(more(), (1 + 4 * (3 + 2)) * kMs, kTolerance);
}

TEST(Merge, AnOutputHasTheCtasOfItsOwnPartsAndRows) {
  Machine machine = toy::machine(6);
  machine.l2_latency_seconds = 3 * kMs;
  KernelProfile kernel = kernel_of_many_warps();
  kernel.merge_kernel_warp_splits = 2;
  kernel.merge_kernel_most_warps = 2;
  schedules::Plan plan = toy::cut({1000, 1000, 1000, 1000}, MergeKind::kernel);
  plan.outputs.push_back({1, 0, 1, 0, 1});
  plan.items.push_back({1, 0, 1000, 4});
  plan.items.push_back({1, 1000, 2000, 5});
  plan.cta_begin.push_back(5);
  plan.cta_begin.push_back(6);
  plan.merges.push_back({1, 4, 6});
  const auto merge = [&](std::int32_t fragments) {
    kernel.merge_fragments = fragments;
    return separate_merge_seconds(toy::workload({4000, 2000}), plan, machine, kernel);
  };
  // Two warps for each fragment of four parts, one of two: four CTAs and two on six places, then six and three.
  EXPECT_NEAR(merge(16), (10 + 2) * kMs, kTolerance);
  EXPECT_NEAR(merge(24), (10 + 2 + 3 + 2) * kMs, kTolerance);
  // Of two row tiles the outputs fill one.
  kernel.shares_tiles = true;
  kernel.most_rows = 16;
  EXPECT_NEAR(merge(32), (10 + 2) * kMs, kTolerance);
}

TEST(Merge, AHostWaitsForItsPeers) {
  Machine machine = toy::machine(2);
  machine.flag_seconds = 0.5 * kMs;
  // The peer ends after 3 ms; the host sees its flag and reads one partial.
  EXPECT_NEAR(seconds({1000, 3000}, MergeKind::host_cta, machine, merging_kernel()), (3 + 0.5 + 20 + 1) * kMs,
              kTolerance);
  // The host is last: the flag is there already.
  EXPECT_NEAR(seconds({3000, 1000}, MergeKind::host_cta, machine, merging_kernel()), (3 + 20 + 1) * kMs, kTolerance);
}

/// Clusters that hold the parts of an output, and wait for each other, all leave their partials and all read some.
TEST(Merge, ClustersThatHoldPartsReadAllPartials) {
  Machine machine = toy::machine(2);
  machine.flag_seconds = 0.5 * kMs;
  KernelProfile kernel = merging_kernel();
  kernel.most_tokens = 3000;
  for (const auto& cuts : {std::vector{1000, 3000}, std::vector{3000, 1000}}) {
    EXPECT_DOUBLE_EQ(seconds(cuts, MergeKind::host_cta, machine, kernel),
                     seconds(cuts, MergeKind::last_arriver, machine, kernel));
  }
}

/// Of a latent cache, more parts have as many more clusters that merge them.
TEST(Merge, PartsThatClustersHoldShareTheirMerge) {
  KernelProfile kernel = merging_kernel();
  kernel.most_tokens = 512;
  kernel.shares_tiles = true;
  EXPECT_DOUBLE_EQ(in_kernel_seconds(kernel, 4, 4, 1), (20 + 4) * kMs);
  EXPECT_DOUBLE_EQ(in_kernel_seconds(kernel, 8, 8, 1), (20 + 8) * kMs);
  EXPECT_DOUBLE_EQ(in_kernel_seconds(kernel, 64, 64, 1), (20 + 8) * kMs);
  EXPECT_DOUBLE_EQ(in_kernel_seconds(kernel, 65, 65, 1), (2 * 20 + 8) * kMs) << "more than warps ask for at a time";
}

TEST(Merge, TheWaitIsAttributed) {
  Machine machine = toy::machine(2);
  const std::vector<std::int32_t> cuts = {1000, 3000};
  const schedules::Timeline timeline =
      simulate(toy::workload({4000}), toy::cut(cuts, MergeKind::host_cta), machine, merging_kernel());
  EXPECT_NEAR(timeline.breakdown.wait, 2 * kMs / 2, kTolerance);
  EXPECT_NEAR(timeline.breakdown.merge, 21 * kMs / 2, kTolerance);
  EXPECT_EQ(timeline.breakdown.total(), timeline.seconds);
}

TEST(Merge, TheLastArriverReadsAllPartials) {
  Machine machine = toy::machine(3);
  machine.flag_seconds = 0.5 * kMs;
  EXPECT_NEAR(seconds({1000, 3000, 1000}, MergeKind::last_arriver, machine, merging_kernel()), (3 + 0.5 + 20 + 3) * kMs,
              kTolerance);
}

TEST(Merge, CtasThatWaitAnywayShareIt) {
  KernelProfile kernel = merging_kernel();
  kernel.merge_fragments = 8;
  kernel.merge_warps = 4;
  kernel.merge_kernel_warp_splits = 16;
  const auto merge = [&](std::size_t parts) {
    const std::vector<std::int32_t> cuts(parts, 1000);
    return seconds(cuts, MergeKind::host_cta, toy::machine(static_cast<std::int32_t>(parts)), kernel) - (1 + 20) * kMs;
  };
  // Two turns of four warps each for one CTA, one turn where two or more share them.
  EXPECT_NEAR(merge(2), 0.5 * 2 * kMs, kTolerance);
  EXPECT_NEAR(merge(9), 0.5 * 9 * kMs, kTolerance);
  // Two warps share the 21 partials of a fragment, four the 65.
  EXPECT_NEAR(merge(21), 0.5 * 11 * kMs, kTolerance);
  EXPECT_NEAR(merge(65), 0.5 * 17 * kMs, kTolerance);
  // Not where one CTA has less than so many turns with them: 2 x 9 of 20.
  kernel.merge_shared_turns = 20;
  EXPECT_NEAR(merge(9), 9 * kMs, kTolerance);
  EXPECT_NEAR(merge(10), 0.5 * 10 * kMs, kTolerance);
}

TEST(Merge, CtasThatShareItWriteTheirFragmentsAlone) {
  KernelProfile kernel = merging_kernel();
  kernel.merge_fragments = 8;
  kernel.merge_warps = 4;
  kernel.merge_shared_seconds = 4 * kMs;
  // One turn of two: half of what a merge takes that does not go by CTAs, and of its two partials.
  EXPECT_NEAR(seconds({1000, 1000}, MergeKind::host_cta, toy::machine(2), kernel), (1 + 4 + 0.5 * (16 + 2)) * kMs,
              kTolerance);
  kernel.merge_shared_turns = 5;
  EXPECT_NEAR(seconds({1000, 1000}, MergeKind::host_cta, toy::machine(2), kernel), (1 + 20 + 2) * kMs, kTolerance)
      << "one CTA alone";
}

/// Two partial results of one row of 250 values and an LSE.
constexpr double kTwoPartials = 2 * 251 * 4;

TEST(Merge, PartialResultsAreWrittenBeforeTheyArrive) {
  KernelProfile kernel = merging_kernel();
  kernel.merge_kernel_bytes_per_second = kTwoPartials / (6 * kMs);
  EXPECT_NEAR(seconds({1000, 1000}, MergeKind::host_cta, toy::machine(2), kernel), (1 + 3 + 20 + 1) * kMs, 1e-6)
      << "of writing and reading, writing";
  EXPECT_NEAR(seconds({1000, 1000}, MergeKind::last_arriver, toy::machine(2), kernel), (1 + 3 + 20 + 2) * kMs, 1e-6);
}

TEST(Merge, RowTilesOfTilesThatWarpsShareAreWrittenWhole) {
  KernelProfile kernel = merging_kernel();
  kernel.merge_kernel_bytes_per_second = kTwoPartials / (6 * kMs);
  kernel.most_rows = 64;
  const double rows = seconds({1000, 1000}, MergeKind::kernel, toy::machine(2), kernel);
  kernel.shares_tiles = true;
  EXPECT_NEAR(seconds({1000, 1000}, MergeKind::kernel, toy::machine(2), kernel) - rows, 7 * 6 * kMs, 1e-6);
}

TEST(Merge, AHostAloneNeedNotReportItsOwnPart) {
  Machine machine = toy::machine(2);
  machine.flag_seconds = 0.5 * kMs;
  KernelProfile kernel = merging_kernel();
  kernel.merge_fragments = 2;
  kernel.merge_shared_turns = 100;
  EXPECT_NEAR(seconds({3000, 1000}, MergeKind::host_cta, machine, kernel), (3 + 20 + 2) * kMs, kTolerance);
  kernel.merge_shared_turns = 0;  // both merge, so that the second waits for the first one's part
  EXPECT_NEAR(seconds({3000, 1000}, MergeKind::host_cta, machine, kernel), (3 + 0.5 + 20 + 1) * kMs, kTolerance);
}

TEST(Merge, CtasThatLookForPartialsThemselves) {
  Machine machine = toy::machine(80);
  machine.flag_seconds = 0.5 * kMs;
  KernelProfile kernel = merging_kernel();
  kernel.merge_fragments = 8;
  kernel.merge_warps = 4;
  kernel.merge_kernel_warp_splits = 16;
  kernel.merge_batch_seconds = 3 * kMs;
  kernel.merge_shared_turns = 16;
  kernel.waiting_merge_seconds = 4 * kMs;
  kernel.waiting_merge_seconds_per_split = 0.25 * kMs;
  // Its own one lies where the others' do.
  EXPECT_NEAR(seconds({3000, 1000}, MergeKind::host_cta, machine, kernel), (3 + 0.5 + 4 + 2 * 0.25) * kMs, kTolerance);
  const auto merge = [&](std::size_t parts) {
    const std::vector<std::int32_t> cuts(parts, 1000);
    return seconds(cuts, MergeKind::host_cta, machine, kernel) - (1 + 0.5 + 4) * kMs;
  };
  EXPECT_NEAR(merge(7), 7 * 0.25 * kMs, kTolerance) << "a CTA alone: all of its warps' fragments at a time";
  EXPECT_NEAR(merge(8), 8 * 0.25 * kMs, kTolerance);
  EXPECT_NEAR(merge(16), 16 * 0.25 * kMs, kTolerance) << "a fragment each, of eight CTAs";
  EXPECT_NEAR(merge(21), 3 * 0.25 * kMs, kTolerance) << "two quarters each, of sixteen CTAs";
  EXPECT_NEAR(merge(65), (5 * 0.25 + 3) * kMs, kTolerance) << "one of 32, whose lanes look twice";
  const auto of = [&](double parts, std::int32_t mergers) { return in_kernel_seconds(kernel, parts, mergers, 8); };
  EXPECT_NEAR(of(21, 8), (4 + 6 * 0.25 + 3) * kMs, kTolerance) << "four quarters each, at a time";
  EXPECT_NEAR(of(21, 4), (4 + 12 * 0.25 + 3 * 3) * kMs, kTolerance) << "eight each, in two turns";
  EXPECT_NEAR(of(21, 1), (4 + 21 * 0.25 + 3) * kMs, kTolerance) << "one CTA: 16 parts at a time";
  EXPECT_NEAR(seconds({1000, 1000}, MergeKind::last_arriver, machine, kernel), (1 + 0.5 + 20 + 2) * kMs, kTolerance);
}

/// Two requests of one row and two partials each, merged by waiting CTAs.
schedules::Plan two_hosts() {
  schedules::Plan plan;
  plan.schedule = "toy";
  plan.tile_q = plan.tile_kv = 1;
  plan.merge = MergeKind::host_cta;
  plan.num_splits = 2;
  for (std::int32_t request = 0; request < 2; ++request) {
    plan.outputs.push_back({request, 0, 1, 0, 1});
    plan.merges.push_back({request, 2 * request, 2 * request + 2});
    for (std::int32_t half = 0; half < 2; ++half) {
      plan.items.push_back({request, 1000 * half, 1000 * half + 1000, 2 * request + half});
      plan.cta_begin.push_back(static_cast<std::int32_t>(plan.items.size()));
    }
  }
  return plan;
}

/// Two CTAs with a part of each of two requests; the second one's parts end later, 1.5 and 2.5 ms after the start.
schedules::Plan two_lists(MergeKind kind) {
  schedules::Plan plan = two_hosts();
  plan.merge = kind;
  plan.dispatch = schedules::Dispatch::fixed;
  plan.items = {{0, 0, 1000, 0}, {1, 0, 1000, 2}, {0, 1000, 2500, 1}, {1, 1000, 2000, 3}};
  plan.cta_begin = {0, 2, 4};
  return plan;
}

TEST(Merge, ComesWithItsItemOrAfterTheListOneByOne) {
  const workloads::Workload batch = toy::workload({2500, 2000});
  Machine machine = toy::machine(2);
  machine.flag_seconds = 0.5 * kMs;
  KernelProfile kernel = merging_kernel();
  const auto total = [&](MergeKind kind) { return simulate(batch, two_lists(kind), machine, kernel).seconds; };
  EXPECT_NEAR(total(MergeKind::last_arriver), (2.5 + 0.5 + 22) * kMs, kTolerance);
  EXPECT_NEAR(total(MergeKind::host_cta), (2.5 + 0.5 + 21) * kMs, kTolerance);
  kernel.merges_after_list = true;
  // The second CTA is the last one at both outputs; the first one is the host of both.
  EXPECT_NEAR(total(MergeKind::last_arriver), (2.5 + 0.5 + 2 * 22) * kMs, kTolerance);
  EXPECT_NEAR(total(MergeKind::host_cta), (2.5 + 0.5 + 2 * 21) * kMs, kTolerance);
  const schedules::Timeline timeline = simulate(batch, two_lists(MergeKind::host_cta), machine, kernel);
  EXPECT_NEAR(timeline.breakdown.wait, (2.5 + 0.5 - 2) * kMs / 2, kTolerance);
  EXPECT_NEAR(timeline.breakdown.merge, 2 * 21 * kMs / 2, kTolerance);
}

TEST(Merge, KernelsWhoseWarpsShareTilesLeaveOutRowTilesWithoutRows) {
  KernelProfile kernel = merging_kernel();
  kernel.merge_fragments = 64;  // eight row tiles of eight
  kernel.merge_warps = 8;
  kernel.most_rows = 64;
  EXPECT_EQ(fragments_with_rows(kernel, 9), 64);
  kernel.shares_tiles = true;
  EXPECT_EQ(fragments_with_rows(kernel, 8), 8);
  EXPECT_EQ(fragments_with_rows(kernel, 9), 16);
  EXPECT_EQ(fragments_with_rows(kernel, 64), 64);
  EXPECT_EQ(fragments_with_rows(kernel, 71), 64);
  kernel.merge_fragments = 16;  // of each CTA of a cluster of four, the first of which has rows 0 to 15
  kernel.cluster = 4;
  EXPECT_EQ(fragments_with_rows(kernel, 8), 8);
  EXPECT_EQ(fragments_with_rows(kernel, 24), 16);
  const double always = kernel.merge_seconds;
  const double full = in_kernel_seconds(kernel, 4, 1, 16) - always;
  EXPECT_NEAR(in_kernel_seconds(kernel, 4, 1, 8) - always, full / 2, kTolerance);
}

TEST(Merge, AHostLoadsTheRowsBehindItsOwnUpToTheLastOfTheBatch) {
  const workloads::Workload batch = toy::workload({2000, 2000});
  const schedules::Plan plan = two_hosts();
  KernelProfile kernel = toy::kernel(1);
  kernel.merge_row_clocks = 5e6;  // 5 ms at 1 GHz
  kernel.merge_rows = 1;
  EXPECT_NEAR(simulate(batch, plan, toy::machine(4), kernel).seconds, (1 + 5) * kMs, kTolerance);
  // A tile of 64 rows: the first host loads the second one's row too, and there are no more.
  kernel.merge_rows = 64;
  EXPECT_NEAR(simulate(batch, plan, toy::machine(4), kernel).seconds, (1 + 2 * 5) * kMs, kTolerance);
}

TEST(Merge, FlagsAreResetWhereTheRuleProvidesForSplits) {
  const workloads::Workload batch = toy::workload({2000, 2000});
  schedules::Plan plan = two_hosts();
  KernelProfile kernel = merging_kernel();
  const double merged = simulate(batch, plan, toy::machine(4), kernel).seconds;
  kernel.flag_reset_seconds = 3 * kMs;
  EXPECT_NEAR(simulate(batch, plan, toy::machine(4), kernel).seconds, merged + 3 * kMs, kTolerance);
  plan = toy::one_cta_each(batch);
  EXPECT_NEAR(simulate(batch, plan, toy::machine(4), kernel).seconds, 2 * kMs, kTolerance);
  plan.num_splits = 2;
  EXPECT_NEAR(simulate(batch, plan, toy::machine(4), kernel).seconds, (2 + 3) * kMs, kTolerance);
}

TEST(Merge, AKernelThatAlwaysMergesLaunchesForNothingToo) {
  KernelProfile kernel = merging_kernel();
  kernel.always_merges = true;
  EXPECT_NEAR(toy::seconds({1000}, toy::machine(1), kernel), (1 + 10) * kMs, kTolerance);
}

TEST(Merge, AQueueIsResetByItsMergeKernelOrByALaunchOfItsOwn) {
  const workloads::Workload batch = toy::workload({1000});
  schedules::Plan plan = toy::one_cta_each(batch);
  plan.dispatch = schedules::Dispatch::queue;
  plan.workers = 1;
  KernelProfile kernel = merging_kernel();
  kernel.queue_prologue_seconds = 2 * kMs;
  kernel.queue_reset_seconds = 3 * kMs;
  EXPECT_NEAR(simulate(batch, plan, toy::machine(1), kernel).seconds, (2 + 1 + 3) * kMs, kTolerance);
  plan.merge = MergeKind::kernel;
  EXPECT_NEAR(simulate(batch, plan, toy::machine(1), kernel).seconds, (2 + 1 + 10) * kMs, kTolerance);
}

TEST(Merge, WaitingCtasMustAllBeResident) {
  EXPECT_THROW(seconds({1000, 1000, 1000}, MergeKind::host_cta, toy::machine(2), merging_kernel()), base::InputError);
  EXPECT_NO_THROW(seconds({1000, 1000, 1000}, MergeKind::last_arriver, toy::machine(2), merging_kernel()));
}

TEST(Merge, CtasBeforeAGridBarrierMustAllBeResident) {
  // FlashInfer's holistic kernel: 2 CTAs per SM, launched together, where only one is resident.
  const Machine machine = load_machine("h200");
  const workloads::Workload batch = workloads::parse_spec("h=32/8,d=128:2q1s8k");
  const KernelProfile kernel = kernel_for(load_kernel("flashinfer-holistic"), batch, machine);
  const schedules::Plan plan = schedules::make_plan("flashinfer-holistic", batch, grid_of(machine, kernel, 1));
  EXPECT_NO_THROW(simulate(batch, plan, machine, kernel));
  try {
    simulate(batch, plan, machine, kernel, {.ctas_per_sm = 1});
    FAIL() << "264 CTAs on 132 slots";
  } catch (const base::InputError& error) {
    EXPECT_STREQ(error.what(),
                 "plan: flashinfer-holistic has 264 CTAs that must all be resident; allowed: at most 132 on h200: 132 "
                 "SMs with 1 each");
  }
}

TEST(Merge, SpansShowMerges) {
  SimulateOptions options;
  options.spans = true;
  const schedules::Timeline timeline = simulate(toy::workload({2000}), toy::cut({1000, 1000}, MergeKind::host_cta),
                                                toy::machine(2), merging_kernel(), options);
  ASSERT_EQ(timeline.spans.size(), 3U);
  EXPECT_EQ(timeline.spans[2].item, -1);
  EXPECT_EQ(timeline.spans[2].cta, 0);
  EXPECT_NEAR(timeline.spans[2].end_seconds, timeline.seconds, kTolerance);
}

}  // namespace
}  // namespace splitwave::simulator
