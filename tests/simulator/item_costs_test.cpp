// SPDX-License-Identifier: Apache-2.0
// What kernels of latent attention pay for operands, rows and lists without work; toy.h has the round numbers.
#include <gtest/gtest.h>

#include "simulator/alternatives.h"
#include "simulator/bound.h"
#include "simulator/simulate.h"
#include "simulator/warp_parts.h"
#include "tests/simulator/toy.h"
#include "workloads/load.h"

namespace splitwave::simulator {
namespace {

TEST(ItemCosts, MatrixInstructionsLastAsLongAsTheirOperandsAreRead) {
  KernelProfile kernel = toy::kernel(1);
  kernel.mma_rows = 16;
  kernel.shared_reads = 3;
  kernel.unhidden_alone = 1;
  Machine machine = toy::machine(1);
  machine.mma_sync_flops = 16e9;  // 1 us for 16 rows of 500 elements
  machine.exp_per_second = 1e18;
  machine.fp32_lanes = 1e9;
  machine.shared_bytes_per_clock = 1;  // 1 us for each time that 1,000 bytes are read
  const auto alone = [&] { return seconds_per_token(machine, kernel, toy::workload({}).geometry, 1).alone; };
  EXPECT_NEAR(alone(), 4e-6, 1e-12) << "reads and instructions one after the other";
  kernel.operand_reads = 2;  // 2 us, of which the instructions take 1
  EXPECT_NEAR(alone(), 3e-6, 1e-12) << "what instructions read is no work beside them";
  machine.mma_sync_flops = 4e9;
  EXPECT_NEAR(alone(), 5e-6, 1e-12) << "instructions of 4 us, and 1 us of other reads";
}

TEST(ItemCosts, AnItemsRowsPassTheSmsPort) {
  KernelProfile kernel = toy::kernel(1);
  const workloads::Workload batch = toy::workload({1000});
  Machine machine = toy::machine(1);
  machine.sm_bytes_per_second = 1e9;
  const double without = simulate(batch, toy::one_cta_each(batch), machine, kernel).seconds;
  kernel.moves_rows = true;
  const double with = simulate(batch, toy::one_cta_each(batch), machine, kernel).seconds;
  const workloads::Geometry& g = batch.geometry;
  const auto bytes = static_cast<double>((g.head_dim + g.value_dim) * workloads::bytes_per_element(g.dtype));
  EXPECT_NEAR(with - without, g.group() * bytes / 1e9, 1e-12);
}

TEST(ItemCosts, ACtaWithoutItemsMayCostLessThanAPrologue) {
  const workloads::Workload batch = toy::workload({1000});
  schedules::Plan plan = toy::one_cta_each(batch);
  plan.cta_begin.insert(plan.cta_begin.end(), 3, plan.cta_begin.back());
  KernelProfile kernel = toy::kernel(1);
  kernel.prologue_seconds = 3 * kMs;  // one after the other on one SM
  const double all = simulate(batch, plan, toy::machine(1), kernel).seconds;
  kernel.empty_list_seconds = kMs;
  EXPECT_NEAR(all - simulate(batch, plan, toy::machine(1), kernel).seconds, 3 * 2 * kMs, kTolerance);
}

TEST(ItemCosts, WarpsWithListsOfTheirOwnEndItemsWhileTheOthersGoOn) {
  const workloads::Workload batch = toy::workload({1000, 1000, 1000});
  schedules::Plan plan = toy::one_cta_each(batch);
  plan.cta_begin = {0, 3};
  KernelProfile kernel = toy::kernel(1);
  kernel.merge_warps = 4;
  const auto seconds = [&] { return simulate(batch, plan, toy::machine(1), kernel).seconds; };
  const double without = seconds();
  kernel.epilogue_seconds = kMs;
  EXPECT_NEAR(seconds() - without, 3 * kMs, kTolerance);
  kernel.warps_alone = true;
  EXPECT_NEAR(seconds() - without, kMs, kTolerance) << "the list's last one";
}

/// Of four warps and steps of 250 tokens.
WarpParts parts_of(const std::vector<std::int32_t>& contexts) {
  const workloads::Workload batch = toy::workload(contexts);
  schedules::Plan plan = toy::one_cta_each(batch);
  plan.cta_begin = {0, plan.cta_begin.back()};
  return warp_parts(plan.list(0), {4, 250, kMs, 10 * kMs, 4 * kMs});
}

TEST(ItemCosts, WarpsWithListsOfTheirOwnTakeAsLongAsTheOneWithMostToDo) {
  EXPECT_EQ(parts_of({}).further_seconds, 0);
  EXPECT_EQ(parts_of({200, 250, 1, 100}).further_seconds, 0) << "a step for each warp, all at once";
  EXPECT_EQ(parts_of({200, 250, 1, 100}).combine_seconds, 0);
  EXPECT_EQ(parts_of({200, 250, 1, 100}).further_pieces, 0);
  EXPECT_NEAR(parts_of({200, 250, 1, 100, 250}).further_seconds, 11 * kMs, kTolerance) << "a second item of the first";
  EXPECT_EQ(parts_of({200, 250, 1, 100, 250}).combine_seconds, 0);
  EXPECT_EQ(parts_of({200, 250, 1, 100, 250}).further_pieces, 1);
  EXPECT_EQ(parts_of({1000}).further_seconds, 0);
  EXPECT_NEAR(parts_of({1000}).combine_seconds, 4 * kMs, kTolerance) << "a piece of each warp";
  // The first two warps have an item of two steps each, the others a step each of the third, while they still work.
  EXPECT_NEAR(parts_of({500, 500, 500}).further_seconds, kMs, kTolerance);
  EXPECT_NEAR(parts_of({500, 500, 500}).combine_seconds, 3 * kMs, kTolerance);
  // 5, 5, 4 and 4 steps: the second warp has the end of the second item, the third one, and the begin of the fourth.
  EXPECT_NEAR(parts_of({700, 700, 700, 700, 700, 700}).further_seconds, (4 + 20) * kMs, kTolerance);
  EXPECT_EQ(parts_of({700, 700, 700, 700, 700, 700}).further_pieces, 1 + 2 + 1 + 1);
}

/// By how much one list of these items takes longer with five rows to each than with one.
double four_rows_seconds(std::size_t items, const KernelProfile& kernel) {
  workloads::Workload batch = toy::workload(std::vector<std::int32_t>(items, 1000));
  batch.geometry.query_heads = 5;
  schedules::Plan plan = toy::one_cta_each(batch);
  plan.cta_begin = {0, plan.cta_begin.back()};
  Machine machine = toy::machine(1);
  machine.fp32_lanes = 1e9;  // arithmetic is free
  const double one_row = simulate(batch, plan, machine, kernel).seconds;
  for (schedules::OutputTile& output : plan.outputs) output.head_count = output.row_end = 5;
  return simulate(batch, plan, machine, kernel).seconds - one_row;
}

TEST(ItemCosts, RowsOfFurtherItemsComeAndGoBesideKeysAndValues) {
  constexpr double kRow = 2e-6;  // 2 x (250 + 250) x 2 bytes at 1 GB/s
  KernelProfile kernel = toy::kernel(1);
  EXPECT_NEAR(four_rows_seconds(3, kernel), 0, kTolerance) << "others' kernels";
  kernel.refills_after_use = kernel.prefetches_items = true;
  EXPECT_NEAR(four_rows_seconds(1, kernel), 0, kTolerance);
  EXPECT_NEAR(four_rows_seconds(3, kernel), 2 * 4 * kRow, kTolerance);
  kernel.warps_alone = true;
  kernel.merge_warps = 4;
  kernel.tile_tokens = 4000;  // an item is a step of a warp
  EXPECT_NEAR(four_rows_seconds(4, kernel), 0, 0.1 * kRow) << "each warp's first";
  EXPECT_NEAR(four_rows_seconds(6, kernel), 2 * 4 * kRow, 0.1 * kRow);
  kernel.warps_alone = false;
  kernel.tile_tokens = 1;
  kernel.shares_tiles = true;
  EXPECT_NEAR(four_rows_seconds(3, kernel), 0, kTolerance) << "queries come through the ring";
}

TEST(ItemCosts, FurtherItemsOfAListTakeWhatIsLeftOfItsLongestPart) {
  const workloads::Workload batch = toy::workload({1000, 1000, 1000, 1000, 1000});
  schedules::Plan plan = toy::one_cta_each(batch);
  plan.cta_begin = {0, 5};
  KernelProfile kernel = toy::kernel(1);
  kernel.merge_warps = 4;
  kernel.tile_tokens = 4000;
  kernel.warps_alone = kernel.refills_after_use = kernel.prefetches_items = true;
  kernel.item_seconds = kernel.item_crowded_seconds = 100 * kMs;
  Machine machine = toy::machine(1);
  const auto seconds = [&] { return simulate(batch, plan, machine, kernel).seconds; };
  const double two_of_a_warp = seconds();
  plan.cta_begin = {0, 4, 5};
  const double one_of_each = seconds();
  EXPECT_GT(two_of_a_warp - one_of_each, 350 * kMs) << "all of an item's time, which is four times a share";
  EXPECT_LT(one_of_each, 50 * kMs);
}

TEST(ItemCosts, AListEndsSoonerWhereItsLastItemHasFewerRows) {
  const workloads::Workload batch = toy::workload({1000, 1000});
  schedules::Plan plan = toy::one_cta_each(batch);
  plan.cta_begin = {0, 2};
  KernelProfile kernel = toy::kernel(1);
  kernel.epilogue_seconds = 8 * kMs;
  kernel.item_fewer_rows_seconds = 3 * kMs;
  const auto seconds = [&] { return simulate(batch, plan, toy::machine(1), kernel).seconds; };
  kernel.shares_tiles = true;
  const double without = seconds();
  kernel.most_rows = 4;  // of which there is one
  EXPECT_NEAR(without - seconds(), 3 * kMs, kTolerance);
  kernel.item_fewer_rows_seconds = 9 * kMs;
  EXPECT_NEAR(without - seconds(), 8 * kMs, kTolerance) << "an end takes no less than nothing";
  EXPECT_LE(least_seconds(batch, plan, toy::machine(1), kernel, {}), seconds());
  kernel.shares_tiles = false;
  EXPECT_NEAR(seconds(), without, kTolerance);
}

TEST(ItemCosts, WholeItemsNeedNoCombination) {
  const workloads::Workload batch = toy::workload({1000});
  const schedules::Plan plan = toy::one_cta_each(batch);
  KernelProfile kernel = toy::kernel(1);
  kernel.warps_alone = true;
  kernel.merge_warps = 4;
  kernel.epilogue_seconds = 3 * kMs;
  const auto seconds = [&] { return simulate(batch, plan, toy::machine(1), kernel).seconds; };
  kernel.tile_tokens = 400;
  const double cut = seconds();
  kernel.combine_seconds = 2 * kMs;
  EXPECT_NEAR(seconds(), cut, kTolerance);
  kernel.tile_tokens = 4000;
  EXPECT_NEAR(cut - seconds(), 2 * kMs, kTolerance);
}

TEST(ItemCosts, AnEdgeIsThatOfTheWarpWhoseListHasIt) {
  workloads::Workload batch = toy::workload({1000, 1000});
  for (workloads::Request& request : batch.requests) request.query_len = 2;
  schedules::Plan plan = toy::one_cta_each(batch);
  for (schedules::OutputTile& tile : plan.outputs) tile.row_end = 2;
  plan.cta_begin = {0, 2};
  KernelProfile kernel = toy::kernel(1);
  kernel.merge_warps = 4;
  const auto seconds = [&] { return simulate(batch, plan, toy::machine(1), kernel).seconds; };
  const double without = seconds();
  kernel.edge_seconds = kMs;
  EXPECT_NEAR(seconds() - without, 2 * kMs, kTolerance);
  kernel.warps_alone = true;
  EXPECT_NEAR(seconds() - without, (2 + 3) * kMs, kTolerance) << "a share of each, and all of the last one's";
}

/// Of two CTAs on an SM, with two chunks of eight tokens at an edge each.
TEST(ItemCosts, EdgesOfManyQueriesTakeTheirSmsTime) {
  workloads::Workload batch = toy::workload({1000, 1000});
  for (workloads::Request& request : batch.requests) request.query_len = 10;
  schedules::Plan plan = toy::one_cta_each(batch);
  for (schedules::OutputTile& tile : plan.outputs) tile.row_end = 10;
  KernelProfile kernel = toy::kernel(2);
  kernel.tile_tokens = 32;
  kernel.merge_warps = 4;
  const auto seconds = [&](std::int32_t sms) { return simulate(batch, plan, toy::machine(sms), kernel).seconds; };
  const double without = seconds(1);
  const double apart = seconds(2);
  kernel.edge_query_seconds = 10 * kMs;
  kernel.edge_chunk_seconds = 2 * kMs;
  EXPECT_NEAR(seconds(1) - without, 10 * kMs, kTolerance) << "four chunks take 8 of it";
  kernel.edge_chunk_seconds = 4 * kMs;
  EXPECT_NEAR(seconds(1) - without, 16 * kMs, kTolerance);
  EXPECT_LE(least_seconds(batch, plan, toy::machine(1), kernel, {}), seconds(1));
  EXPECT_NEAR(seconds(2) - apart, 10 * kMs, kTolerance) << "an SM each";
}

TEST(ItemCosts, AListsSecondItemMayTakeLongerOrLess) {
  const workloads::Workload batch = toy::workload({10, 10});
  schedules::Plan plan = toy::one_cta_each(batch);
  plan.cta_begin = {0, 2};
  KernelProfile kernel = toy::kernel(1);
  kernel.refills_after_use = kernel.prefetches_items = true;
  kernel.bytes_in_flight = 1'000'000;  // more than all items'
  kernel.item_seconds = kernel.item_crowded_seconds = 100 * kMs;
  const auto seconds = [&] { return simulate(batch, plan, toy::machine(1), kernel).seconds; };
  const double without = seconds();
  for (const double ms : {-30.0, 20.0}) {
    kernel.second_item_seconds = ms * kMs;
    EXPECT_NEAR(seconds() - without, ms * kMs, kTolerance);
    EXPECT_LE(least_seconds(batch, plan, toy::machine(1), kernel, {}), seconds());
  }
}

TEST(ItemCosts, KeysComeInBoxesWhereRowBlocksShareThem) {
  KernelProfile kernel;
  kernel.most_rows = 8;
  kernel.chain_clocks = 10;
  kernel.paged_chain_clocks = 11;
  kernel.box_chain_clocks = 9;
  const auto clocks = [&](const char* spec, std::int32_t page) {
    workloads::Workload w = workloads::parse_spec(spec);
    if (page > 0) {
      w.kv.layout = workloads::KvLayout::paged;
      w.kv.page_size = page;
    }
    return with_costs_of(kernel, w, Lists::any).chain_clocks;
  };
  EXPECT_EQ(clocks("h=16/1,d=128:4q1s4k", 0), 9);
  EXPECT_EQ(clocks("h=8/1,d=128:4q2s4k", 0), 9) << "two queries' heads";
  EXPECT_EQ(clocks("h=16/1,d=128:4q1s4k", 64), 9);
  EXPECT_EQ(clocks("h=16/1,d=128:4q1s4k", 256), 9);
  EXPECT_EQ(clocks("h=8/1,d=128:4q1s4k", 0), 10) << "one row block";
  EXPECT_EQ(clocks("h=16/1,d=128:4q1s4k", 16), 11);
  EXPECT_EQ(clocks("h=16/1,d=128:4q1s4k", 96), 11) << "boxes would cross pages";
  kernel.box_chain_clocks = 0;
  EXPECT_EQ(clocks("h=16/1,d=128:4q1s4k", 64), 11) << "other kernels";
}

}  // namespace
}  // namespace splitwave::simulator
