// SPDX-License-Identifier: Apache-2.0
#include "schedules/head_pairs.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "schedules/schedules.h"
#include "schedules/validate.h"
#include "workloads/load.h"

namespace splitwave::schedules {
namespace {

using workloads::Workload;

Plan planned(const Workload& workload, const std::string& schedule) {
  Grid grid;
  grid.sms = 132;
  grid.tile_q = 8;
  grid.tile_kv = 64;
  return make_plan(schedule, workload, grid);
}

TEST(HeadPairs, AreHeadsSideBySide) {
  EXPECT_TRUE(has_head_pairs(workloads::parse_spec("h=8/2,d=64:3q1s100")));
  EXPECT_FALSE(has_head_pairs(workloads::parse_spec("h=9/3,d=64:3q1s100")));
  EXPECT_FALSE(has_head_pairs(workloads::parse_spec("h=8/2,d=64:3q2s100")));
  Workload head_major = workloads::parse_spec("h=8/2,d=64:3q1s100");
  head_major.kv.layout = workloads::KvLayout::bhsd;
  EXPECT_FALSE(has_head_pairs(head_major));
}

TEST(HeadPairs, AreOneHeadOfTwiceTheDims) {
  const Workload w = workloads::parse_spec("h=24/6,d=64:3q1s100");
  const Workload pairs = with_head_pairs(w);
  EXPECT_EQ(pairs.geometry.kv_heads, 3);
  EXPECT_EQ(pairs.geometry.head_dim, 128);
  EXPECT_EQ(pairs.geometry.value_dim, 128);
  EXPECT_EQ(pairs.geometry.group(), 8);
  EXPECT_EQ(pairs.geometry.scale(), w.geometry.scale());
  EXPECT_EQ(workloads::kv_bytes(pairs), workloads::kv_bytes(w));
}

/// Half the outputs, items and slots, in the same order, and a plan that is valid by itself.
TEST(HeadPairs, HalveEveryPlanOfSingleItems) {
  for (const char* spec : {"h=8/2,d=64:3q1s1000", "h=24/6,d=64:1q1s3000_1q1s70_1q1s0_2q1s900"}) {
    const Workload w = workloads::parse_spec(spec);
    for (const char* schedule : {"fixed-split:1", "fixed-split:3+last_arriver", "fixed-size:256+last_arriver",
                                 "fixed-size:4096", "flashinfer+last_arriver"}) {
      const Plan plan = planned(w, schedule);
      const std::optional<HeadPairs> pairs = head_pairs(w, plan);
      ASSERT_TRUE(pairs.has_value()) << schedule;
      EXPECT_EQ(pairs->workload.geometry, with_head_pairs(w).geometry);
      EXPECT_NO_THROW(validate(pairs->workload, pairs->plan)) << schedule;
      ASSERT_EQ(2 * pairs->plan.items.size(), plan.items.size()) << schedule;
      EXPECT_EQ(2 * pairs->plan.slots(), plan.slots());
      for (std::size_t i = 0; i < pairs->plan.items.size(); ++i) {
        const Item& item = pairs->plan.items[i];
        const Item& first = plan.items[static_cast<std::size_t>(pairs->first_item[i])];
        EXPECT_EQ(first.output, 2 * item.output);
        EXPECT_EQ(first.kv_begin, item.kv_begin);
        EXPECT_EQ(first.kv_end, item.kv_end);
        EXPECT_EQ(first.slot < 0, item.slot < 0);
      }
    }
  }
}

TEST(HeadPairs, OfOtherPlansThereAreNone) {
  const Workload w = workloads::parse_spec("h=8/2,d=64:3q1s1000");
  const Workload ragged = workloads::parse_spec("h=8/2,d=64:3q1s9000_1q1s500");
  EXPECT_FALSE(head_pairs(ragged, planned(ragged, "lean")).has_value());
  EXPECT_FALSE(head_pairs(w, planned(w, "fa3")).has_value()) << "a queue";
  Plan swapped = planned(w, "fixed-split:1");
  ASSERT_TRUE(head_pairs(w, swapped).has_value());
  std::swap(swapped.outputs[0], swapped.outputs[1]);
  EXPECT_FALSE(head_pairs(w, swapped).has_value());
  Plan uneven = planned(w, "fixed-split:2+last_arriver");
  ASSERT_TRUE(head_pairs(w, uneven).has_value());
  for (Item& item : uneven.items) {
    if (item.output == 1) (item.kv_begin == 0 ? item.kv_end : item.kv_begin) = 64;
  }
  EXPECT_FALSE(head_pairs(w, uneven).has_value());
}

}  // namespace
}  // namespace splitwave::schedules
