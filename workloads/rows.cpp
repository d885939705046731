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

template <bool kOutliers>
void write_block(std::uint64_t key, std::int32_t begin, std::int32_t count, Dtype dtype, std::byte* out) {
  std::array<float, kBlock> values;
  for (std::int32_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = element_value(key, static_cast<std::uint32_t>(begin + i), kOutliers);
  }
  store(dtype, values.data(), count, out);
}

using WriteBlock = void (*)(std::uint64_t key, std::int32_t begin, std::int32_t count, Dtype dtype, std::byte* out);

// The hash is ten times faster with vector multiplications and bit counts, which the baseline x86-64 lacks, and
// rounding with vectors that select. flatten compiles write_block anew for each set of instructions; chosen at run
// time, so that one binary runs everywhere.
#if defined(__x86_64__)
__attribute__((flatten, target("avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,popcnt"))) void write_normal_avx512(
    std::uint64_t key, std::int32_t begin, std::int32_t count, Dtype dtype, std::byte* out) {
  write_block<false>(key, begin, count, dtype, out);
}

__attribute__((flatten, target("popcnt"))) void write_normal_popcnt(std::uint64_t key, std::int32_t begin,
                                                                    std::int32_t count, Dtype dtype, std::byte* out) {
  write_block<false>(key, begin, count, dtype, out);
}
#endif

WriteBlock fastest_normal() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    return write_normal_avx512;
  }
  if (__builtin_cpu_supports("popcnt")) return write_normal_popcnt;
#endif
  return write_block<false>;
}

}  // namespace

void write_row(std::uint64_t key, std::int32_t count, Distribution distribution, Dtype dtype, std::byte* out) {
  static const WriteBlock normal = fastest_normal();
  const WriteBlock write = distribution == Distribution::normal ? normal : write_block<true>;
  for (std::int32_t begin = 0; begin < count; begin += kBlock) {
    write(key, begin, std::min(kBlock, count - begin), dtype, out + begin * bytes_per_element(dtype));
  }
}

}  // namespace splitwave::workloads
