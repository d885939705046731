// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/load_16_bits.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "workloads/tensors.h"

namespace splitwave::cpu_reference {
namespace {

using workloads::Dtype;

// Every bit pattern, in rows of every length up to a few vectors, beginning at odd addresses too.
void expect_values_of_bits(Dtype dtype, void (*load)(const std::byte*, std::int32_t, double*)) {
  std::vector<std::uint16_t> bits(65536);
  std::iota(bits.begin(), bits.end(), std::uint16_t{0});
  constexpr double kUntouched = 12345;
  std::size_t first = 0;
  for (std::size_t count = 0; first < bits.size(); count = (count + 1) % 200) {
    const std::size_t size = std::min(count, bits.size() - first);
    std::vector<std::byte> from(2 * size + 1);
    std::memcpy(from.data() + 1, bits.data() + first, 2 * size);
    std::vector<double> to(size + 1, kUntouched);
    load(from.data() + 1, static_cast<std::int32_t>(size), to.data());
    for (std::size_t i = 0; i < size; ++i) {
      const double expected = workloads::from_bits(dtype, bits[first + i]);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(to[i])) << bits[first + i];
      } else {
        ASSERT_EQ(std::bit_cast<std::uint64_t>(to[i]), std::bit_cast<std::uint64_t>(expected)) << bits[first + i];
      }
    }
    ASSERT_EQ(to[size], kUntouched);
    first += size;
  }
}

TEST(LoadSixteenBits, GivesTheValuesOfTheirBits) {
  expect_values_of_bits(Dtype::f16, load_f16);
  expect_values_of_bits(Dtype::bf16, load_bf16);
}

}  // namespace
}  // namespace splitwave::cpu_reference
