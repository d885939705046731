// SPDX-License-Identifier: Apache-2.0
#include "simulator/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "tests/simulator/toy.h"

namespace splitwave::simulator {
namespace {

TEST(Placement, GoesRoundRobinOverGpcsAndBreadthFirstInside) {
  Machine machine;
  machine.sms = 5;
  machine.sms_per_gpc = {2, 3};  // SMs 0-1 and 2-4
  std::vector<std::int32_t> sms;
  place_first_wave(machine, 2, 10, sms);
  EXPECT_EQ(sms, (std::vector<std::int32_t>{0, 2, 1, 3, 0, 4, 1, 2, 3, 4}));
}

TEST(Placement, OnTheH200Cta128IsTheFirstToShareAnSm) {
  const Machine h200 = load_machine("h200");
  std::vector<std::int32_t> sms;
  place_first_wave(h200, 2, 264, sms);
  ASSERT_EQ(sms.size(), 264U);
  std::map<std::int32_t, std::int32_t> count;
  for (std::int32_t cta = 0; cta < 128; ++cta) EXPECT_EQ(++count[sms[static_cast<std::size_t>(cta)]], 1);
  EXPECT_EQ(sms[128], sms[0]);
  for (std::size_t cta = 128; cta < 264; ++cta) ++count[sms[cta]];
  EXPECT_TRUE(std::all_of(count.begin(), count.end(), [](const auto& sm) { return sm.second == 2; }));
}

// As an H200 (GPU-779e83ec, 2026-11-28) had them in replays of a graph whose launches of 80 CTAs began with GPC 4 and
// whose launches of 126 with GPC 0: %smid of CTAs 0, 1, ...
TEST(Placement, GoesGpcByGpcAsADeviceHadIt) {
  const Machine h200 = load_machine("h200-calibrated");
  std::vector<std::int32_t> sms;
  place_by_gpc(h200, 80, 4, sms);
  EXPECT_EQ(sms, (std::vector<std::int32_t>{
                     124, 125, 126, 127, 128, 129, 130, 131, 8,  9,  24,  40, 56, 70,  84,  98,  112, 10, 11, 26,
                     42,  58,  72,  86,  100, 114, 12,  13,  28, 44, 60,  74, 88, 102, 116, 120, 14,  15, 30, 46,
                     62,  76,  90,  104, 118, 122, 0,   1,   16, 17, 32,  48, 2,  3,   18,  19,  34,  50, 64, 78,
                     92,  106, 4,   5,   20,  36,  52,  66,  80, 94, 108, 6,  7,  22,  38,  54,  68,  82, 96, 110}));
  place_by_gpc(h200, 126, 0, sms);
  EXPECT_EQ(std::vector<std::int32_t>(sms.begin() + 8, sms.begin() + 50),
            (std::vector<std::int32_t>{0,  1,  16, 17, 32, 33, 48, 49, 2,   3,   18,  19,  34, 35,
                                       50, 51, 64, 65, 78, 79, 92, 93, 106, 107, 4,   5,   20, 21,
                                       36, 37, 52, 53, 66, 67, 80, 81, 94,  95,  108, 109, 6,  7}));
  place_by_gpc(h200, 264, 3, sms);
  ASSERT_EQ(sms.size(), 264U);
  for (std::size_t cta = 0; cta < 132; ++cta) EXPECT_EQ(sms[cta], sms[cta + 132]);
}

// 32 requests of 8,192 tokens among 100 short ones: 16 CTAs of one GPC read 1,280 GB/s and no more.
TEST(Placement, LongListsSideBySideTakeLongerThanTheSameFarApart) {
  const Machine h200 = load_machine("h200-calibrated");
  KernelProfile kernel = toy::kernel(1);
  kernel.bytes_in_flight = 131072;
  const auto seconds = [&](auto is_long) {
    std::vector<std::int32_t> contexts;
    for (int i = 0; i < 132; ++i) contexts.push_back(is_long(i) ? 8192 : 16);
    return toy::seconds(contexts, h200, kernel);
  };
  const double together = seconds([](int i) { return i >= 40 && i < 72; });
  const double apart = seconds([](int i) { return i % 4 == 0 && i < 128; });
  EXPECT_GT(together, 16 * 8192 * 1000 / h200.gpc_bytes_per_second);
  EXPECT_GT(together, 1.15 * apart);
  Machine unknown = h200;
  unknown.gpc_of_sm.clear();
  EXPECT_LT(toy::seconds(std::vector<std::int32_t>(132, 8192), h200, kernel),
            1.000001 * toy::seconds(std::vector<std::int32_t>(132, 8192), unknown, kernel));
}

TEST(Placement, CrowdsAGpcWithMoreThanItTakesIn) {
  const Machine h200 = load_machine("h200-calibrated");
  const auto crowds = [&](int length, int longs, double sm_rate, const Machine& machine) {
    std::vector<std::int32_t> contexts(132, 16);
    std::fill_n(contexts.begin(), longs, length);
    return crowds_gpcs(machine, toy::one_cta_each(toy::workload(contexts)), 132, 1000, sm_rate);
  };
  EXPECT_TRUE(crowds(8192, 24, 95e9, h200));
  EXPECT_FALSE(crowds(8192, 132, 95e9, h200)) << "even loads";
  EXPECT_FALSE(crowds(8192, 24, 40e9, h200)) << "no GPC is full of such SMs";
  EXPECT_FALSE(crowds(64, 24, 95e9, h200)) << "little to read";
  EXPECT_FALSE(crowds(8192, 24, 95e9, load_machine("h200"))) << "SMs are not known by number";
}

}  // namespace
}  // namespace splitwave::simulator
