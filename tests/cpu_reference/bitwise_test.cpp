// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/bitwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/support/battery.h"

namespace splitwave::cpu_reference {
namespace {

/// Two requests of 2 and 1 queries, 4 heads of 8 elements: 12 rows.
workloads::Workload two_requests() {
  return testing::with_queries(testing::decode("two", testing::geometry(4, 2, 8), {16, 16}), {2, 1});
}

Result<float> ones() {
  Result<float> result;
  result.output.assign(12 * 8, 1);
  result.lse.assign(12, 1);
  return result;
}

TEST(Bitwise, EqualResultsHaveNoDifference) {
  EXPECT_FALSE(bit_difference(all_rows(ones()), all_rows(ones())));
  EXPECT_FALSE(bit_difference({}, {}));
}

TEST(Bitwise, OneUnitInTheLastPlaceIsFoundAndNamed) {
  const Result<float> one = ones();
  Result<float> other = ones();
  other.output[9 * 8 + 5] = std::nextafter(1.0F, 2.0F);
  other.output[11 * 8] = 3;
  const auto difference = bit_difference(all_rows(one), all_rows(other));
  ASSERT_TRUE(difference);
  EXPECT_EQ(difference->count, 2);
  const Coordinates at = coordinates(two_requests(), 0, *difference);
  EXPECT_EQ(at.request, 1);
  EXPECT_EQ(at.query, 0);
  EXPECT_EQ(at.head, 1);
  EXPECT_EQ(at.element, 5);
  EXPECT_EQ(to_string(*difference, at),
            "output of request 1, query 0, head 1, element 5: 1 (0x3f800000) and 1.0000001 (0x3f800001)");
}

TEST(Bitwise, TheLseOfAnEarlierRowComesFirst) {
  Result<float> other = ones();
  other.output[9 * 8] = 2;
  other.lse[6] = 2;
  const auto difference = bit_difference(all_rows(ones()), all_rows(other));
  ASSERT_TRUE(difference);
  EXPECT_TRUE(difference->in_lse);
  EXPECT_EQ(to_string(*difference, coordinates(two_requests(), 0, *difference)),
            "LSE of request 0, query 1, head 2: 1 (0x3f800000) and 2 (0x40000000)");
}

TEST(Bitwise, SignsOfZeroAndNansCountByTheirBits) {
  Result<float> one = ones();
  Result<float> other = ones();
  one.output[0] = other.output[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(bit_difference(all_rows(one), all_rows(other)));
  one.output[1] = 0.0F;
  other.output[1] = -0.0F;
  EXPECT_EQ(bit_difference(all_rows(one), all_rows(other))->element, 1);
}

TEST(Bitwise, RowsOfARequestAreItsOwn) {
  Result<float> result = ones();
  for (int row = 0; row < 12; ++row) result.lse[row] = static_cast<float>(row);
  const ResultRows rows = rows_of_request(two_requests(), result, 1);
  EXPECT_EQ(rows.lse.size(), 4U);
  EXPECT_EQ(rows.lse.front(), 8);
  EXPECT_EQ(rows.output.size(), 4U * 8);
  result.lse.pop_back();
  EXPECT_THROW(rows_of_request(two_requests(), result, 1), std::logic_error);
  EXPECT_THROW(bit_difference(all_rows(result), all_rows(ones())), std::logic_error);
}

}  // namespace
}  // namespace splitwave::cpu_reference
