// SPDX-License-Identifier: Apache-2.0
// Doubles go to the types that kernels store in one rounding, and distances between numbers do not wrap.
#include "cpu_reference/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cpu_reference/numerics/precision.h"

namespace splitwave::cpu_reference {
namespace {

using base::ElementType;

constexpr double kBeyond = std::numeric_limits<double>::infinity();

TEST(Rounded, BeyondATieByLessThanAFloatTellsGoesOn) {
  for (const double sign : {1.0, -1.0}) {
    EXPECT_EQ(rounded(ElementType::f16, sign * (1 + 0x1p-11 + 0x1p-40)), sign * (1 + 0x1p-10));
    EXPECT_EQ(rounded(ElementType::f16, sign * (1 + 0x1p-11)), sign);
    EXPECT_EQ(rounded(ElementType::f16, sign * (1 + 0x3p-11 - 0x1p-40)), sign * (1 + 0x1p-10));
    EXPECT_EQ(rounded(ElementType::bf16, sign * (1 + 0x1p-8 + 0x1p-40)), sign * (1 + 0x1p-7));
    EXPECT_EQ(rounded(ElementType::bf16, sign * (1 + 0x1p-8)), sign);
  }
}

TEST(Rounded, TheEndsOfTheRange) {
  EXPECT_EQ(rounded(ElementType::f16, 65520 - 0x1p-30), 65504);
  EXPECT_EQ(rounded(ElementType::f16, 65520), kBeyond);
  EXPECT_EQ(rounded(ElementType::bf16, -1e300), -kBeyond);
  EXPECT_EQ(rounded(ElementType::f32, 1e300), kBeyond);
  EXPECT_EQ(rounded(ElementType::f16, 0x1p-25), 0);
  EXPECT_EQ(rounded(ElementType::f16, 0x1p-25 + 0x1p-60), 0x1p-24);
  EXPECT_EQ(rounded(ElementType::bf16, 1e-300), 0);
  EXPECT_TRUE(std::signbit(rounded(ElementType::bf16, -0.0)));
  EXPECT_TRUE(std::isnan(rounded(ElementType::f16, std::nan(""))));
}

TEST(Rounded, ToTheFormatsInsideAKernelToo) {
  EXPECT_EQ(numerics::round_to(numerics::Precision::f16, 1 + 0x1p-11 + 0x1p-40), 1 + 0x1p-10);
  EXPECT_EQ(numerics::round_to(numerics::Precision::bf16, 1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7);
  EXPECT_EQ(numerics::round_to(numerics::Precision::e4m3, 1.0625 + 0x1p-40), 1.125);
  EXPECT_EQ(numerics::round_to(numerics::Precision::f32, 1 + 0x1p-40), 1);
}

TEST(UlpDistance, CountsAcrossZeroAndStopsAtTheLargest) {
  EXPECT_EQ(ulp_distance(ElementType::f16, 1, 1 + 0x1p-10), 1);
  EXPECT_EQ(ulp_distance(ElementType::f16, -0x1p-24, 0x1p-24), 2);
  EXPECT_EQ(ulp_distance(ElementType::f64, -0.0, 0.0), 0);
  EXPECT_EQ(ulp_distance(ElementType::f64, 1.5, -1.5), 0x7ff0000000000000);
  EXPECT_EQ(ulp_distance(ElementType::f64, 2, -2), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(ulp_distance(ElementType::f64, -2, 2), std::numeric_limits<std::int64_t>::max());
}

}  // namespace
}  // namespace splitwave::cpu_reference
