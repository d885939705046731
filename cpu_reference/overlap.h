// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace splitwave::cpu_reference {

/// The p with which memory time m and arithmetic time c per byte come to (m^p + c^p)^(1/p) = both: 1 if they follow
/// each other, more the better they overlap. Within kLeastOverlap, of requests that arithmetic holds up, and
/// kMostOverlap, the greater of the two alone.
inline constexpr double kLeastOverlap = 0.5;
inline constexpr double kMostOverlap = 16;
double overlap_exponent(double memory, double arithmetic, double both);

}  // namespace splitwave::cpu_reference
