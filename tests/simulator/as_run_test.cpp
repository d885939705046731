// SPDX-License-Identifier: Apache-2.0
// What plans cost on the kernels that run them, and which plans a kernel does not run.
#include <gtest/gtest.h>

#include "schedules/schedules.h"
#include "simulator/alternatives.h"
#include "tests/simulator/own_kernels.h"
#include "workloads/load.h"

namespace splitwave::simulator {
namespace {

using namespace own_kernels;

TEST(AsRun, ListsOfOneItemTakeTheShorterKernel) {
  const workloads::Workload workload = workloads::parse_spec("h=8/1,d=128:4q1s4k");
  const KernelProfile kernel = config("r1w4s4t16c1", workload);
  const auto single = as_run(kernel, workload, plan_for("fixed-split:1", workload, kernel), 132);
  ASSERT_TRUE(single);
  EXPECT_EQ(single->prologue_seconds, kernel.single_item_prologue_seconds);
  schedules::Plan lists = plan_for("fixed-split:1", workload, kernel);
  lists.cta_begin = {0, 2, 4};
  const auto list = as_run(kernel, workload, lists, 132);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->prologue_seconds, kernel.prologue_seconds);
  EXPECT_GT(list->prologue_seconds, single->prologue_seconds);
}

TEST(AsRun, ListsOfOneItemTakeWhatTheirKernelTakesOfAnSm) {
  const workloads::Workload workload = workloads::parse_spec("h=8/1,d=128:4q1s4k");
  KernelProfile kernel = config("r1w4s2t16c1", workload);
  kernel.single_item_registers_per_thread = 64;
  kernel.single_item_shared_bytes = 40'000;
  const KernelProfile single = with_costs_of(kernel, workload, Lists::single_items);
  EXPECT_EQ(ctas_per_sm(h200(), single), 5);
  EXPECT_EQ(ctas_per_sm(h200(), with_costs_of(kernel, workload, Lists::any)), ctas_per_sm(h200(), kernel));
}

TEST(AsRun, KernelsWithoutRingsTakeLessOfAFullSmForFewRows) {
  KernelProfile kernel = config("r1w4s1t16c1", workloads::parse_spec("h=8/1,d=128:4q1s64"));
  kernel.fewer_rows_seconds = 70e-9;
  const auto less = [&](const char* spec) {
    const KernelProfile run = with_costs_of(kernel, workloads::parse_spec(spec), Lists::single_items);
    EXPECT_DOUBLE_EQ(run.epilogue_seconds, kernel.epilogue_seconds + run.fewer_rows_seconds) << "as long in a lone CTA";
    return run.fewer_rows_seconds;
  };
  EXPECT_DOUBLE_EQ(less("h=8/1,d=128:4q1s64"), 0);
  EXPECT_DOUBLE_EQ(less("h=1/1,d=128:4q1s64"), 70e-9);
  EXPECT_DOUBLE_EQ(less("h=2/1,d=128:4q1s64"), 60e-9);
}

TEST(AsRun, FurtherItemsOfFewRowsTakeLess) {
  const workloads::Workload full = workloads::parse_spec("h=8/1,d=128:2q1s1k");
  KernelProfile kernel = config("r1w4s4t16c1", full);
  kernel.item_seconds = 1e-6;
  kernel.item_crowded_seconds = 1.5e-6;
  kernel.item_fewer_rows_seconds = 0.7e-6;
  EXPECT_DOUBLE_EQ(with_costs_of(kernel, full, Lists::any).item_seconds, 1e-6);
  const KernelProfile one = with_costs_of(kernel, workloads::parse_spec("h=1/1,d=128:2q1s1k"), Lists::any);
  EXPECT_DOUBLE_EQ(one.item_seconds, 0.3e-6);
  EXPECT_DOUBLE_EQ(one.item_crowded_seconds, 0.8e-6);
}

TEST(AsRun, PlansWhoseCtasWaitCostWhatTheirKernelTakes) {
  const workloads::Workload workload = workloads::parse_spec("h=8/1,d=128:2q1s1k");
  KernelProfile kernel = config("r1w4s4t16c1", workload);
  kernel.waiting_prologue_seconds = 3e-6;
  kernel.waiting_item_seconds = 4e-6;
  kernel.waiting_item_crowded_seconds = 5e-6;
  kernel.waiting_chain_clocks = 2 * kernel.chain_clocks;
  schedules::Grid grid;
  grid.sms = 4;
  const auto run = [&](const char* schedule) {
    return as_run(kernel, workload, schedules::make_plan(schedule, workload, grid), 132).value();
  };
  const KernelProfile waiting = run("lean+host_cta");
  EXPECT_EQ(waiting.prologue_seconds, 3e-6);
  EXPECT_EQ(waiting.item_crowded_seconds, 5e-6);
  EXPECT_DOUBLE_EQ(waiting.chain_clocks, 2 * kernel.chain_clocks);
  EXPECT_EQ(run("lean+last_arriver").prologue_seconds,
            with_costs_of(kernel, workload, Lists::single_items).prologue_seconds);
}

TEST(AsRun, KernelsWithoutRingsHoldWholeItems) {
  const workloads::Workload small = workloads::parse_spec("h=8/1,d=128:4q1s64");
  const workloads::Workload large = workloads::parse_spec("h=8/1,d=128:4q1s65");
  const KernelProfile kernel = config("r1w4s1t16c1", small);
  EXPECT_TRUE(as_run(kernel, small, plan_for("fixed-split:1", small, kernel), 132));
  EXPECT_FALSE(as_run(kernel, large, plan_for("fixed-split:1", large, kernel), 132));
}

/// Clusters that hold an item of a latent cache take some of its heads, or all of them in row blocks; pages of whole
/// boxes cost them nothing, and an SM has one CTA.
TEST(AsRun, ClustersHoldItemsOfALatentCache) {
  workloads::Workload paged = workloads::parse_spec("h=64/1,d=576,dv=512,kind=mla:4q1s500");
  const KernelProfile kernel = config("r2g4s1t16c8", paged);
  EXPECT_EQ(kernel.most_tokens, 512);
  for (const std::int32_t tile_q : {16, 64}) {
    schedules::Grid grid{132, 1, 0, 64};
    grid.tile_q = tile_q;
    const schedules::Plan plan = schedules::make_plan("fixed-size:1024", paged, grid);
    const auto contiguous = as_run(kernel, paged, plan, 132);
    ASSERT_TRUE(contiguous) << tile_q;
    paged.kv.layout = workloads::KvLayout::paged;
    paged.kv.page_size = 64;
    EXPECT_EQ(as_run(kernel, paged, plan, 132)->prologue_seconds, contiguous->prologue_seconds) << tile_q;
    paged.kv.page_size = 16;
    EXPECT_GT(as_run(kernel, paged, plan, 132)->prologue_seconds, contiguous->prologue_seconds + 5e-7) << tile_q;
    paged.kv.layout = workloads::KvLayout::bshd;
    EXPECT_EQ(seconds_per_token(load_machine("h200-calibrated"), *contiguous, paged.geometry, 16).crowded, 0);
  }
  const workloads::Workload longer = workloads::parse_spec("h=64/1,d=576,dv=512,kind=mla:4q1s513");
  EXPECT_FALSE(as_run(kernel, longer, plan_for("fixed-size:1024", longer, kernel), 132));
}

/// They merge outputs in parts by waiting for each other, all row blocks of them at once.
TEST(AsRun, ClustersThatHoldPartsOfALatentCacheWait) {
  const workloads::Workload rows = workloads::parse_spec("h=16/1,d=576,dv=512,kind=mla:1q1s2k");
  const KernelProfile kernel = config("r2g4s1t16c8", rows);
  schedules::Grid grid{15, 1, 0, 64};
  const auto runs = [&](const workloads::Workload& w, const std::string& schedule, std::int64_t resident) {
    grid.tile_q = w.geometry.query_heads;
    return as_run(kernel, w, schedules::make_plan(schedule, w, grid), resident).has_value();
  };
  EXPECT_TRUE(runs(rows, "fixed-split:4+host_cta", 4));
  EXPECT_FALSE(runs(rows, "fixed-split:4+host_cta", 3));
  EXPECT_FALSE(runs(rows, "fixed-split:4+last_arriver", 15));
  EXPECT_FALSE(runs(rows, "fixed-split:4+kernel", 15));
  EXPECT_FALSE(runs(rows, "fixed-split:3+host_cta", 15)) << "longer than they hold";
  workloads::Workload blocks = rows;
  blocks.geometry.query_heads = 64;
  EXPECT_TRUE(runs(blocks, "fixed-split:4+host_cta", 16));
  EXPECT_FALSE(runs(blocks, "fixed-split:4+host_cta", 15));
}

TEST(AsRun, PagesCrowdKernelsThatHoldTheirItems) {
  const workloads::Workload small = workloads::parse_spec("h=8/1,d=128:4q1s64");
  workloads::Workload paged = small;
  paged.kv.layout = workloads::KvLayout::paged;
  KernelProfile kernel = config("r1w4s1t16c1", small);
  kernel.paged_crowded = 1.5;
  const schedules::Plan plan = plan_for("fixed-split:1", small, kernel);
  const auto contiguous = as_run(kernel, small, plan, 132);
  kernel.paged_chain_clocks = kernel.chain_clocks;  // as many instructions
  const auto pages = as_run(kernel, paged, plan, 132);
  ASSERT_TRUE(contiguous && pages);
  EXPECT_DOUBLE_EQ(pages->crowded_clocks, 1.5 * contiguous->crowded_clocks);
}

TEST(AsRun, PagesCrowdRingsAsProbedOrElseAsTheirChains) {
  workloads::Workload paged = workloads::parse_spec("h=8/1,d=128:4q1s4k");
  paged.kv.layout = workloads::KvLayout::paged;
  KernelProfile kernel = config("r1w4s2t16c1", paged);
  kernel.crowded_clocks = 8;
  kernel.chain_clocks = 10;
  kernel.paged_chain_clocks = 15;
  kernel.paged_crowded = 1.25;
  EXPECT_DOUBLE_EQ(with_costs_of(kernel, paged, Lists::any).crowded_clocks, 10);
  kernel.paged_crowded = 0;
  EXPECT_DOUBLE_EQ(with_costs_of(kernel, paged, Lists::any).crowded_clocks, 12);
}

TEST(AsRun, MergesOfListsOfOneItemCostWhatTheirKernelTakes) {
  const workloads::Workload workload = workloads::parse_spec("h=8/1,d=128:4q1s4k");
  KernelProfile kernel = config("r1w4s2t16c1", workload);
  kernel.merge_seconds = 5e-6;
  kernel.single_item_merge_seconds = 2e-6;
  const auto merge_of = [&](const char* schedule) {
    return as_run(kernel, workload, plan_for(schedule, workload, kernel), 132).value().merge_seconds;
  };
  EXPECT_EQ(merge_of("fixed-split:4+last_arriver"), 2e-6);
  EXPECT_EQ(merge_of("lean"), 5e-6) << "CTAs that wait run any plan";
  kernel.single_item_merge_seconds = -1;
  EXPECT_EQ(merge_of("fixed-split:4+last_arriver"), 5e-6) << "not probed";
}

TEST(AsRun, RefusesQueuesOfTallTilesAndGridsThatAreNotResident) {
  const workloads::Workload tall = workloads::parse_spec("h=64/1,d=64:4q1s4k");
  const KernelProfile kernel = config("r4w4s3t32c1", tall);
  EXPECT_FALSE(as_run(kernel, tall, plan_for("fa3", tall, kernel), 132));
  const schedules::Plan lean = plan_for("lean", tall, kernel);
  EXPECT_TRUE(as_run(kernel, tall, lean, lean.ctas()));
  EXPECT_FALSE(as_run(kernel, tall, lean, lean.ctas() - 1));
}

TEST(AsRun, RefusesQueuesFromWhichClustersWouldTakeFurtherLists) {
  const workloads::Workload workload = workloads::parse_spec("h=8/1,d=128:9q1s4k");
  const KernelProfile clusters = config("r1w4s4t16c2", workload);
  const KernelProfile single = config("r1w4s4t16c1", workload);
  schedules::Plan plan = plan_for("fa3:1", workload, clusters);
  plan.workers = plan.lists();
  EXPECT_TRUE(as_run(clusters, workload, plan, 66));
  plan.workers = plan.lists() - 1;
  EXPECT_FALSE(as_run(clusters, workload, plan, 66));
  EXPECT_TRUE(as_run(single, workload, plan, 132));
}

}  // namespace
}  // namespace splitwave::simulator
