// SPDX-License-Identifier: Apache-2.0
// The energy constants (docs/simulator.md, "Energy") that measured power follows best.
#pragma once

#include <span>

#include "simulator/machine.h"

namespace splitwave::studies {

/// Steady work and the power that it took.
struct PowerPoint {
  double sms = 0;  ///< that hold a CTA
  double dram_bytes_per_second = 0;
  double l2_bytes_per_second = 0;      ///< between L2 and the SMs, those from DRAM too
  double shared_bytes_per_second = 0;  ///< into and out of shared memory
  double flops = 0;                    ///< of matrix instructions, FLOP/s
  double watts = 0;
};

/// What the constants say for a point.
double law_watts(const simulator::EnergyConstants& constants, const PowerPoint& point);

/// The constants with the least sum of squared relative errors; none is below 0: one that would be is 0, and the others
/// are found again. Throws std::invalid_argument if the points do not determine them: fewer than six, or kinds of work
/// that never differ.
simulator::EnergyConstants fit_energy(std::span<const PowerPoint> points);

/// Largest relative error of the constants over the points.
double largest_power_error(const simulator::EnergyConstants& constants, std::span<const PowerPoint> points);

}  // namespace splitwave::studies
