// SPDX-License-Identifier: Apache-2.0
// fp32 to 16 bits and back, without branches, so that loops over rows vectorise.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace splitwave::workloads {

/// bf16 bits of `value`, to nearest with ties to even; a NaN stays one.
inline std::uint16_t bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
  const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return static_cast<std::uint16_t>(nan ? (bits >> 16 | 0x40U) : rounded);
}

/// f16 bits of `value`, to nearest with ties to even; subnormals are kept, a NaN stays one.
inline std::uint16_t f16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  // Normal: exponent bias 127 becomes 15, 23 fraction bits become 10.
  const std::uint32_t normal = (magnitude - (112U << 23) + 0xfffU + (magnitude >> 13 & 1U)) >> 13;
  // Subnormal: adding 0.5 puts the 10 bits at the end of the fraction, and the adder rounds them.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F);
  std::uint32_t result = magnitude < (113U << 23) ? subnormal : normal;
  result = magnitude >= 0x477ff000U ? 0x7c00U : result;  // 65520 and more round to infinity
  result = magnitude > 0x7f800000U ? 0x7e00U : result;
  return static_cast<std::uint16_t>(sign | result);
}

/// The float on the way from a double to a type of at most 22 bits: `value` itself, or of the two floats about it the
/// one with an odd last bit (FLT_MAX beyond it; a NaN stays one), so that rounding to nearest from there is as from
/// `value`. Rounded to nearest twice, 1 + 2^-11 + 2^-40 becomes a tie of f16, and 1. Boldo and Melquiond, "Emulation of
/// FMA and Correctly Rounded Sums: Proved Algorithms Using Rounding to Odd", IEEE Trans. Computers 57(4), 2008.
inline float rounded_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const double magnitude = std::abs(value);
  const double nearest_magnitude = std::abs(static_cast<double>(nearest));
  if ((bits & 1U) == 1U || magnitude == nearest_magnitude || std::isnan(value)) return nearest;
  // Floats of one sign are in the order of their bits.
  return std::bit_cast<float>(magnitude > nearest_magnitude ? bits + 1 : bits - 1);
}

inline float from_bf16_bits(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline float from_f16_bits(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t magnitude = bits & 0x7fffU;
  const std::uint32_t rebiased = (magnitude << 13) + (112U << 23);
  // Subnormals have no hidden one; infinity and NaN keep all exponent bits set.
  const float subnormal = static_cast<float>(magnitude) * 0x1p-24F;
  std::uint32_t result = magnitude < 0x400U ? std::bit_cast<std::uint32_t>(subnormal) : rebiased;
  result = magnitude >= 0x7c00U ? 0x7f800000U | magnitude << 13 : result;
  return std::bit_cast<float>(sign | result);
}

}  // namespace splitwave::workloads
