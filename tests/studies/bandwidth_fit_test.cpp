// SPDX-License-Identifier: Apache-2.0
#include "studies/bandwidth_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "studies/minimize.h"

namespace splitwave::studies {
namespace {

simulator::Machine machine_with(double latency_ns, double queue_ns, double asymptote, double plateau) {
  simulator::Machine machine = simulator::load_machine("h200");
  machine.dram_latency_seconds = latency_ns * 1e-9;
  machine.dram_queue_seconds = queue_ns * 1e-9;
  machine.dram_asymptote = asymptote * 1e9;
  machine.dram_bytes_per_second = plateau * 1e9;
  return machine;
}

/// The points that calibrate measures, as the machine has them; each is off by `noise` in one direction or the other.
std::vector<BandwidthPoint> points_of(const simulator::Machine& machine, double noise) {
  std::vector<BandwidthPoint> points;
  double sign = 1;
  for (const double bytes : {32768.0, 65536.0}) {
    for (const std::int32_t ctas : {1, 8, 16, 32, 48, 64, 80, 96, 112, 128, 132, 198, 264, 396, 528}) {
      BandwidthPoint point{ctas, bytes, 0};
      point.bytes_per_second = law_bandwidth(machine, point) * (1 + sign * noise);
      points.push_back(point);
      sign = -sign;
    }
  }
  return points;
}

void expect_recovered(const simulator::Machine& truth, double noise, double tolerance) {
  const std::vector<BandwidthPoint> points = points_of(truth, noise);
  // The fit starts from the points alone: the machine's own constants must not help.
  simulator::Machine start = truth;
  start.dram_latency_seconds = start.dram_queue_seconds = start.dram_asymptote = start.dram_bytes_per_second = 1;
  const simulator::Machine fitted = fit_memory(start, points);
  EXPECT_LE(largest_error(fitted, points).relative, noise + 1e-4);
  EXPECT_NEAR(fitted.dram_latency_seconds / truth.dram_latency_seconds, 1, tolerance);
  EXPECT_NEAR(fitted.dram_bytes_per_second / truth.dram_bytes_per_second, 1, tolerance);
  // W and M make up for each other: what they are for is the latency halfway to the plateau.
  const auto added = [&](const simulator::Machine& machine) {
    const double rho = truth.dram_bytes_per_second / 2 / machine.dram_asymptote;
    return machine.dram_latency_seconds + machine.dram_queue_seconds * rho / (1 - rho);
  };
  EXPECT_NEAR(added(fitted) / added(truth), 1, tolerance);
}

TEST(BandwidthFit, RecoversTheConstantsOfExactPoints) {
  expect_recovered(machine_with(911.9, 115.5, 4929, 4567), 0, 0.002);
  expect_recovered(machine_with(410, 50, 4975, 4607), 0, 0.002);
  expect_recovered(machine_with(750, 300, 2200, 1700), 0, 0.002);
}

TEST(BandwidthFit, NoiseOfOnePercentMovesThemLittle) {
  expect_recovered(machine_with(911.9, 115.5, 4929, 4567), 0.01, 0.02);
}

TEST(BandwidthFit, IsNoWorseThanTheConstantsThatAreShipped) {
  // The points of tests/simulator/bandwidth_test.cpp with 32 KiB, which h200.json's constants meet within 2.7 %.
  const std::vector<std::pair<int, double>> table = {{1, 36},     {8, 289},    {16, 580},   {32, 1117},  {48, 1623},
                                                     {64, 2092},  {80, 2503},  {96, 2886},  {112, 3216}, {128, 3498},
                                                     {132, 3557}, {198, 4194}, {264, 4463}, {396, 4563}, {528, 4567}};
  std::vector<BandwidthPoint> points;
  for (const auto& [ctas, rate] : table) points.push_back({ctas, 32768, rate * 1e9});
  const simulator::Machine h200 = simulator::load_machine("h200");
  EXPECT_LT(largest_error(fit_memory(h200, points), points).relative, largest_error(h200, points).relative);
}

TEST(BandwidthFit, ThePlateauIsNotAboveWhatWasMeasured) {
  // Too few CTAs to fill the memory: nothing but the largest rate bounds the plateau.
  std::vector<BandwidthPoint> points = points_of(machine_with(900, 100, 5000, 4500), 0);
  std::erase_if(points, [](const BandwidthPoint& point) { return point.ctas > 32; });
  double most = 0;
  for (const BandwidthPoint& point : points) most = std::max(most, point.bytes_per_second);
  EXPECT_LE(fit_memory(simulator::load_machine("h200"), points).dram_bytes_per_second, most);
}

/// How latency grows is told by the points below the plateau alone.
TEST(BandwidthFit, TheQueueOfOneSetOfPoints) {
  const simulator::Machine truth = machine_with(430, 36, 4929, 4567);
  std::vector<BandwidthPoint> points = points_of(truth, 0.01);
  for (BandwidthPoint& point : points) {
    if (point.bytes_per_second >= 0.98 * truth.dram_bytes_per_second) point.bytes_per_second *= 0.9;
  }
  EXPECT_NEAR(fit_queue(machine_with(430, 120, 4929, 4567), points) * 1e9, 36, 6);
  std::erase_if(points, [](const BandwidthPoint& point) { return point.ctas < 500; });
  for (BandwidthPoint& point : points) point.bytes_per_second = truth.dram_bytes_per_second;
  EXPECT_THROW(fit_queue(truth, points), std::invalid_argument);
}

TEST(BandwidthFit, FewerPointsThanConstantsAreRefused) {
  EXPECT_THROW(fit_memory(simulator::load_machine("h200"), std::vector<BandwidthPoint>(3)), std::invalid_argument);
}

TEST(Minimize, FindsTheLowestEdgeOfAMaximum) {
  // Three planes that meet in (1, 2): a simplex that only slides along one edge stops before.
  const auto f = [](const std::vector<double>& x) {
    const double a = x[0] - 1;
    const double b = x[1] - 2;
    return std::max({a + 2 * b, a - 2 * b, -3 * a}) + 5;
  };
  const std::vector<double> best = minimize(f, {-4, 9}, 0.5);
  EXPECT_NEAR(best[0], 1, 1e-4);
  EXPECT_NEAR(best[1], 2, 1e-4);
  EXPECT_THROW(minimize(f, {}, 1), std::invalid_argument);
}

}  // namespace
}  // namespace splitwave::studies
