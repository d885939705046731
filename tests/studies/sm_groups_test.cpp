// SPDX-License-Identifier: Apache-2.0
#include "studies/sm_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

namespace splitwave::studies {
namespace {

using Groups = std::vector<std::vector<std::int32_t>>;

TEST(ConnectedGroups, AreNumberedByTheirFirstSm) {
  const Groups companies = {{5, 1}, {3, 4}, {1, 6}};
  EXPECT_EQ(connected_groups(7, companies), (std::vector<std::int32_t>{0, 1, 2, 3, 3, 1, 1}));
  EXPECT_EQ(connected_groups(2, {}), (std::vector<std::int32_t>{0, 1}));
  const Groups unknown = {{0, 7}};
  EXPECT_THROW(connected_groups(7, unknown), std::invalid_argument);
}

TEST(ConnectedGroups, MembersAreTheSmsOfEach) {
  EXPECT_EQ(members_of(std::vector<std::int32_t>{0, 1, 0, 2}), (Groups{{0, 2}, {1}, {3}}));
}

/// SM ids in an order that has nothing to do with ports.
std::vector<std::int32_t> shuffled(std::int32_t sms, std::mt19937& random) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(sms));
  std::iota(ids.begin(), ids.end(), 0);
  std::shuffle(ids.begin(), ids.end(), random);
  return ids;
}

/// Launches in which random SMs read: each port gets at most `port_rate`, an SM at most 1, with noise.
std::vector<std::vector<double>> launches_of(const Groups& ports, std::size_t sms, int count, double port_rate,
                                             double noise, std::mt19937& random) {
  std::bernoulli_distribution reads(5.0 / 6);
  std::normal_distribution<double> off(1, noise);
  std::vector<std::vector<double>> launches;
  for (int i = 0; i < count; ++i) {
    std::vector<double> rates(sms, 0.0);
    for (const std::vector<std::int32_t>& port : ports) {
      std::vector<std::size_t> active;
      for (const std::int32_t sm : port) {
        if (reads(random)) active.push_back(static_cast<std::size_t>(sm));
      }
      for (const std::size_t sm : active) {
        rates[sm] = std::min(1.0, port_rate / static_cast<double>(active.size())) * std::max(0.1, off(random));
      }
    }
    launches.push_back(std::move(rates));
  }
  return launches;
}

Groups ports_of(const std::vector<std::int32_t>& sizes, std::mt19937& random) {
  const std::vector<std::int32_t> ids = shuffled(std::accumulate(sizes.begin(), sizes.end(), 0), random);
  Groups ports;
  auto at = ids.begin();
  for (const std::int32_t size : sizes) {
    ports.emplace_back(at, at + size);
    at += size;
  }
  return ports;
}

TEST(PortGroups, FindsPortsOfSixAndFour) {
  std::mt19937 random(3);
  std::vector<std::int32_t> sizes(18, 6);
  sizes.insert(sizes.end(), 6, 4);
  const Groups ports = ports_of(sizes, random);
  const PortGroups found = port_groups(launches_of(ports, 132, 1000, 2, 0.05, random));
  ASSERT_EQ(found.port_of_sm.size(), 132U);
  EXPECT_EQ(found.port_of_sm, connected_groups(132, ports));
  EXPECT_LT(found.weakest_inside, -0.1);
  EXPECT_GT(found.strongest_outside, found.weakest_inside);
}

/// A port of four SMs that hardly limits them, as on the side of a chip that gets more: their effects lie between those
/// of the other ports and of SMs that share none, with wider gaps among the former.
TEST(PortGroups, FindsAPortThatHardlyLimitsItsSms) {
  for (const unsigned seed : {1U, 2U, 3U, 4U, 5U}) {
    std::mt19937 random(seed);
    const Groups ports = ports_of({6, 6, 6, 6, 6, 6, 6, 6, 6, 4}, random);
    const Groups slow(ports.begin(), ports.end() - 1);
    const Groups fast(ports.end() - 1, ports.end());
    std::vector<std::vector<double>> launches = launches_of(slow, 58, 1000, 2, 0.05, random);
    const std::vector<std::vector<double>> others = launches_of(fast, 58, 1000, 3.4, 0.05, random);
    for (std::size_t i = 0; i < launches.size(); ++i) {
      for (const std::int32_t sm : fast.front()) {
        launches[i][static_cast<std::size_t>(sm)] = others[i][static_cast<std::size_t>(sm)];
      }
    }
    EXPECT_EQ(port_groups(launches).port_of_sm, connected_groups(58, ports)) << seed;
  }
}

