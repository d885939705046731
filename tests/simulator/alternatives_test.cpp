// SPDX-License-Identifier: Apache-2.0
#include "simulator/alternatives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "schedules/head_pairs.h"
#include "schedules/schedules.h"
#include "simulator/simulate.h"
#include "tests/simulator/own_kernels.h"
#include "tests/support/battery.h"
#include "workloads/load.h"

namespace splitwave::simulator {
namespace {

using namespace own_kernels;

TEST(Alternatives, HoldTheRowsWithTheLeastTiles) {
  for (const auto& [spec, rows] : {std::pair{"h=8/1,d=128:1q1s1k", 8},
                                   {"h=16/1,d=128:1q1s1k", 16},
                                   {"h=30/1,d=128:1q1s1k", 32},
                                   {"h=64/1,d=128:1q1s1k", 64},
                                   {"h=128/1,d=128:1q1s1k", 64}}) {
    const workloads::Workload workload = workloads::parse_spec(spec);
    const auto all = alternatives(own(), workload, h200(), workload.geometry.group());
    ASSERT_FALSE(all.empty()) << spec;
    for (const KernelProfile& kernel : all) EXPECT_EQ(kernel.most_rows, rows) << spec << " " << kernel.config;
  }
}

TEST(Alternatives, AreMaskedExactlyWhereRowsMaySeeDifferentTokens) {
  for (const auto& [spec, masked] : {std::pair{"h=8/1,d=128:1q1s1k", false}, {"h=8/1,d=128:1q2s1k", true}}) {
    const auto all = alternatives(own(), workloads::parse_spec(spec), h200(), kAnyRows);
    ASSERT_FALSE(all.empty());
    for (const KernelProfile& kernel : all) EXPECT_EQ(kernel.masked, masked) << kernel.config;
  }
}

TEST(Alternatives, HaveClustersOnlyWhereTheMachineHas) {
  const workloads::Workload workload = workloads::parse_spec("h=8/1,d=128:1q1s1k");
  for (const KernelProfile& kernel : alternatives(own(), workload, load_machine("a100"), kAnyRows)) {
    EXPECT_EQ(kernel.cluster, 1) << kernel.config;
  }
  const auto on_b200 = alternatives(own(), workload, load_machine("b200"), kAnyRows);
  EXPECT_TRUE(std::any_of(on_b200.begin(), on_b200.end(), [](const auto& kernel) { return kernel.cluster > 1; }));
  std::set<std::int32_t> sizes;
  for (const KernelProfile& kernel : alternatives(own(), workload, h200(), kAnyRows)) sizes.insert(kernel.cluster);
  EXPECT_EQ(sizes, (std::set<std::int32_t>{1, 2, 4, 8, 16}));
}

TEST(Alternatives, FitWithTheirKernelsForListsOfOneItem) {
  const workloads::Workload workload = workloads::parse_spec("h=8/1,d=128:1q1s1k");
  const Machine a100 = load_machine("a100");
  for (const KernelProfile& kernel : alternatives(own(), workload, a100, kAnyRows)) {
    EXPECT_GT(ctas_per_sm(a100, with_costs_of(kernel, workload, Lists::single_items)), 0) << kernel.config;
  }
}

TEST(Alternatives, MultiplyByWgmmaOnlyWhereTheMachineHasIt) {
  const workloads::Workload workload = workloads::parse_spec("h=64/1,d=128:1q1s1k");
  for (const char* name : {"a100", "b200"}) {
    const auto all = alternatives(own(), workload, load_machine(name), workload.geometry.group());
    ASSERT_FALSE(all.empty()) << name;
    for (const KernelProfile& kernel : all) {
      EXPECT_EQ(kernel.instruction, MmaInstruction::mma_sync) << name << " " << kernel.config;
      EXPECT_EQ(kernel.most_rows, 16) << name << " " << kernel.config;
    }
  }
  for (const KernelProfile& kernel : alternatives(own(), workload, h200(), workload.geometry.group())) {
    EXPECT_EQ(kernel.instruction, MmaInstruction::wgmma) << kernel.config;
  }
}

/// Configs for latent attention of so many heads, without clusters and stages.
std::set<std::string> latent_configs(const char* machine, std::int32_t heads) {
  const workloads::Workload workload =
      workloads::parse_spec("h=" + std::to_string(heads) + "/1,d=576,dv=512,kind=mla:1q1s1k");
  std::set<std::string> all;
  for (const KernelProfile& kernel : alternatives(own(), workload, load_machine(machine), heads)) {
    all.insert(kernel.config.substr(0, 3));
  }
  return all;
}

TEST(Alternatives, WithoutWgmmaLatentAttentionHasPortableKernels) {
  using Names = std::set<std::string>;
  EXPECT_EQ(latent_configs("h200-calibrated", 16), (Names{"r2g"}));
  EXPECT_EQ(latent_configs("h200-calibrated", 64), (Names{"r8g", "r8m"}));
  EXPECT_EQ(latent_configs("a100", 16), (Names{"r2p"}));
  EXPECT_EQ(latent_configs("a100", 64), (Names{"r8p"}));
  EXPECT_EQ(latent_configs("rtx-4090", 64), (Names{"r2p"})) << "99 KB for a CTA";
}

TEST(Alternatives, OtherGeometriesHaveNone) {
  EXPECT_TRUE(alternatives(own(), workloads::parse_spec("h=8/1,d=96:1q1s1k"), h200(), kAnyRows).empty());
  EXPECT_TRUE(
      alternatives(load_kernel("fa3-d128"), workloads::parse_spec("h=8/1,d=128:1q1s1k"), h200(), kAnyRows).empty());
}

TEST(Alternatives, MergesOfClustersCostWhatWasProbedOfTheirSize) {
  const workloads::Workload workload = workloads::parse_spec("h=8/1,d=128:4q1s4k");
  KernelFamily family = own();
  const auto others = alternatives(family, workload, h200(), kAnyRows);
  for (KernelVariant& variant : family.variants) {
    for (ClusterCosts& costs : variant.clusters) {
      if (costs.cluster == 1) continue;
      costs.single_item_merge_seconds = costs.cluster * 1e-6;
      costs.single_item_merge_seconds_per_split = costs.cluster * 1e-8;
    }
  }
  const auto all = alternatives(family, workload, h200(), kAnyRows);
  ASSERT_EQ(all.size(), others.size());
  int clusters = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].cluster == 1) {
      EXPECT_EQ(all[i].single_item_merge_seconds, others[i].single_item_merge_seconds);
      continue;
    }
    ++clusters;
    EXPECT_EQ(all[i].single_item_merge_seconds, all[i].cluster * 1e-6);
    EXPECT_EQ(all[i].single_item_merge_seconds_per_split, all[i].cluster * 1e-8);
  }
  EXPECT_GT(clusters, 10);
}

