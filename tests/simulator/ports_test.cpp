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
  const PortKinds full = port_kinds(eight_sms(), all, false);
  EXPECT_EQ(full.ports, (std::vector<double>{1, 2}));  // one of two SMs, two of three
  EXPECT_EQ(full.kind_of_sm, (std::vector<std::int32_t>{1, 1, 1, 1, 1, 1, 0, 0}));
  const std::vector<std::int32_t> some = {0, 3, 4};
  EXPECT_EQ(port_kinds(eight_sms(), some, false).ports.size(), 3U);
  EXPECT_EQ(port_kinds(Machine{}, some, false).ports, (std::vector<double>{1}));
}

TEST(Ports, OfEachSmAreAlikeByItsCtas) {
  const std::vector<std::int32_t> ctas = {0, 1, 2, 0};
  const PortKinds kinds = sm_kinds(4, ctas);
  EXPECT_EQ(kinds.ports, (std::vector<double>{1, 2, 1}));  // none, one and two CTAs
  EXPECT_EQ(kinds.kind_of_sm, (std::vector<std::int32_t>{2, 1, 1, 0}));
  EXPECT_TRUE(kinds.sides.empty());
}

TEST(Ports, OfAGpcTakeInTogetherWhatItLetsThrough) {
  Machine machine = eight_sms();
  machine.gpc_of_sm = {0, 0, 0, 0, 0, 0, 1, 1};
  const std::vector<std::int32_t> all = {0, 1, 2, 3, 4, 5, 6, 7};
  const PortKinds kinds = port_kinds(machine, all, false, true);
  EXPECT_EQ(kinds.gpcs, (std::vector<std::int32_t>{1, 0}));
  std::array classes = {StreamClass{2, 90, 0, 0}, StreamClass{6, 90, 0, 1}, StreamClass{0, 90, 0, 0},
                        StreamClass{2, 10, 0, 1}};
  cap_by_gpcs(kinds, 240, classes);
  EXPECT_EQ(classes[0].cap, 90);
  EXPECT_EQ(classes[1].cap, 30);
  EXPECT_EQ(classes[3].cap, 10);
  cap_by_gpcs(PortKinds{{2}, {}, {}, {}}, 1, classes);
  EXPECT_EQ(classes[0].cap, 90) << "nothing is known of GPCs";
}

TEST(Ports, SetSmsApartByHowManyShareThem) {
  EXPECT_EQ(port_spread(Machine{}), 0);
  Machine machine;
  machine.port_of_sm = {0, 0, 1, 1};
  EXPECT_NEAR(port_spread(machine), 0, 1e-9);
  machine.port_of_sm = {0, 0, 0, 1};  // rates of 1/3, 1/3, 1/3 and 1: mean 1/2, from which they are 1/6 and 1/2
  EXPECT_NEAR(port_spread(machine), 0.5, 1e-12);
}

TEST(Ports, ShareASaturatedMemoryEquallyAndLoseNothing) {
  MemoryLaw law;
  law.plateau = 4.567e12;
  law.bytes_in_flight = 1e6;  // 132 MB in flight: queues everywhere
  std::array classes = {StreamClass{24, 1e12, 10e9, 0}, StreamClass{108, 1e12, 10e9, 1}};
  const PortKinds ports{{6, 18}, {}, {}, {}};
  share_by_ports(law, ports, 10e9, classes);
  EXPECT_NEAR(total(classes), 1320e9, 1);
  EXPECT_NEAR(classes[0].rate * 24 / 6, classes[1].rate * 108 / 18, 1);  // each port the same
  EXPECT_NEAR(classes[0].rate / classes[1].rate, 1.5, 1e-9);
}

TEST(Ports, LeaveWhatKeepsFewRequestsWaiting) {
  MemoryLaw law;
  law.plateau = 4.567e12;
  law.bytes_in_flight = 32e3;  // 4 MB in all
  std::array classes = {StreamClass{24, 1e12, 10e9, 0}, StreamClass{108, 1e12, 10e9, 1}};
  const PortKinds ports{{6, 18}, {}, {}, {}};
  share_by_ports(law, ports, 10e9, classes);
  EXPECT_EQ(classes[0].rate, 10e9);
  law.bytes_in_flight = 1e6;  // ... or CTAs that can hardly take more than they get
  for (StreamClass& one : classes) one.cap = 10e9;
  share_by_ports(law, ports, 10e9, classes);
  EXPECT_EQ(classes[1].rate, 10e9);
}

TEST(Ports, PassOnWhatAPortCannotUse) {
  MemoryLaw law;
  law.plateau = 4.567e12;
  law.bytes_in_flight = 1e6;
  std::array classes = {StreamClass{4, 12e9, 10e9, 0}, StreamClass{100, 1e12, 10e9, 1}};
  const PortKinds ports{{6, 18}, {}, {}, {}};
  share_by_ports(law, ports, 10e9, classes);
  EXPECT_LE(classes[0].rate, 12e9);
  EXPECT_NEAR(total(classes), 1040e9, 1);
}

