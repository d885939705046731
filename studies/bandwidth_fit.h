// SPDX-License-Identifier: Apache-2.0
// The constants of the bandwidth law (docs/simulator.md, "How fast it streams") that measured points follow best.
#pragma once

#include <cstdint>
#include <span>

#include "simulator/machine.h"

namespace splitwave::studies {

/// Reading by so many CTAs that spread evenly over the SMs.
struct BandwidthPoint {
  std::int32_t ctas = 0;
  double bytes_in_flight = 0;  ///< of a CTA
  double bytes_per_second = 0;
};

/// What the law says for a point on the machine, in bytes per second of all CTAs.
double law_bandwidth(const simulator::Machine& machine, const BandwidthPoint& point);

/// The machine with those dram_latency, dram_queue_latency, dram_asymptote and dram_bandwidth that make the largest
/// relative error over the points least; dram_bandwidth is not above what was measured. The machine says how many SMs
/// there are, and its sm_bandwidth and l2_bandwidth stay. Throws std::invalid_argument if there are fewer than four
/// points.
simulator::Machine fit_memory(simulator::Machine machine, std::span<const BandwidthPoint> points);

/// The dram_queue_latency, in seconds, with which the law's relative error over the points below the plateau is least
/// in the mean, all else being the machine's. Throws std::invalid_argument if there is no such point.
double fit_queue(simulator::Machine machine, std::span<const BandwidthPoint> points);

/// The largest relative error of the law over the points, and where it is.
struct FitError {
  double relative = 0;
  BandwidthPoint at;
};
FitError largest_error(const simulator::Machine& machine, std::span<const BandwidthPoint> points);

}  // namespace splitwave::studies