TEST(RowBlocks, PartitionEveryPlan) {
  for (const workloads::Workload& workload : testing::planning_battery()) {
    for (const char* schedule : {"lean", "fixed-split:3", "fixed-size:128"}) {
      schedules::Plan plan;
      try {
        plan = schedules::make_plan(schedule, workload, {});
      } catch (const base::InputError&) {
        continue;
      }
      if (plan.lists() == 0) continue;
      const std::int32_t rows = std::max(1, most_rows(plan) / 3);
      const RowBlocks cut = in_row_blocks(plan, rows);
      const schedules::Plan& blocks = cut.plan;
      std::int64_t before = 0;
      std::int64_t after = 0;
      for (const schedules::OutputTile& tile : plan.outputs) before += tile.rows();
      for (const schedules::OutputTile& tile : blocks.outputs) {
        after += tile.rows();
        EXPECT_LE(tile.rows(), rows);
      }
      EXPECT_EQ(before, after) << workload.name << " " << schedule;
      EXPECT_EQ(blocks.lists() % plan.lists(), 0);
      EXPECT_EQ(blocks.cta_begin.back(), static_cast<std::int32_t>(blocks.items.size()));
      const std::int32_t most = blocks.lists() / plan.lists();
      ASSERT_EQ(cut.item.size(), blocks.items.size());
      for (std::int32_t list = 0; list < blocks.lists(); ++list) {
        const std::int32_t first = plan.cta_begin[static_cast<std::size_t>(list / most)];
        const std::int32_t begin = blocks.cta_begin[static_cast<std::size_t>(list)];
        ASSERT_EQ(blocks.list(list).size(), plan.list(list / most).size());
        for (std::size_t i = 0; i < blocks.list(list).size(); ++i) {
          EXPECT_EQ(cut.item[static_cast<std::size_t>(begin) + i], first + static_cast<std::int32_t>(i))
              << "a list's blocks lie side by side";
        }
      }
    }
  }
}