TEST(PortGroups, TellsNoneApartWhereSmsDoNotShare) {
  std::mt19937 random(4);
  const Groups alone = ports_of(std::vector<std::int32_t>(60, 1), random);
  EXPECT_TRUE(port_groups(launches_of(alone, 60, 300, 9, 0.05, random)).port_of_sm.empty());
}

TEST(PortGroups, TellsNoneApartInTooMuchNoise) {
  std::mt19937 random(5);
  const Groups ports = ports_of(std::vector<std::int32_t>(12, 4), random);
  EXPECT_TRUE(port_groups(launches_of(ports, 48, 100, 2, 1.5, random)).port_of_sm.empty());
}

TEST(PortGroups, AnSmThatAlwaysReadsIsRefused) {
  const std::vector<std::vector<double>> launches = {{1, 1, 0}, {1, 0, 1}};
  EXPECT_THROW(port_groups(launches), std::invalid_argument);
  EXPECT_THROW(port_groups({}), std::invalid_argument);
}

/// Launches in which one of two sides, drawn each time, gets three fifths of what the memory gives, with noise.
std::vector<std::vector<double>> lopsided_launches(const std::vector<std::int32_t>& side_of_sm, int count, double noise,
                                                   std::mt19937& random) {
  std::bernoulli_distribution reads(5.0 / 6);
  std::bernoulli_distribution first(0.5);
  std::normal_distribution<double> off(1, noise);
  std::vector<std::vector<double>> launches;
  for (int i = 0; i < count; ++i) {
    const std::int32_t ahead = first(random) ? 0 : 1;
    std::vector<double> rates;
    for (const std::int32_t side : side_of_sm) {
      const double share = side == ahead ? 0.6 : 0.4;
      rates.push_back(reads(random) ? share * std::max(0.1, off(random)) : 0);
    }
    launches.push_back(std::move(rates));
  }
  return launches;
}

TEST(SideGroups, RiseAndFallTogether) {
  std::mt19937 random(4);
  std::vector<std::int32_t> sides(60);
  for (std::size_t sm = 0; sm < sides.size(); ++sm) sides[sm] = sm % 7 < 4 ? 0 : 1;
  const SideGroups found = side_groups(lopsided_launches(sides, 400, 0.1, random));
  EXPECT_EQ(found.side_of_sm, sides);
  EXPECT_GT(found.weakest_inside, 0.3);
  EXPECT_LT(found.strongest_outside, -0.3);
  const double most = 0.6 * 5 / 6 * static_cast<double>(std::count(sides.begin(), sides.end(), 0));
  EXPECT_LT(found.bytes_per_second, 1.1 * most);
  EXPECT_GT(found.bytes_per_second, 0.8 * most);
}

TEST(SideGroups, OfAMemoryThatServesAllAlikeAreNotToldApart) {
  std::mt19937 random(5);
  std::vector<std::vector<double>> launches = lopsided_launches(std::vector<std::int32_t>(40, 0), 300, 0.1, random);
  EXPECT_TRUE(side_groups(launches).side_of_sm.empty());
  EXPECT_THROW(side_groups({}), std::invalid_argument);
}

TEST(FillOrder, OfNestedLaunchesIsTheirs) {
  const Groups placements = {{2}, {0, 2}, {2, 3, 0}, {1, 3, 0, 2}};
  const FillOrder found = fill_order(placements);
  EXPECT_EQ(found.order, (std::vector<std::int32_t>{2, 0, 3, 1}));
  EXPECT_EQ(found.agreeing, 4);
}

TEST(FillOrder, CountsLaunchesThatDiffer) {
  const Groups placements = {{1}, {0, 2}, {0, 1, 2}};  // SM 1 leaves and comes back
  EXPECT_EQ(fill_order(placements).agreeing, 2);
}

TEST(FillOrder, CtasThatShareAnSmAreRefused) {
  const Groups shared = {{0}, {1, 1}};
  EXPECT_THROW(fill_order(shared), std::invalid_argument);
  const Groups unknown = {{0}, {1, 2}};
  EXPECT_THROW(fill_order(unknown), std::invalid_argument);
}

}  // namespace
}  // namespace splitwave::studies
