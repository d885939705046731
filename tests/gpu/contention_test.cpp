// SPDX-License-Identifier: Apache-2.0
#include "gpu/contention.h"

#include <gtest/gtest.h>

#include <numeric>

namespace splitwave::gpu {
namespace {

double workers_of(const std::vector<PortLoad>& loads) {
  return std::accumulate(loads.begin(), loads.end(), 0.0,
                         [](double sum, const PortLoad& load) { return sum + load.workers; });
}

ContentionLimits limits() {
  ContentionLimits l;
  l.worker_rate = 100;
  l.worker_bytes_in_flight = 1;
  l.memory_bytes_per_second = [](double) { return 2400.0; };
  l.fair_bytes = 10;
  l.port_bytes = 20;
  l.port_excess = 0.1;
  return l;
}

TEST(Contention, EveryCtaHasAPort) {
  for (std::int32_t ctas = 1; ctas <= 1000; ++ctas) {
    const std::vector<PortLoad> loads = h200_port_loads(ctas);
    EXPECT_DOUBLE_EQ(workers_of(loads), ctas) << ctas;
    for (const PortLoad& load : loads) EXPECT_GT(load.ports, 0) << ctas;
  }
}

TEST(Contention, AFullDeviceHasAsManyCtasAsSms) {
  // 18 ports of six SMs, 6 of four.
  for (const PortLoad& load : h200_port_loads(132)) {
    EXPECT_DOUBLE_EQ(load.workers / load.ports, load.ports == 6 ? 4 : 6);
  }
}

TEST(Contention, AloneAtItsOwnRate) {
  Contention machine(limits(), {{1, 1}});
  machine.start(2, 500);
  EXPECT_TRUE(machine.run_to_end_of_list());
  EXPECT_DOUBLE_EQ(machine.now(), 2 + 500 / 100.0);
  EXPECT_FALSE(machine.run_to_end_of_list());
}

TEST(Contention, FewBytesInFlightShareEqually) {
  ContentionLimits few = limits();
  few.fair_bytes = 1000;
  few.port_bytes = 2000;
  Contention machine(few, {{1, 24}, {1, 24}});
  for (int i = 0; i < 48; ++i) machine.start(0, 50);
  for (int i = 0; i < 48; ++i) {
    EXPECT_TRUE(machine.run_to_end_of_list());
    EXPECT_DOUBLE_EQ(machine.now(), 1);  // 2,400 bytes in all
  }
}

TEST(Contention, ACrowdedPortEndsLast) {
  // 12 and 36 workers with 60 bytes each behind one port each, 1,200 a second for each port: the few take 100 of it
  // each and are done at 0.6; of the many 36 * 60 - 0.6 * 1200 = 1,440 bytes are left, which take 0.6 at 2,400.
  Contention machine(limits(), {{1, 12}, {1, 36}});
  for (int i = 0; i < 48; ++i) machine.start(0, 60);
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(machine.run_to_end_of_list());
  EXPECT_NEAR(machine.now(), 0.6, 1e-12);
  while (machine.run_to_end_of_list()) {
  }
  EXPECT_NEAR(machine.now(), 1.2, 1e-12);
}

TEST(Contention, AFreeWorkerTakesTheNextList) {
  Contention machine(limits(), {{1, 1}});
  machine.start(0, 100);
  EXPECT_TRUE(machine.run_to_end_of_list());
  machine.start(0.5, 200);
  EXPECT_TRUE(machine.run_to_end_of_list());
  EXPECT_DOUBLE_EQ(machine.now(), 1 + 0.5 + 2);
}

}  // namespace
}  // namespace splitwave::gpu
