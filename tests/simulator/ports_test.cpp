// SPDX-License-Identifier: Apache-2.0
#include "simulator/ports.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace splitwave::simulator {
namespace {

/// Ports of three, three and two SMs.
Machine eight_sms() {
  Machine machine;
  machine.sms = 8;
  machine.port_of_sm = {0, 0, 0, 1, 1, 1, 2, 2};
  return machine;
}

double total(const std::array<StreamClass, 2>& classes) {
  return classes[0].ctas * classes[0].rate + classes[1].ctas * classes[1].rate;
}

TEST(Ports, AreAlikeByTheirSmsAndCtas) {
  const std::vector<std::int32_t> all = {0, 1, 2, 3, 4, 5, 6, 7};
  const PortKinds full = port_kinds(eight_sms(), all);
  EXPECT_EQ(full.ports, (std::vector<double>{1, 2}));  // one of two SMs, two of three
  EXPECT_EQ(full.kind_of_sm, (std::vector<std::int32_t>{1, 1, 1, 1, 1, 1, 0, 0}));
  const std::vector<std::int32_t> some = {0, 3, 4};
  EXPECT_EQ(port_kinds(eight_sms(), some).ports.size(), 3U);
  EXPECT_EQ(port_kinds(Machine{}, some).ports, (std::vector<double>{1}));
}

TEST(Ports, ShareASaturatedMemoryEquallyAndLoseNothing) {
  MemoryLaw law;
  law.bytes_in_flight = 1e6;  // 132 MB in flight: queues everywhere
  std::array classes = {StreamClass{24, 1e12, 10e9}, StreamClass{108, 1e12, 10e9}};
  const std::array ports = {6.0, 18.0};
  share_by_ports(law, ports, 10e9, classes);
  EXPECT_NEAR(total(classes), 1320e9, 1);
  EXPECT_NEAR(classes[0].rate * 24 / 6, classes[1].rate * 108 / 18, 1);  // each port the same
  EXPECT_NEAR(classes[0].rate / classes[1].rate, 1.5, 1e-9);
}

TEST(Ports, LeaveWhatKeepsFewRequestsWaiting) {
  MemoryLaw law;
  law.bytes_in_flight = 32e3;  // 4 MB in all
  std::array classes = {StreamClass{24, 1e12, 10e9}, StreamClass{108, 1e12, 10e9}};
  const std::array ports = {6.0, 18.0};
  share_by_ports(law, ports, 10e9, classes);
  EXPECT_EQ(classes[0].rate, 10e9);
  law.bytes_in_flight = 1e6;  // ... or CTAs that can hardly take more than they get
  for (StreamClass& one : classes) one.cap = 10e9;
  share_by_ports(law, ports, 10e9, classes);
  EXPECT_EQ(classes[1].rate, 10e9);
}

TEST(Ports, PassOnWhatAPortCannotUse) {
  MemoryLaw law;
  law.bytes_in_flight = 1e6;
  std::array classes = {StreamClass{4, 12e9, 10e9}, StreamClass{100, 1e12, 10e9}};
  const std::array ports = {6.0, 18.0};
  share_by_ports(law, ports, 10e9, classes);
  EXPECT_LE(classes[0].rate, 12e9);
  EXPECT_NEAR(total(classes), 1040e9, 1);
}

}  // namespace
}  // namespace splitwave::simulator
