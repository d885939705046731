// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <limits>

#include "workloads/random.h"
#include "workloads/tensors.h"

namespace splitwave::workloads {
namespace {

std::uint32_t eigen_bits(Dtype dtype, float value) {
  return dtype == Dtype::f16 ? Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(value))
                             : Eigen::numext::bit_cast<std::uint16_t>(Eigen::bfloat16(value));
}

class Rounding : public testing::TestWithParam<Dtype> {};

TEST_P(Rounding, EveryValueOfTheTypeComesBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = from_bits(GetParam(), bits);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(from_bits(GetParam(), round_to_bits(GetParam(), value)))) << bits;
    } else {
      ASSERT_EQ(round_to_bits(GetParam(), value), bits);
    }
  }
}

TEST_P(Rounding, TiesGoToEvenAndNeighboursOfTiesToTheNearest) {
  for (std::uint32_t bits = 0; bits < 65535; ++bits) {
    const float below = from_bits(GetParam(), bits);
    const float above = from_bits(GetParam(), bits + 1);
    if (!std::isfinite(below) || !std::isfinite(above)) continue;
    const auto tie = static_cast<float>((static_cast<double>(below) + above) / 2);
    ASSERT_EQ(round_to_bits(GetParam(), tie), bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(round_to_bits(GetParam(), std::nextafter(tie, below)), bits);
    ASSERT_EQ(round_to_bits(GetParam(), std::nextafter(tie, above)), bits + 1);
  }
}

TEST_P(Rounding, AgreesWithEigenOnAnyBits) {
  RandomStream random(1, 1);
  for (int i = 0; i < 200'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
    if (std::isnan(value)) continue;
    ASSERT_EQ(round_to_bits(GetParam(), value), eigen_bits(GetParam(), value)) << value;
  }
}

INSTANTIATE_TEST_SUITE_P(SixteenBits, Rounding, testing::Values(Dtype::f16, Dtype::bf16),
                         [](const auto& parameter) { return to_string(parameter.param); });

TEST(RoundingEdges, OverflowIsInfinity) {
  EXPECT_EQ(from_bits(Dtype::f16, round_to_bits(Dtype::f16, 65519.0F)), 65504.0F);
  EXPECT_EQ(from_bits(Dtype::f16, round_to_bits(Dtype::f16, 65520.0F)), std::numeric_limits<float>::infinity());
  EXPECT_EQ(from_bits(Dtype::bf16, round_to_bits(Dtype::bf16, std::numeric_limits<float>::max())),
            std::numeric_limits<float>::infinity());
  EXPECT_EQ(from_bits(Dtype::f16, round_to_bits(Dtype::f16, -0.0F)), 0.0F);
  EXPECT_EQ(round_to_bits(Dtype::f16, -0.0F), 0x8000U);
}

TEST(RoundingEdges, SinglePrecisionKeepsItsBits) {
  EXPECT_EQ(round_to_bits(Dtype::f32, 1.1F), std::bit_cast<std::uint32_t>(1.1F));
  EXPECT_EQ(from_bits(Dtype::f32, std::bit_cast<std::uint32_t>(-0.3F)), -0.3F);
}

}  // namespace
}  // namespace splitwave::workloads
