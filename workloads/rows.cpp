// SPDX-License-Identifier: Apache-2.0
#include "workloads/rows.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "workloads/rounding.h"
#include "workloads/tensor_values.h"

namespace splitwave::workloads {

namespace {

// One block of a row stays in the first-level cache between drawing, rounding and storing.
constexpr std::int32_t kBlock = 256;
using Draw = void (*)(std::uint64_t key, std::int32_t begin, std::int32_t count, float* out);

// The hash is ten times faster with vector multiplications and bit counts, which the baseline x86-64 lacks. flatten
// compiles element_value anew for each set of instructions; chosen at run time, so that one binary runs everywhere.
#if defined(__x86_64__)
__attribute__((flatten, target("avx512f,avx512dq,avx512vl,avx512vpopcntdq,popcnt"))) void draw_normal_avx512(
    std::uint64_t key, std::int32_t begin, std::int32_t count, float* out) {
  for (std::int32_t i = 0; i < count; ++i) out[i] = element_value(key, static_cast<std::uint32_t>(begin + i), false);
}

__attribute__((flatten, target("popcnt"))) void draw_normal_popcnt(std::uint64_t key, std::int32_t begin,
                                                                   std::int32_t count, float* out) {
  for (std::int32_t i = 0; i < count; ++i) out[i] = element_value(key, static_cast<std::uint32_t>(begin + i), false);
}
#endif

void draw_normal_baseline(std::uint64_t key, std::int32_t begin, std::int32_t count, float* out) {
  for (std::int32_t i = 0; i < count; ++i) out[i] = element_value(key, static_cast<std::uint32_t>(begin + i), false);
}

void draw_outliers(std::uint64_t key, std::int32_t begin, std::int32_t count, float* out) {
  for (std::int32_t i = 0; i < count; ++i) out[i] = element_value(key, static_cast<std::uint32_t>(begin + i), true);
}

Draw fastest_normal() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return draw_normal_avx512;
  }
  if (__builtin_cpu_supports("popcnt")) return draw_normal_popcnt;
#endif
  return draw_normal_baseline;
}

template <std::uint16_t (*round)(float)>
void store16(const float* values, std::int32_t count, std::byte* out) {
  std::array<std::uint16_t, kBlock> bits;
  for (std::int32_t i = 0; i < count; ++i) bits[static_cast<std::size_t>(i)] = round(values[i]);
  std::memcpy(out, bits.data(), static_cast<std::size_t>(count) * sizeof(std::uint16_t));
}

void store(Dtype dtype, const float* values, std::int32_t count, std::byte* out) {
  if (dtype == Dtype::f16) return store16<f16_bits>(values, count, out);
  if (dtype == Dtype::bf16) return store16<bf16_bits>(values, count, out);
  std::memcpy(out, values, static_cast<std::size_t>(count) * sizeof(float));
}

}  // namespace

void write_row(std::uint64_t key, std::int32_t count, Distribution distribution, Dtype dtype, std::byte* out) {
  static const Draw normal = fastest_normal();
  const Draw draw = distribution == Distribution::normal ? normal : draw_outliers;
  std::array<float, kBlock> values;
  for (std::int32_t begin = 0; begin < count; begin += kBlock) {
    const std::int32_t size = std::min(kBlock, count - begin);
    draw(key, begin, size, values.data());
    store(dtype, values.data(), size, out + begin * bytes_per_element(dtype));
  }
}

}  // namespace splitwave::workloads
