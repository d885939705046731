// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "workloads/rounding.h"
#include "workloads/tensors.h"

namespace splitwave::cpu_reference {
namespace {

using base::ElementType;
using workloads::Dtype;

struct Format {
  int fraction_bits = 0;
  int least_exponent = 0;  ///< of normal numbers
};

Format format(ElementType type) {
  switch (type) {
    case ElementType::f16:
      return {10, -14};
    case ElementType::bf16:
      return {7, -126};
    case ElementType::f32:
      return {23, -126};
    case ElementType::f64:
      return {52, -1022};
    case ElementType::i64:
    case ElementType::i32:
    case ElementType::boolean:
      break;
  }
  throw std::logic_error("rounding to " + base::to_string(type));
}

/// Bits as an integer that grows with the number.
template <typename Signed, typename Unsigned>
Signed ordered(Unsigned bits) {
  const auto value = static_cast<Signed>(bits);
  return value < 0 ? static_cast<Signed>(std::numeric_limits<Signed>::min() - value) : value;
}

std::int64_t order(ElementType type, double value) {
  if (type == ElementType::f64) return ordered<std::int64_t>(std::bit_cast<std::uint64_t>(value));
  const auto narrow = static_cast<float>(value);
  if (type == ElementType::f32) return ordered<std::int32_t>(std::bit_cast<std::uint32_t>(narrow));
  const Dtype dtype = type == ElementType::f16 ? Dtype::f16 : Dtype::bf16;
  return ordered<std::int16_t>(static_cast<std::uint16_t>(workloads::round_to_bits(dtype, narrow)));
}

}  // namespace

double unit_roundoff(ElementType type) {
  return std::ldexp(1.0, -format(type).fraction_bits - 1);
}

double half_smallest_step(ElementType type) {
  return std::ldexp(1.0, format(type).least_exponent - format(type).fraction_bits - 1);
}

double smallest_normal(ElementType type) {
  return std::ldexp(1.0, format(type).least_exponent);
}

double rounded(ElementType type, double value) {
  if (type == ElementType::f64) return value;
  if (type == ElementType::f32) return static_cast<float>(value);
  const float odd = workloads::rounded_to_odd(value);
  return type == ElementType::f16 ? workloads::from_f16_bits(workloads::f16_bits(odd))
                                  : workloads::from_bf16_bits(workloads::bf16_bits(odd));
}

std::int64_t ulp_distance(ElementType type, double a, double b) {
  const auto [low, high] = std::minmax({order(type, a), order(type, b)});
  // Of signs that differ, f64 has more numbers between two than 63 bits count.
  const std::uint64_t distance = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return distance > static_cast<std::uint64_t>(kMost) ? kMost : static_cast<std::int64_t>(distance);
}

}  // namespace splitwave::cpu_reference
