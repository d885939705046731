// SPDX-License-Identifier: Apache-2.0
#include "simulator/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

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

}  // namespace
}  // namespace splitwave::simulator
