// SPDX-License-Identifier: Apache-2.0
// Which SM gets which CTA, and which SMs belong together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace splitwave::gpu {

/// SM ids of the CTAs 0, 1, ... of a launch with so many, of which at most `per_sm` fit on an SM at once, one list for
/// each of several launches.
std::vector<std::vector<std::int32_t>> place_ctas(std::int32_t ctas, std::int32_t per_sm, std::int32_t launches);

/// Clusters of one size.
struct ClusterPlaces {
  std::int32_t size = 0;
  std::int32_t most_active = 0;                 ///< as the driver says, of CTAs that have an SM each
  std::vector<std::vector<std::int32_t>> seen;  ///< the SM ids of each cluster of some launches
};

/// Sizes of 2, 4, 8 and, where the device has them, 16.
std::vector<ClusterPlaces> place_clusters();

/// Bytes per second of each SM while random SMs read memory, five in six of them, one CTA of 224 KiB each; 0: not among
/// them. So many that nearly every group of SMs behind a port has more requests than the port lets through: with fewer
/// SMs or 128 KiB the groups hardly show.
using PortLaunch = std::vector<double>;
std::vector<PortLaunch> stream_random_subsets(std::int32_t launches);

/// Bytes per second that the SMs of each group take in together while no others read, one CTA of 224 KiB each: the most
/// of some launches. 0 if none of them had one CTA on each SM.
std::vector<double> stream_groups(std::span<const std::vector<std::int32_t>> groups);

}  // namespace splitwave::gpu
