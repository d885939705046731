// SPDX-License-Identifier: Apache-2.0
// Vectors of 8 floats. Only for translation units compiled with AVX2, FMA and F16C.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace splitwave::cpu_reference {
namespace {

struct Simd {
  using Vec = __m256;
  static constexpr int kWidth = 8;
  static constexpr int kAccumulators = 8;  ///< vectors that a loop keeps in registers, of 16

  static Vec zero() { return _mm256_setzero_ps(); }
  static Vec set1(float x) { return _mm256_set1_ps(x); }
  static Vec load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Vec x) { _mm256_storeu_ps(p, x); }
  static Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
  static Vec sub(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
  static Vec mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
  /// a * b + c.
  static Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
  /// The greater; b if either is NaN.
  static Vec max(Vec a, Vec b) { return _mm256_max_ps(a, b); }

  static Vec load_f16(const std::uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static Vec load_bf16(const std::uint16_t* p) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }

  /// Stops the compiler from reading x from memory again at each of its uses.
  static void keep_in_register(Vec& x) { asm("" : "+x"(x)); }

  static Vec round(Vec x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  /// mantissa * 2^exponent for integral exponents in [-126, 127].
  static Vec scale_by_power(Vec mantissa, Vec exponent) {
    const __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(exponent), _mm256_set1_epi32(127));
    return mul(mantissa, _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23)));
  }
  /// 0 where x < limit, else value (also where x is NaN).
  static Vec zero_below(Vec x, Vec limit, Vec value) {
    return _mm256_and_ps(_mm256_cmp_ps(x, limit, _CMP_NLT_UQ), value);
  }

  static float sum(Vec x) { return sum_of_four(_mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1))); }
  static float greatest(Vec x) {
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
  }

  /// Element i of the result is the sum of a[i]'s elements.
  static Vec sums(const Vec (&a)[kWidth]) {
    const Vec low = _mm256_hadd_ps(_mm256_hadd_ps(a[0], a[1]), _mm256_hadd_ps(a[2], a[3]));
    const Vec high = _mm256_hadd_ps(_mm256_hadd_ps(a[4], a[5]), _mm256_hadd_ps(a[6], a[7]));
    return add(_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31));
  }

 private:
  static float sum_of_four(__m128 x) {
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
  }
};

}  // namespace
}  // namespace splitwave::cpu_reference
