// SPDX-License-Identifier: Apache-2.0
// What every microbenchmark must show on any device, whatever its speed.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/error.h"
#include "device_fixture.h"
#include "gpu/microbenchmarks/bandwidth.h"
#include "gpu/microbenchmarks/launch_times.h"
#include "gpu/microbenchmarks/load.h"
#include "gpu/microbenchmarks/topology.h"
#include "gpu/sm_partition.h"

namespace splitwave::testing {
namespace {

class Microbenchmarks : public DeviceTest {};

double rate(const std::vector<gpu::ReadPoint>& points, std::int32_t ctas, std::int64_t bytes_in_flight) {
  for (const gpu::ReadPoint& one : points) {
    if (one.ctas == ctas && one.bytes_in_flight == bytes_in_flight) return one.rate.median;
  }
  ADD_FAILURE() << ctas << " CTAs of " << bytes_in_flight << " bytes were not measured";
  return 0;
}

TEST_F(Microbenchmarks, FewCtasReadInProportionToTheirNumberAndWindow) {
  const std::vector<gpu::ReadPoint> points = gpu::stream_memory(false);
  EXPECT_NEAR(rate(points, 16, 16384) / rate(points, 8, 16384), 2, 0.1);
  EXPECT_NEAR(rate(points, 8, 32768) / rate(points, 8, 16384), 2, 0.3);
  for (const gpu::ReadPoint& one : points) {
    EXPECT_GT(one.rate.p20, 0);
    EXPECT_LE(one.rate.p20, one.rate.p80);
  }
}

TEST_F(Microbenchmarks, WhatFitsInL2ComesFasterThanWhatDoesNot) {
  const std::vector<gpu::CachedPoint> points = gpu::stream_footprints();
  const auto& [least, most] = std::minmax_element(
      points.begin(), points.end(),
      [](const gpu::CachedPoint& a, const gpu::CachedPoint& b) { return a.footprint_bytes < b.footprint_bytes; });
  EXPECT_GT(least->rate.median, 1.2 * most->rate.median);
  const std::vector<gpu::ReadPoint> alone = gpu::stream_l2_alone();
  EXPECT_GT(alone.front().rate.median, 1.2 * rate(gpu::stream_memory(false), 1, 16384));
}

TEST_F(Microbenchmarks, ReadsFromMemoryTakeLongerThanFromL2) {
  const gpu::ChaseTimes times = gpu::time_chases();
  EXPECT_GT(times.l2, 50e-9);
  EXPECT_GT(times.same_page, 1.3 * times.l2);
  EXPECT_LT(times.far_pages, 20e-6);
  const gpu::BurstTimes bursts = gpu::time_bursts();
  EXPECT_GT(bursts.memory, bursts.l2 + 50e-9);
}

TEST_F(Microbenchmarks, MoreCtasTakeLongerToLaunchAndFlagsLessThanLaunches) {
  const gpu::LaunchTimes launches = gpu::time_launches();
  EXPECT_GT(launches.node_one_cta.median, 100e-9);
  EXPECT_GT(launches.most_ctas.median, 5 * launches.many_ctas.median);
  EXPECT_GT(launches.seconds_per_cta, 0);
  const gpu::SignalTimes signals = gpu::time_signals();
  EXPECT_EQ(signals.flag_round_trips.size(), static_cast<std::size_t>(gpu::current_device().sms - 1));
  for (std::size_t i = 0; i < signals.flag_round_trips.size(); ++i) {
    EXPECT_GT(signals.flag_round_trips[i], 100e-9);
    EXPECT_LT(signals.flag_round_trips[i], 1.2 * signals.ordered_flag_round_trips[i]);
  }
  EXPECT_LT(signals.atomic.median, 1.1 * signals.ordered_atomic.median);
}

TEST_F(Microbenchmarks, MoreWorkTakesMorePower) {
  const std::vector<gpu::LoadPoint> loads = gpu::measure_loads();
  const auto last = [&](const char* work) {
    return *std::find_if(loads.rbegin(), loads.rend(), [&](const gpu::LoadPoint& one) { return one.work == work; });
  };
  for (const char* work : {"hold", "ring", "ring_l2", "multiply", "multiply_shared"})
    EXPECT_EQ(last(work).ctas, gpu::current_device().sms);
  EXPECT_GT(last("ring_l2").l2_bytes_per_second, last("ring").l2_bytes_per_second);
  EXPECT_EQ(last("ring_l2").dram_bytes_per_second, 0);
  EXPECT_GT(last("multiply").flops, last("multiply_shared").flops);
  if (!gpu::energy_joules()) GTEST_SKIP() << "the device has no energy counter";
  EXPECT_GT(*last("ring").watts, *last("hold").watts);
  EXPECT_GT(*last("multiply").watts, *last("hold").watts);
  EXPECT_LT(*last("multiply").watts, 1.1 * *gpu::device_state().power_limit_watts);
}

TEST_F(Microbenchmarks, EveryCtaOfAWaveHasAnSmOfItsOwn) {
  const std::int32_t sms = gpu::current_device().sms;
  for (const std::int32_t ctas : {1, sms / 2, sms}) {
    for (const std::vector<std::int32_t>& placed : gpu::place_ctas(ctas, 1, 2)) {
      EXPECT_EQ(std::set<std::int32_t>(placed.begin(), placed.end()).size(), static_cast<std::size_t>(ctas));
    }
  }
  for (const gpu::ClusterPlaces& places : gpu::place_clusters()) {
    for (const std::vector<std::int32_t>& cluster : places.seen) {
      EXPECT_EQ(std::set<std::int32_t>(cluster.begin(), cluster.end()).size(), static_cast<std::size_t>(places.size));
    }
  }
}

TEST_F(Microbenchmarks, APartHasItsSmsToItself) {
  const std::int32_t all = gpu::current_device().sms;
  if (gpu::current_device().compute_capability != 90 || all < 64) GTEST_SKIP() << "groups of eight are Hopper's";
  std::set<std::int32_t> larger;
  for (const std::int32_t sms : {64, 16}) {
    const gpu::SmPartition part(sms);
    EXPECT_EQ(gpu::current_device().sms, sms);
    const std::vector<std::int32_t> placed = gpu::place_ctas(sms, 1, 1).front();
    const std::set<std::int32_t> seen(placed.begin(), placed.end());
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(sms));
    if (sms == 16) {
      EXPECT_TRUE(std::includes(larger.begin(), larger.end(), seen.begin(), seen.end()));
    }
    larger = seen;
  }
  EXPECT_EQ(gpu::current_device().sms, all);
  EXPECT_THROW(gpu::SmPartition(all + 1), base::InputError);
  EXPECT_THROW(gpu::SmPartition(3), base::InputError);
}

TEST_F(Microbenchmarks, OnlyTheSmsOfTheMaskRead) {
  const std::vector<gpu::PortLaunch> launches = gpu::stream_random_subsets(20);
  double reading = 0;
  for (const gpu::PortLaunch& rates : launches) {
    EXPECT_EQ(rates.size(), static_cast<std::size_t>(gpu::current_device().sms));
    for (const double one : rates) reading += one > 0 ? 1.0 / 20 / static_cast<double>(rates.size()) : 0;
  }
  EXPECT_NEAR(reading, 5.0 / 6, 0.05);
}

}  // namespace
}  // namespace splitwave::testing