/// Two ports of two SMs on each side.
Machine two_sides() {
  Machine machine;
  machine.sms = 8;
  machine.port_of_sm = {0, 0, 1, 1, 2, 2, 3, 3};
  machine.side_of_sm = {0, 0, 0, 0, 1, 1, 1, 1};
  machine.gpc_of_sm = {0, 0, 0, 0, 1, 1, 1, 1};
  return machine;
}

TEST(Sides, ArePartOfAKindWhereTheyDifferOrListsWait) {
  const std::vector<std::int32_t> even = {0, 1, 4, 5};
  EXPECT_TRUE(port_kinds(two_sides(), even, false).sides.empty());
  EXPECT_EQ(port_kinds(two_sides(), even, false).ports, (std::vector<double>{2, 2}));
  EXPECT_EQ(port_kinds(two_sides(), even, true).sides, (std::vector<std::int32_t>{0, 1, 0, 1}));
  EXPECT_EQ(port_kinds(two_sides(), even, false, true).sides.size(), 4U) << "CTAs side by side may have much more";
  const std::vector<std::int32_t> uneven = {0, 1, 2, 4};
  const PortKinds kinds = port_kinds(two_sides(), uneven, false);
  EXPECT_EQ(kinds.sides, (std::vector<std::int32_t>{1, 0, 1, 0}));
  EXPECT_EQ(kinds.kind_of_sm, (std::vector<std::int32_t>{3, 3, 1, 1, 2, 2, 0, 0}));
}

TEST(Sides, LetNoMoreThroughThanTheirShareAndLeaveTheRestToTheOther) {
  const PortKinds kinds{{12, 12}, {0, 1}, {}, {}};
  MemoryLaw law;
  law.plateau = 4.567e12;
  law.latency_seconds = 1e-6;
  law.bytes_in_flight = 64e3;  // 5 MB in all: every CTA gets the same
  std::array classes = {StreamClass{60, 1e12, 50e9, 0}, StreamClass{20, 1e12, 50e9, 1}};
  share_by_sides(law, kinds, 2.5e12, 50e9, classes);
  EXPECT_NEAR(classes[0].rate * 60, 2.5e12, 1);
  EXPECT_NEAR(classes[1].rate, 64e9, 1);  // as fast as its own requests come back
  law.bytes_in_flight = 128e3;
  classes = {StreamClass{60, 1e12, 50e9, 0}, StreamClass{20, 1e12, 50e9, 1}};
  share_by_sides(law, kinds, 2.5e12, 50e9, classes);
  EXPECT_NEAR(total(classes), 4e12, 1);
  EXPECT_NEAR(classes[0].rate * 60 / (classes[1].rate * 20), 1, 0.03);  // requests queue: sides get the same
}

TEST(Sides, LeaveWhatKeepsFewRequestsWaiting) {
  const PortKinds kinds{{12, 12}, {0, 1}, {}, {}};
  MemoryLaw law;
  law.plateau = 4.567e12;
  law.latency_seconds = 1e-6;
  law.bytes_in_flight = 32e3;
  std::array classes = {StreamClass{40, 1e12, 30e9, 0}, StreamClass{20, 1e12, 30e9, 1}};
  share_by_sides(law, kinds, 2.5e12, 30e9, classes);
  EXPECT_EQ(classes[0].rate, 30e9);
  share_by_sides(law, PortKinds{{24}, {}, {}, {}}, 1e9, 30e9, classes);  // nothing is known of sides
  EXPECT_EQ(classes[0].rate, 30e9);
}

TEST(Sides, GiveACtaNoMoreThanItsCap) {
  const PortKinds kinds{{12, 12}, {0, 1}, {}, {}};
  MemoryLaw law;
  law.plateau = 4.567e12;
  law.latency_seconds = 1e-6;
  law.bytes_in_flight = 64e3;
  // Of side 1 half of the CTAs take 45e9 at most: the others get what these leave.
  std::array classes = {StreamClass{60, 1e12, 50e9, 0}, StreamClass{10, 1e12, 50e9, 1}, StreamClass{0, 1, 0, 0},
                        StreamClass{10, 45e9, 45e9, 1}};
  share_by_sides(law, kinds, 2.9e12, 50e9, classes);
  EXPECT_NEAR(classes[0].rate * 60, 2.9e12, 1);
  EXPECT_NEAR(classes[1].rate, 60e9, 1e6);
  EXPECT_EQ(classes[3].rate, 45e9);
}

}  // namespace
}  // namespace splitwave::simulator
