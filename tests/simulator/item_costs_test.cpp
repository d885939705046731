// SPDX-License-Identifier: Apache-2.0
// What kernels of latent attention pay for operands, rows and lists without work; toy.h has the round numbers.
#include <gtest/gtest.h>

#include "simulator/simulate.h"
#include "tests/simulator/toy.h"

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

}  // namespace
}  // namespace splitwave::simulator
