// SPDX-License-Identifier: Apache-2.0
// Rounding to the types that kernels store.
#pragma once

#include <cstdint>

#include "base/array.h"

namespace splitwave::cpu_reference {

/// Half the distance from 1 to the next number: f16 2^-11, bf16 2^-8, f32 2^-24, f64 2^-53.
double unit_roundoff(base::ElementType type);

/// Half the distance between subnormal numbers: the least absolute rounding error that is allowed.
double half_smallest_step(base::ElementType type);

double smallest_normal(base::ElementType type);

/// The nearest number of the type, ties to even; inf beyond its range.
double rounded(base::ElementType type, double value);

/// Numbers of the type between two numbers of it, both finite: 0 for the same, 1 for neighbours. At most 2^63 - 1,
/// which f64 goes beyond.
std::int64_t ulp_distance(base::ElementType type, double a, double b);

}  // namespace splitwave::cpu_reference
