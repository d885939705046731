// SPDX-License-Identifier: Apache-2.0
// What measurements say about a chip's SMs by number: which belong together, and in which order they fill.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace splitwave::studies {

/// Numbers from 0 by SM: SMs that some of `companies` have together, directly or through others, have the same one;
/// groups are numbered by their first SM. Throws std::invalid_argument for an SM that does not exist.
std::vector<std::int32_t> connected_groups(std::int32_t sms, std::span<const std::vector<std::int32_t>> companies);

/// The SMs of each group.
std::vector<std::vector<std::int32_t>> members_of(std::span<const std::int32_t> group_of_sm);

/// How strongly SMs take from each other while they read, as a share of an SM's mean rate.
struct PortGroups {
  std::vector<std::int32_t> port_of_sm;  ///< empty if the measurements do not tell groups apart
  double weakest_inside = 0;             ///< effect of two SMs of the same group on each other (negative)
  double strongest_outside = 0;          ///< of two SMs of different groups (negative)
};

/// Groups of SMs that share a port, from launches in which random SMs read as fast as they could: rates by launch and
/// SM, 0 for those that did not read. The effect of j on i is i's mean rate with j at work minus that without, over i's
/// mean. Two SMs are of one group if the mean of both directions lies below a gap among the effects: the widest of
/// those that leave no SM alone and no two SMs in a group that do not affect each other so. None are told apart if no
/// gap at least half as wide as the widest does that. Throws std::invalid_argument if an SM always or never reads.
PortGroups port_groups(std::span<const std::vector<double>> launches);

/// The two sides of the chip that SMs reach the memory by.
struct SideGroups {
  std::vector<std::int32_t> side_of_sm;  ///< 0: that of SM 0; empty if the measurements do not tell two sides apart
  double weakest_inside = 0;             ///< correlation of the rates of two SMs of one side
  double strongest_outside = 0;          ///< of two SMs of different sides
  double bytes_per_second = 0;           ///< of the side that got more in a launch: the median
};

/// From the same launches. A memory that has many requests waiting serves one side more than the other, now this one
/// and now that: two SMs are of one side if their rates, in means of their launch, rise and fall together.
SideGroups side_groups(std::span<const std::vector<double>> launches);

/// The order in which SMs fill.
struct FillOrder {
  std::vector<std::int32_t> order;  ///< of all SMs
  std::int32_t agreeing = 0;        ///< numbers of CTAs whose SMs are the order's first
};

/// From the SMs of launches of 1, 2, ... CTAs, one CTA to an SM, up to one for each SM. Throws std::invalid_argument if
/// launch N has not N different SMs.
FillOrder fill_order(std::span<const std::vector<std::int32_t>> placements);

}  // namespace splitwave::studies
