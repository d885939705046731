// SPDX-License-Identifier: Apache-2.0
#include "studies/energy_fit.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace splitwave::studies {
namespace {

constexpr simulator::EnergyConstants kTrue = {110, 0.5, 25e-12, 8e-12, 2e-12, 0.75e-12};

/// The kinds of work that calibrate measures, with the power that `constants` give.
std::vector<PowerPoint> loads(const simulator::EnergyConstants& constants) {
  std::vector<PowerPoint> points;
  for (const double sms : {1, 33, 66, 132}) {
    points.push_back({sms, 0, 0, 0, 0, 0});
    points.push_back({sms, 0, sms * 70e9, sms * 70e9, 0, 0});
    points.push_back({sms, sms * 34e9, sms * 34e9, sms * 34e9, 0, 0});
    points.push_back({sms, 0, 0, sms * 250e9, sms * 2e12, 0});
    points.push_back({sms, 0, 0, 0, sms * 4.8e12, 0});
  }
  for (PowerPoint& point : points) point.watts = law_watts(constants, point);
  return points;
}

TEST(EnergyFit, FindsTheConstantsThatMadeThePoints) {
  const std::vector<PowerPoint> points = loads(kTrue);
  const simulator::EnergyConstants fit = fit_energy(points);
  EXPECT_NEAR(fit.idle_watts, kTrue.idle_watts, 1e-6);
  EXPECT_NEAR(fit.sm_watts, kTrue.sm_watts, 1e-8);
  EXPECT_NEAR(fit.dram_joules_per_byte, kTrue.dram_joules_per_byte, 1e-19);
  EXPECT_NEAR(fit.l2_joules_per_byte, kTrue.l2_joules_per_byte, 1e-19);
  EXPECT_NEAR(fit.shared_joules_per_byte, kTrue.shared_joules_per_byte, 1e-20);
  EXPECT_NEAR(fit.joules_per_flop, kTrue.joules_per_flop, 1e-20);
  EXPECT_LT(largest_power_error(fit, points), 1e-9);
}

TEST(EnergyFit, ALawIsTheSumOfItsParts) {
  EXPECT_DOUBLE_EQ(law_watts({100, 2, 3e-12, 4e-12, 5e-12, 6e-12}, {10, 1e12, 2e12, 3e12, 4e12, 0}),
                   100 + 20 + 3 + 8 + 15 + 24);
}

TEST(EnergyFit, NoConstantIsBelowZero) {
  simulator::EnergyConstants odd = kTrue;
  odd.sm_watts = -0.1;
  const std::vector<PowerPoint> points = loads(odd);
  const simulator::EnergyConstants fit = fit_energy(points);
  EXPECT_EQ(fit.sm_watts, 0);
  EXPECT_GT(fit.idle_watts, 90);
  EXPECT_GT(fit.dram_joules_per_byte, 0);
  EXPECT_LT(largest_power_error(fit, points), 0.11) << "13 of 130 W are in no constant";
}

TEST(EnergyFit, RefusesPointsThatDetermineNothing) {
  EXPECT_THROW(fit_energy({}), std::invalid_argument);
  EXPECT_THROW(fit_energy(std::vector<PowerPoint>(8, PowerPoint{132, 4e12, 4e12, 4e12, 0, 300})),
               std::invalid_argument);
}

}  // namespace
}  // namespace splitwave::studies
