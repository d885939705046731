// SPDX-License-Identifier: Apache-2.0
// Vectors of 4 floats in the compilers' vector extension: any CPU.
#pragma once

#include <cstdint>

namespace splitwave::cpu_reference {
namespace {

struct Simd {
  using Vec = float __attribute__((vector_size(16)));
  static constexpr int kWidth = 4;
  static constexpr int kAccumulators = 8;  ///< vectors that a loop keeps in registers, of 16

  static Vec zero() { return Vec{}; }
  static Vec set1(float x) { return Vec{x, x, x, x}; }
  static Vec load(const float* p) {
    Vec x;
    __builtin_memcpy(&x, p, sizeof(x));
    return x;
  }
  static void store(float* p, Vec x) { __builtin_memcpy(p, &x, sizeof(x)); }
  static Vec add(Vec a, Vec b) { return a + b; }
  static Vec sub(Vec a, Vec b) { return a - b; }
  static Vec mul(Vec a, Vec b) { return a * b; }
  /// a * b + c, rounded once or twice.
  static Vec fma(Vec a, Vec b, Vec c) { return a * b + c; }
  /// The greater; b if either is NaN.
  static Vec max(Vec a, Vec b) { return a > b ? a : b; }

  static Vec load_f16(const std::uint16_t* p) {
    const Bits half = load_bits(p);
    const Bits infinite = (half & 0x7c00) == 0x7c00 ? Bits{} + 0x7f800000U : Bits{};
    // Exponent and fraction in place, too small by 2^112; the product is exact, for subnormals too.
    const Vec magnitude = as_floats((half & 0x7fff) << 13) * set1(0x1p112F);
    return as_floats(as_bits(magnitude) | infinite | (half & 0x8000) << 16);
  }
  static Vec load_bf16(const std::uint16_t* p) { return as_floats(load_bits(p) << 16); }

  static void keep_in_register(Vec&) {}

  /// To the nearest integer for |x| < 2^22.
  static Vec round(Vec x) { return (x + set1(kRounder)) - set1(kRounder); }
  /// mantissa * 2^exponent for integral exponents in [-126, 127].
  static Vec scale_by_power(Vec mantissa, Vec exponent) {
    return mantissa * as_floats(as_bits(exponent + set1(kRounder + 127)) << 23);
  }
  /// 0 where x < limit, else value (also where x is NaN).
  static Vec zero_below(Vec x, Vec limit, Vec value) { return x < limit ? Vec{} : value; }

  static float sum(Vec x) { return (x[0] + x[1]) + (x[2] + x[3]); }
  static float greatest(Vec x) {
    float most = x[0];
    for (int i = 1; i < kWidth; ++i) most = x[i] > most ? x[i] : most;
    return most;
  }

  /// Element i of the result is the sum of a[i]'s elements.
  static Vec sums(const Vec (&a)[kWidth]) { return Vec{sum(a[0]), sum(a[1]), sum(a[2]), sum(a[3])}; }

 private:
  using Bits = std::uint32_t __attribute__((vector_size(16)));
  static constexpr float kRounder = 12582912.0F;  ///< 1.5 * 2^23: adding it leaves the integer in the low bits

  static Bits load_bits(const std::uint16_t* p) { return Bits{p[0], p[1], p[2], p[3]}; }
  static Bits as_bits(Vec x) { return reinterpret_cast<Bits>(x); }
  static Vec as_floats(Bits x) { return reinterpret_cast<Vec>(x); }
};

}  // namespace
}  // namespace splitwave::cpu_reference
