// SPDX-License-Identifier: Apache-2.0
// A good plan, broken in one way at a time: the check of that invariant fires.
#include "schedules/validate.h"

#include <gtest/gtest.h>

#include "schedules/schedules.h"
#include "tests/support/battery.h"

namespace splitwave::schedules {
namespace {

using testing::decode;
using testing::geometry;

workloads::Workload workload() {
  return decode("w", geometry(4, 2, 64), {1280, 0, 600});
}

/// Three CTAs, split and whole outputs, an empty one, a merge by host CTAs.
Plan good() {
  return make_plan("lean", workload(), {4, 1, 0, 0});
}

/// A hardware grid with padding and a merge kernel.
Plan padded() {
  return make_plan("fixed-split:3", workload(), {4, 1, 0, 0});
}

void expect_only(Invariant invariant, const Plan& plan) {
  std::vector<std::string> problems;
  invariant(workload(), plan, problems);
  EXPECT_FALSE(problems.empty());
  EXPECT_FALSE(violations(workload(), plan).empty());
  EXPECT_THROW(validate(workload(), plan), std::logic_error);
}

TEST(Validate, GoodPlans) {
  EXPECT_TRUE(violations(workload(), good()).empty());
  EXPECT_TRUE(violations(workload(), padded()).empty());
  EXPECT_NO_THROW(validate(workload(), good()));
  ASSERT_GE(good().merges.size(), 2U);
}

TEST(Validate, Tiles) {
  Plan plan = good();
  plan.tile_kv = 0;
  expect_only(check_indices, plan);
  plan = good();
  plan.tile_q = -1;
  expect_only(check_indices, plan);
}

TEST(Validate, IndicesOfOutputs) {
  for (const OutputTile& tile :
       {OutputTile{3, 0, 2, 0, 2}, OutputTile{-1, 0, 2, 0, 2}, OutputTile{0, 4, 1, 0, 2}, OutputTile{0, 0, 5, 0, 2},
        OutputTile{0, 0, 0, 0, 2}, OutputTile{0, 0, 2, 1, 1}, OutputTile{0, 0, 2, -1, 1}}) {
    Plan plan = good();
    plan.outputs[0] = tile;
    expect_only(check_indices, plan);
  }
}

TEST(Validate, IndicesOfItemsAndMerges) {
  Plan plan = good();
  plan.items[0].output = static_cast<std::int32_t>(plan.outputs.size());
  expect_only(check_indices, plan);
  plan = good();
  plan.items[0].output = -1;
  expect_only(check_indices, plan);
  plan = good();
  std::swap(plan.items[0].kv_begin, plan.items[0].kv_end);
  expect_only(check_indices, plan);
  plan = good();
  plan.merges[0].output = 1000;
  expect_only(check_indices, plan);
  plan = good();
  plan.merges[0].slot_begin = -1;
  expect_only(check_indices, plan);
}

TEST(Validate, OutputsPartitionTheRows) {
  Plan plan = good();
  plan.outputs[1] = plan.outputs[0];  // twice, and another missing
  expect_only(check_outputs, plan);
  plan = good();
  plan.outputs[0].row_end = 1;
  expect_only(check_outputs, plan);
  plan = good();
  plan.outputs[0].row_end = 3;  // of 2 rows
  expect_only(check_outputs, plan);
  plan = good();
  plan.tile_q = 1;  // smaller than the rows of a tile
  expect_only(check_outputs, plan);
  plan = good();
  plan.outputs.pop_back();
  plan.items.pop_back();
  plan.cta_begin.back() = static_cast<std::int32_t>(plan.items.size());
  std::vector<std::string> problems;
  check_outputs(workload(), plan, problems);
  EXPECT_FALSE(problems.empty());
}

TEST(Validate, TileOfTwoKvHeads) {
  Plan plan = make_plan("lean", decode("w", geometry(4, 2, 64), {100}), {4, 1, 0, 0});
  plan.outputs = {{0, 0, 4, 0, 4}};
  plan.items = {{0, 0, 100, -1}};
  plan.cta_begin = {0, 1};
  std::vector<std::string> problems;
  check_outputs(decode("w", geometry(4, 2, 64), {100}), plan, problems);
  EXPECT_EQ(problems.size(), 1U);
}

TEST(Validate, Lists) {
  Plan plan = good();
  plan.cta_begin.back() -= 1;
  expect_only(check_lists, plan);
  plan = good();
  plan.cta_begin.front() = 1;
  expect_only(check_lists, plan);
  plan = good();
  std::swap(plan.cta_begin[1], plan.cta_begin[2]);
  expect_only(check_lists, plan);
  plan = good();
  plan.cta_begin.clear();
  expect_only(check_lists, plan);
}

TEST(Validate, ItemsPartitionTheRange) {
  Plan plan = good();
  plan.items[0].kv_end -= plan.tile_kv;  // a gap
  expect_only(check_partition, plan);
  plan = good();
  plan.items[1].kv_begin -= plan.tile_kv;  // an overlap
  expect_only(check_partition, plan);
  plan = good();
  plan.items[0].kv_end += 1;  // off the tiles
  plan.items[1].kv_begin += 1;
  expect_only(check_partition, plan);
  plan = good();
  plan.items.back().kv_end -= 1;  // short of the end
  expect_only(check_partition, plan);
  plan = good();
  plan.items.back().kv_end += 1;  // past the end
  expect_only(check_partition, plan);
}

TEST(Validate, EmptyItems) {
  Plan plan = padded();
  plan.merge = MergeKind::last_arriver;  // empty CTAs are launched for a merge kernel only
  expect_only(check_empty_items, plan);
  plan = padded();
  plan.dispatch = Dispatch::fixed;
  expect_only(check_empty_items, plan);
  plan = good();
  plan.outputs.push_back(plan.outputs.back());
  expect_only(check_empty_items, plan);  // an output without items
}

TEST(Validate, Slots) {
  Plan plan = good();
  plan.items[0].slot = -1;
  expect_only(check_slots, plan);
  plan = good();
  std::swap(plan.items[0].slot, plan.items[1].slot);
  expect_only(check_slots, plan);
  plan = good();
  plan.items[0].slot = plan.items[1].slot;
  expect_only(check_slots, plan);
  plan = good();
  plan.items[0].slot = 1 << 30;
  expect_only(check_slots, plan);
  plan = good();
  for (Item& item : plan.items) {
    if (item.slot < 0) {
      item.slot = plan.slots();  // a whole output with a slot
      break;
    }
  }
  expect_only(check_slots, plan);
  plan = good();
  for (Item& item : plan.items) item.slot += item.slot >= 0 ? 1 : 0;  // dense from 1
  expect_only(check_slots, plan);
}

TEST(Validate, Merges) {
  Plan plan = good();
  plan.merges.pop_back();
  expect_only(check_merges, plan);
  plan = good();
  std::swap(plan.merges[0], plan.merges[1]);
  expect_only(check_merges, plan);
  plan = good();
  plan.merges[0].slot_end -= 1;
  expect_only(check_merges, plan);
  plan = good();
  plan.merges[1].output = plan.merges[0].output;
  expect_only(check_merges, plan);
  plan = good();
  std::swap(plan.merges[0].output, plan.merges[1].output);
  expect_only(check_merges, plan);
  plan = make_plan("fa2", workload(), {4, 1, 0, 0});
  plan.merges.push_back({0, 0, 1});  // of an output that is not split
  expect_only(check_merges, plan);
}

TEST(Validate, Dispatch) {
  Plan plan = good();
  plan.workers = 4;
  expect_only(check_dispatch, plan);
  plan.workers = -1;
  expect_only(check_dispatch, plan);
  plan = make_plan("fa3", workload(), {4, 1, 0, 0});
  plan.workers = 0;
  expect_only(check_dispatch, plan);
  plan = good();
  plan.merge = MergeKind::none;
  expect_only(check_dispatch, plan);
  plan = good();
  plan.dispatch = Dispatch::hardware;  // a host might wait for a CTA that never starts
  expect_only(check_dispatch, plan);
}

TEST(Validate, NothingWaitsBehindAWait) {
  // Two CTAs that each merge one output and then have a piece of the other's: both would wait for ever.
  const workloads::Workload w = decode("w", geometry(2, 2, 64), {512});
  Plan plan = make_plan("lean", w, {2, 1, 0, 0});
  plan.items = {{0, 0, 256, 0}, {1, 256, 512, 3}, {1, 0, 256, 2}, {0, 256, 512, 1}};
  plan.cta_begin = {0, 2, 4};
  plan.merges = {{0, 0, 2}, {1, 2, 4}};
  plan.merge = MergeKind::host_cta;
  std::vector<std::string> problems;
  check_dispatch(w, plan, problems);
  EXPECT_EQ(problems.size(), 2U);
  plan.merge = MergeKind::kernel;
  EXPECT_TRUE(violations(w, plan).empty()) << "nobody waits for a merge kernel";
}

}  // namespace
}  // namespace splitwave::schedules
