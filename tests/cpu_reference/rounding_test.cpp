// SPDX-License-Identifier: Apache-2.0
// Distances between numbers do not wrap.
#include "cpu_reference/rounding.h"

#include <gtest/gtest.h>

#include <limits>

namespace splitwave::cpu_reference {
namespace {

using base::ElementType;

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
