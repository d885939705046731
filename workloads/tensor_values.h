// SPDX-License-Identifier: Apache-2.0
// Q, K and V without storage: every element is a function of (seed, tensor, request, position, head, element), in
// integer arithmetic with one rounding, so that C++ and CUDA, any layout and any order give the same bits.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define SPLITWAVE_HOST_DEVICE __host__ __device__
#else
#define SPLITWAVE_HOST_DEVICE
#endif

namespace splitwave::workloads {

/// Which tensor an element belongs to. MLA has no tensor v: V is the first value_dim elements of k.
enum class Tensor : std::uint32_t { q = 0, k = 1, v = 2 };

/// SplitMix64's finalizer (Steele, Lea, Flood, OOPSLA 2014): a bijection whose output bits all depend on all inputs.
SPLITWAVE_HOST_DEVICE inline std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  x ^= x >> 31;
  return x;
}

/// Key of one row (all elements of one head of one token). position is the query index for q and the KV position for
/// k and v; head is the query head for q and the KV head for k and v.
SPLITWAVE_HOST_DEVICE inline std::uint64_t row_key(std::uint64_t seed, Tensor tensor, std::uint32_t request,
                                                   std::uint32_t position, std::uint32_t head) {
  std::uint64_t key = mix(seed + 0x9e3779b97f4a7c15ULL);
  key = mix(key ^ (static_cast<std::uint64_t>(tensor) << 32 | request));
  return mix(key ^ (static_cast<std::uint64_t>(head) << 32 | position));
}

/// A normal draw as an integer: the number of ones among 64 random bits (binomial, variance 16) plus four uniform
/// 16-bit fractions that smooth it (variance 1/3), centred; one unit is 2^-16 of the binomial's step, the variance
/// 16 + 1/3 steps squared. |result| < 2^22, so its conversion to float is exact. Excess kurtosis is -0.03.
SPLITWAVE_HOST_DEVICE inline std::int32_t normal_steps(std::uint64_t key) {
  const std::uint64_t bits = mix(key + 0x9e3779b97f4a7c15ULL);
  const std::uint64_t fractions = mix(key + 0x3c6ef372fe94f82aULL);
#if defined(__CUDA_ARCH__)
  const std::int32_t ones = __popcll(bits);
#else
  const std::int32_t ones = __builtin_popcountll(bits);
#endif
  const std::int32_t fraction = static_cast<std::int32_t>((fractions & 0xffff) + (fractions >> 16 & 0xffff) +
                                                          (fractions >> 32 & 0xffff) + (fractions >> 48));
  return (ones - 34) * 65536 + fraction + 2;  // the four fractions have mean 2 - 2/65536 steps
}

/// 1 / (65536 * sqrt(16 + 1/3)): turns normal_steps into a variable of variance 1.
inline constexpr float kNormalScale = 3.7755711e-6F;

/// Element `element` of the row: N(0,1), or with `outliers` N(0,1) + N(0,100) * Bernoulli(0.001). Still in fp32; the
/// caller rounds to the workload's dtype (to nearest, ties to even).
SPLITWAVE_HOST_DEVICE inline float element_value(std::uint64_t row, std::uint32_t element, bool outliers) {
  const std::uint64_t key = mix(row + 0x9e3779b97f4a7c15ULL * (static_cast<std::uint64_t>(element) + 1));
  std::int32_t steps = normal_steps(key);
  if (outliers) {
    const std::uint64_t coin = mix(key + 0xdaa66d2c7ddf743fULL);
    if ((coin >> 32) < 4294967U) {  // 0.001 * 2^32
      steps += 10 * normal_steps(key ^ 0xd1b54a32d192ed03ULL);
    }
  }
  return static_cast<float>(steps) * kNormalScale;
}

}  // namespace splitwave::workloads
