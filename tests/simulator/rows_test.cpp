// SPDX-License-Identifier: Apache-2.0
#include "simulator/rows.h"

#include <gtest/gtest.h>

#include <utility>

#include "schedules/schedules.h"
#include "workloads/load.h"

namespace splitwave::simulator {
namespace {

using schedules::Grid;
using schedules::Plan;
using workloads::Workload;

TEST(Rows, BetweenOtherHeadsLetLessThrough) {
  Machine machine;
  workloads::Workload workload;
  workload.geometry.kv_heads = 8;
  EXPECT_EQ(row_share(workload, machine), 1) << "nothing is known";
  machine.row_shares = {0.9, 0.95, 0.98};
  for (const auto& [head_dim, share] : {std::pair{64, 0.9}, {128, 0.95}, {192, 0.95}, {256, 0.98}, {512, 1.0}}) {
    workload.geometry.head_dim = head_dim;
    EXPECT_EQ(row_share(workload, machine), share) << head_dim;
  }
  workload.geometry.head_dim = 64;
  workload.geometry.dtype = workloads::Dtype::f32;
  EXPECT_EQ(row_share(workload, machine), 0.95) << "256 bytes";
  workload.kv.layout = workloads::KvLayout::bhsd;
  EXPECT_EQ(row_share(workload, machine), 1);
  workload.kv.layout = workloads::KvLayout::paged;
  workload.geometry.kv_heads = 1;
  EXPECT_EQ(row_share(workload, machine), 1) << "a head's rows lie side by side";
}

Plan plan_of(const char* schedule, const Workload& workload) {
  return schedules::make_plan(schedule, workload, Grid{132, 1, 0, 64});
}

/// Three requests of eight heads, and as many lists at a time as are asked for.
class InStep : public ::testing::Test {
 protected:
  double share(const char* schedule, std::int32_t resident, double drift = 0) const {
    return in_step_share(workload_, plan_of(schedule, workload_), {resident, 512, 65536, drift});
  }
  Workload workload_ = workloads::parse_spec("h=32/8,d=128:3q1s4k");
};

TEST_F(InStep, AreAllHeadsThatRunAtATime) {
  for (const char* schedule : {"fa2", "fixed-size:8192", "fixed-split:4", "fixed-size:1024"}) {
    EXPECT_EQ(share(schedule, 132), 1) << schedule;
  }
}

TEST_F(InStep, OfSeveralWavesAreThoseThatFollowEachOther) {
  EXPECT_EQ(share("fixed-size:8192", 8), 1) << "a request's heads";
  EXPECT_EQ(share("fixed-split:4", 8), 0) << "a head's parts";
}

TEST_F(InStep, TheyDriftApart) {
  EXPECT_EQ(share("fa2", 132, 0.01), 1) << "20 KB";
  EXPECT_DOUBLE_EQ(share("fa2", 132, 0.1), 65536 / (0.1 * 4096 * 512));
  EXPECT_EQ(share("fixed-split:4", 132, 0.1), 1) << "a quarter each";
}

TEST_F(InStep, ListsOfSeveralItemsAreNot) {
  const Plan lean = schedules::make_plan("lean", workload_, Grid{7, 1, 0, 64});
  EXPECT_LT(in_step_share(workload_, lean, {7, 512, 65536, 0}), 0.5);
}

}  // namespace
}  // namespace splitwave::simulator
