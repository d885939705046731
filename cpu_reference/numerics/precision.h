// SPDX-License-Identifier: Apache-2.0
// The number formats that attention kernels round to between input and output.
#pragma once

#include <string_view>

#include "workloads/workload.h"

namespace splitwave::cpu_reference::numerics {

/// Largest finite e4m3.
constexpr double kLargestE4m3 = 448;

/// input: whatever the workload's tensors are stored in. e4m3: the OCP 8-bit format with 4 bits of exponent and 3 of
/// fraction, no infinity, and beyond +-448 the nearest of these (as conversions on GPUs saturate).
enum class Precision { input, e4m3, bf16, f16, f32, f64 };

/// "f16", or "dtype" for input.
std::string_view to_string(Precision precision);

/// The precision itself, or the dtype's for input. Throws std::logic_error for fp8 dtypes, which have no tensors.
Precision resolved(Precision precision, workloads::Dtype dtype);

/// Largest relative error of rounding a normal number: e4m3 2^-4, bf16 2^-8, f16 2^-11, f32 2^-24, f64 2^-53. Not for
/// input.
double unit_roundoff(Precision precision);

/// `value` to nearest with ties to even, in one rounding; e4m3 saturates, the others go to infinity beyond their range,
/// and a NaN stays one. Throws std::logic_error for input.
double round_to(Precision precision, double value);
/// The same of a float: f32 and f64 leave it as it is.
float round_to(Precision precision, float value);

/// Expected squared error of rounding numbers near `value`, if their last bits are random: a twelfth of the squared
/// distance between neighbours there; `value` squared where all round to 0. Not for input.
double rounding_variance(Precision precision, double value);

/// The same for numbers that are not known, over (u value)^2: the mean over a uniform logarithm. For y in [1, 2) it is
/// 1 / (3 y^2), and the mean of 1 / y^2 by dy / (y ln 2) is 3 / (8 ln 2).
inline constexpr double kMeanSquare = 0.1803368801111204;

}  // namespace splitwave::cpu_reference::numerics
