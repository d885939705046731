// SPDX-License-Identifier: Apache-2.0
// Vectors of 16 floats. Only for translation units compiled with AVX-512 F, BW, DQ and VL.
#pragma once

// GCC before 13 warns of its own AVX-512 header (GCC bug 105593), wherever it is inlined.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace splitwave::cpu_reference {
namespace {

struct Simd {
  using Vec = __m512;
  static constexpr int kWidth = 16;
  static constexpr int kAccumulators = 16;  ///< vectors that a loop keeps in registers, of 32

  static Vec zero() { return _mm512_setzero_ps(); }
  static Vec set1(float x) { return _mm512_set1_ps(x); }
  static Vec load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Vec x) { _mm512_storeu_ps(p, x); }
  static Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
  static Vec sub(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
  static Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
  /// a * b + c.
  static Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
  /// The greater; b if either is NaN.
  static Vec max(Vec a, Vec b) { return _mm512_max_ps(a, b); }

  static Vec load_f16(const std::uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static Vec load_bf16(const std::uint16_t* p) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }

  /// Stops the compiler from reading x from memory at each of its uses.
  static void keep_in_register(Vec& x) { asm("" : "+v"(x)); }

  static Vec round(Vec x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  /// mantissa * 2^exponent for integral exponents in [-126, 127].
  static Vec scale_by_power(Vec mantissa, Vec exponent) { return _mm512_scalef_ps(mantissa, exponent); }
  /// 0 where x < limit, else value (also where x is NaN).
  static Vec zero_below(Vec x, Vec limit, Vec value) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, limit, _CMP_NLT_UQ), value);
  }

  static float sum(Vec x) { return _mm512_reduce_add_ps(x); }
  static float greatest(Vec x) { return _mm512_reduce_max_ps(x); }

  /// Element i of the result is the sum of a[i]'s elements.
  static Vec sums(const Vec (&a)[kWidth]) {
    Vec pairs[8];
    for (std::size_t i = 0; i < 8; ++i) {
      pairs[i] = add(_mm512_unpacklo_ps(a[2 * i], a[2 * i + 1]), _mm512_unpackhi_ps(a[2 * i], a[2 * i + 1]));
    }
    Vec quads[4];
    for (std::size_t i = 0; i < 4; ++i) {
      const __m512d low = _mm512_castps_pd(pairs[2 * i]);
      const __m512d high = _mm512_castps_pd(pairs[2 * i + 1]);
      quads[i] = add(_mm512_castpd_ps(_mm512_unpacklo_pd(low, high)), _mm512_castpd_ps(_mm512_unpackhi_pd(low, high)));
    }
    const Vec first =
        add(_mm512_shuffle_f32x4(quads[0], quads[1], 0x88), _mm512_shuffle_f32x4(quads[0], quads[1], 0xdd));
    const Vec second =
        add(_mm512_shuffle_f32x4(quads[2], quads[3], 0x88), _mm512_shuffle_f32x4(quads[2], quads[3], 0xdd));
    return add(_mm512_shuffle_f32x4(first, second, 0x88), _mm512_shuffle_f32x4(first, second, 0xdd));
  }
};

}  // namespace
}  // namespace splitwave::cpu_reference