/// Kernels for pairs of KV heads take what those for heads of twice the dims take for the pairs.
TEST(HeadPairs, AreSimulatedAsOneHead) {
  const workloads::Workload w = workloads::parse_spec("h=24/8,d=64:6q1s5000_1q1s300");
  const workloads::Workload pairs = schedules::with_head_pairs(w);
  const std::vector<KernelProfile> all = pair_alternatives(own(), w, h200());
  ASSERT_FALSE(all.empty());
  for (const KernelProfile& kernel : all) {
    EXPECT_EQ(kernel.kv_heads, 2);
    const std::string wide = kernel.config.substr(0, kernel.config.size() - 2);
    EXPECT_EQ(kernel.config, wide + "h2");
    for (const char* schedule : {"fixed-split:1", "fixed-split:3+last_arriver", "fixed-size:1024+last_arriver"}) {
      schedules::Grid grid = grid_of(h200(), kernel);
      grid.tile_q = kernel.most_rows;
      grid.tile_kv = 64;
      const schedules::Plan plan = schedules::make_plan(schedule, w, grid);
      const auto run = as_run(kernel, w, plan, grid.resident());
      ASSERT_TRUE(run.has_value()) << schedule;
      const schedules::Plan seen = schedules::head_pairs(w, plan)->plan;
      const auto as_wide = as_run(config(wide, pairs), pairs, seen, grid.resident());
      ASSERT_TRUE(as_wide.has_value());
      const schedules::Timeline timeline = simulate(w, plan, h200(), *run);
      const schedules::Timeline expected = simulate(pairs, seen, h200(), *as_wide);
      EXPECT_EQ(timeline.seconds, expected.seconds) << schedule << " " << kernel.config;
      EXPECT_EQ(timeline.traffic.kv_dram_read, expected.traffic.kv_dram_read);
      EXPECT_EQ(2 * timeline.traffic.output_written, expected.traffic.output_written) << "padded rows are not written";
      EXPECT_EQ(timeline.traffic.partials_written, expected.traffic.partials_written) << schedule;
    }
    for (const char* schedule : {"fixed-split:3", "lean", "fa3"}) {  // a merge kernel, waiting CTAs, a queue
      const schedules::Plan plan = plan_for(schedule, w, kernel);
      EXPECT_FALSE(as_run(kernel, w, plan, 1 << 20).has_value()) << schedule;
    }
  }
}

TEST(HeadPairs, OfSpansTheFirstHeadIsNamed) {
  const workloads::Workload w = workloads::parse_spec("h=8/8,d=64:3q1s900");
  const KernelProfile kernel = pair_alternatives(own(), w, h200()).front();
  const schedules::Plan plan = plan_for("fixed-split:1", w, kernel);
  SimulateOptions options;
  options.spans = true;
  std::set<std::int32_t> items;
  const auto run = as_run(kernel, w, plan, 1 << 20);
  for (const schedules::Span& span : simulate(w, plan, h200(), *run, options).spans) items.insert(span.item);
  EXPECT_EQ(items.size(), plan.items.size() / 2);
  for (const std::int32_t item : items) EXPECT_EQ(plan.items[static_cast<std::size_t>(item)].output % 2, 0) << item;
}

}  // namespace
}  // namespace splitwave::simulator
