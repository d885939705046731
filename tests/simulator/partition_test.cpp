// SPDX-License-Identifier: Apache-2.0
#include "simulator/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "simulator/clusters.h"
#include "simulator/placement.h"

namespace splitwave::simulator {
namespace {

std::vector<std::int32_t> taken_from(const Machine& machine, std::int32_t more, std::int32_t fewer) {
  const std::vector<std::int32_t> large = sms_of_partition(machine, more);
  const std::vector<std::int32_t> small = sms_of_partition(machine, fewer);
  std::vector<std::int32_t> result;
  std::set_difference(large.begin(), large.end(), small.begin(), small.end(), std::back_inserter(result));
  return result;
}

// What %smid showed of green contexts on the H200 that the machine file describes.
TEST(Partition, TakesTheSmsThatTheDriverGives) {
  const Machine h200 = load_machine("h200-calibrated");
  EXPECT_EQ(sms_of_partition(h200, 8), (std::vector<std::int32_t>{0, 1, 16, 17, 32, 33, 48, 49}));
  EXPECT_EQ(taken_from(h200, 32, 24), (std::vector<std::int32_t>{6, 7, 22, 23, 38, 39, 54, 55}));
  EXPECT_EQ(taken_from(h200, 72, 64), (std::vector<std::int32_t>{64, 65, 78, 79, 92, 93, 106, 107}));
  EXPECT_EQ(taken_from(h200, 120, 112), (std::vector<std::int32_t>{76, 77, 90, 91, 104, 105, 118, 119}));
  EXPECT_EQ(taken_from(h200, 128, 120), (std::vector<std::int32_t>{120, 121, 122, 123, 124, 125, 126, 127}));
  EXPECT_EQ(sms_of_partition(h200, 132).size(), 132U);
}

TEST(Partition, ClustersFindAsMuchRoomAsTheDriverSays) {
  const struct {
    std::int32_t sms;
    std::int32_t of_two;
    std::int32_t of_four;
    std::int32_t of_eight;
  } seen[] = {{8, 4, 2, 1}, {16, 8, 4, 2}, {64, 32, 16, 8}, {72, 36, 18, 9}, {120, 60, 30, 15}, {128, 64, 30, 15}};
  for (const auto& one : seen) {
    const Machine part = with_overrides(load_machine("h200-calibrated"), {one.sms, 0, 0, 0});
    EXPECT_EQ(part.sms, one.sms);
    EXPECT_EQ(resident_workers(part, 2, 1), one.of_two) << one.sms;
    EXPECT_EQ(resident_workers(part, 4, 1), one.of_four) << one.sms;
    EXPECT_EQ(resident_workers(part, 8, 1), one.of_eight) << one.sms;
  }
}

TEST(Partition, FillsGpcAfterGpc) {
  const Machine whole = load_machine("h200-calibrated");
  const Machine part = with_overrides(whole, {24, 0, 0, 0});
  std::vector<std::int32_t> sm_of_cta;
  place_first_wave(part, 1, 24, sm_of_cta);
  EXPECT_EQ(std::set<std::int32_t>(sm_of_cta.begin(), sm_of_cta.end()).size(), 24U);
  for (std::size_t cta = 0; cta < sm_of_cta.size(); ++cta) {
    EXPECT_EQ(part.gpc_of_sm[static_cast<std::size_t>(sm_of_cta[cta])], static_cast<std::int32_t>(cta / 8));
  }
  // SMs 2n and 2n + 1 stay one TPC, behind one port.
  for (std::size_t sm = 0; sm < part.port_of_sm.size(); sm += 2) {
    EXPECT_EQ(part.port_of_sm[sm], part.port_of_sm[sm + 1]);
  }
  EXPECT_EQ(part.dram_bytes_per_second, whole.dram_bytes_per_second);
  EXPECT_DOUBLE_EQ(part.mma_flops, whole.mma_flops * 24 / 132);
}

TEST(Partition, KnowsNothingByNumberOfMoreSmsOrOfOtherMachines) {
  const Machine more = with_overrides(load_machine("h200-calibrated"), {200, 0, 0, 0});
  EXPECT_TRUE(more.port_of_sm.empty() && more.gpc_of_sm.empty() && more.dispatch_order.empty());
  EXPECT_EQ(std::accumulate(more.sms_per_gpc.begin(), more.sms_per_gpc.end(), 0), 200);
  const Machine fewer = with_overrides(load_machine("a100"), {20, 0, 0, 0});
  EXPECT_EQ(std::accumulate(fewer.sms_per_gpc.begin(), fewer.sms_per_gpc.end(), 0), 20);
}

}  // namespace
}  // namespace splitwave::simulator
