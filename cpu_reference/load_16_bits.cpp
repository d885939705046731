// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/load_16_bits.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "workloads/rounding.h"

namespace splitwave::cpu_reference {
namespace {

// Elements of unaligned memory, copied to where the compiler knows how they lie.
constexpr std::int32_t kBlock = 64;

template <float (*value)(std::uint16_t)>
void load(const std::byte* from, std::int32_t count, double* to) {
  std::array<std::uint16_t, kBlock> bits;
  for (std::int32_t begin = 0; begin < count; begin += kBlock) {
    const std::int32_t size = std::min(kBlock, count - begin);
    std::memcpy(bits.data(), from + std::ptrdiff_t{2} * begin, sizeof(std::uint16_t) * static_cast<std::size_t>(size));
    for (std::int32_t i = 0; i < size; ++i) to[begin + i] = value(bits[static_cast<std::size_t>(i)]);
  }
}

using Load = void (*)(const std::byte* from, std::int32_t count, double* to);

// flatten compiles load() anew for each set of instructions.
#if defined(__x86_64__)
template <float (*value)(std::uint16_t)>
__attribute__((flatten, target("avx512f,avx512bw,avx512dq,avx512vl"))) void load_avx512(const std::byte* from,
                                                                                        std::int32_t count,
                                                                                        double* to) {
  load<value>(from, count, to);
}

template <float (*value)(std::uint16_t)>
__attribute__((flatten, target("avx2"))) void load_avx2(const std::byte* from, std::int32_t count, double* to) {
  load<value>(from, count, to);
}
#endif

template <float (*value)(std::uint16_t)>
Load fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return load_avx512<value>;
  }
  if (__builtin_cpu_supports("avx2")) return load_avx2<value>;
#endif
  return load<value>;
}

}  // namespace

void load_f16(const std::byte* from, std::int32_t count, double* to) {
  static const Load best = fastest<workloads::from_f16_bits>();
  best(from, count, to);
}

void load_bf16(const std::byte* from, std::int32_t count, double* to) {
  static const Load best = fastest<workloads::from_bf16_bits>();
  best(from, count, to);
}

}  // namespace splitwave::cpu_reference
