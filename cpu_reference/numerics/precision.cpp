// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/numerics/precision.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "cpu_reference/attention_case.h"
#include "workloads/rounding.h"

namespace splitwave::cpu_reference::numerics {
namespace {

struct Format {
  int fraction_bits;
  int least_exponent;  ///< of normal numbers
};

Format format(Precision precision) {
  switch (precision) {
    case Precision::e4m3:
      return {3, -6};
    case Precision::bf16:
      return {7, -126};
    case Precision::f16:
      return {10, -14};
    case Precision::f32:
      return {23, -126};
    case Precision::f64:
      return {52, -1022};
    case Precision::input:
      break;
  }
  throw std::logic_error("a precision that is not resolved yet");
}

float to_e4m3(float value) {
  if (std::isnan(value) || value == 0) return value;
  const float magnitude = std::abs(value);
  if (magnitude >= static_cast<float>(kLargestE4m3)) return std::copysign(static_cast<float>(kLargestE4m3), value);
  const float step = std::ldexp(1.0F, std::max(std::ilogb(magnitude), -6) - 3);
  return std::copysign(std::nearbyint(magnitude / step) * step, value);  // to nearest, ties to even, by default
}

}  // namespace

std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::input:
      return "dtype";
    case Precision::e4m3:
      return "e4m3";
    case Precision::bf16:
      return "bf16";
    case Precision::f16:
      return "f16";
    case Precision::f32:
      return "f32";
    case Precision::f64:
      break;
  }
  return "f64";
}

Precision resolved(Precision precision, workloads::Dtype dtype) {
  if (precision != Precision::input) return precision;
  switch (element_type(dtype)) {
    case base::ElementType::f16:
      return Precision::f16;
    case base::ElementType::bf16:
      return Precision::bf16;
    default:
      return Precision::f32;
  }
}

double unit_roundoff(Precision precision) {
  return std::ldexp(1.0, -format(precision).fraction_bits - 1);
}

float round_to(Precision precision, float value) {
  switch (precision) {
    case Precision::e4m3:
      return to_e4m3(value);
    case Precision::bf16:
      return workloads::from_bf16_bits(workloads::bf16_bits(value));
    case Precision::f16:
      return workloads::from_f16_bits(workloads::f16_bits(value));
    case Precision::f32:
    case Precision::f64:
      return value;
    case Precision::input:
      break;
  }
  throw std::logic_error("rounding to a precision that is not resolved yet");
}

double round_to(Precision precision, double value) {
  if (precision == Precision::f64) return value;
  return round_to(precision,
                  precision == Precision::f32 ? static_cast<float>(value) : workloads::rounded_to_odd(value));
}

double rounding_variance(Precision precision, double value) {
  const auto [fraction_bits, least_exponent] = format(precision);
  const double magnitude = std::abs(value);
  if (magnitude == 0) return 0;
  const double step = std::ldexp(1.0, std::max(std::ilogb(magnitude), least_exponent) - fraction_bits);
  return magnitude < step / 2 ? magnitude * magnitude : step * step / 12;
}

}  // namespace splitwave::cpu_reference::numerics
