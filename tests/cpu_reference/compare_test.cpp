// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/support/tensors.h"

namespace splitwave::cpu_reference {
namespace {

using testing::kInfinity;
using testing::kNan;
using workloads::Dtype;

constexpr double kExactInfinity = std::numeric_limits<double>::infinity();
constexpr double kExactNan = std::numeric_limits<double>::quiet_NaN();

TEST(Compare, NormsOfASmallExample) {
  const Result<double> exact{{3, 4, 0, 10}, {1, -20}};
  const Result<float> result{{3, 4.5F, 0, 9}, {1.25F, -20.5F}};
  const Errors errors = compare(result, exact);
  EXPECT_DOUBLE_EQ(errors.relative_l2, std::sqrt(1.25 / 125));
  EXPECT_DOUBLE_EQ(errors.worst_row_relative_l2, 0.1);
  EXPECT_DOUBLE_EQ(errors.rmse, std::sqrt(1.25 / 4));
  EXPECT_DOUBLE_EQ(errors.max_abs, 1);
  EXPECT_DOUBLE_EQ(errors.lse_max_abs, 0.5);
  EXPECT_DOUBLE_EQ(errors.lse_max_relative, 0.25);
  EXPECT_EQ(errors.mismatched_non_finite, 0);
}

TEST(Compare, AWrongSmallRowIsSeenBesideALargeOne) {
  // The norm of the whole batch accepts an output of zero for a long context beside a short one.
  const Result<double> exact{{1, 1, 1e-3, 1e-3}, {0, 0}};
  const Result<float> result{{1, 1, 0, 0}, {0, 0}};
  const Errors errors = compare(result, exact);
  EXPECT_LT(errors.relative_l2, 8e-3);
  EXPECT_DOUBLE_EQ(errors.worst_row_relative_l2, 1);
  EXPECT_FALSE(acceptable(errors, tolerance(Dtype::bf16)));
}

TEST(Compare, NonFiniteValuesMustAgreeInKindAndPlace) {
  const Result<double> exact{{kExactNan, kExactInfinity, -kExactInfinity, 1}, {-kExactInfinity, kExactNan}};
  const Errors same = compare(Result<float>{{kNan, kInfinity, -kInfinity, 1}, {-kInfinity, kNan}}, exact);
  EXPECT_EQ(same.mismatched_non_finite, 0);
  EXPECT_TRUE(acceptable(same, tolerance(Dtype::f32)));
  const Errors kinds = compare(Result<float>{{kInfinity, -kInfinity, kNan, 1}, {kInfinity, -kInfinity}}, exact);
  EXPECT_EQ(kinds.mismatched_non_finite, 5);
  const Errors hidden = compare(Result<float>{{0, 0, 0, 1}, {0, 0}}, exact);
  EXPECT_EQ(hidden.mismatched_non_finite, 5);
  EXPECT_FALSE(acceptable(hidden, tolerance(Dtype::bf16)));
  const Errors spread = compare(Result<float>{{kNan, kInfinity, -kInfinity, kNan}, {-kInfinity, kNan}}, exact);
  EXPECT_EQ(spread.mismatched_non_finite, 1);
}

TEST(Compare, AnEmptyContextMustGiveExactlyZero) {
  const Result<double> exact{{0, 0}, {-kExactInfinity}};
  EXPECT_TRUE(acceptable(compare(Result<float>{{0, 0}, {-kInfinity}}, exact), tolerance(Dtype::f32)));
  EXPECT_FALSE(acceptable(compare(Result<float>{{0, 1e-30F}, {-kInfinity}}, exact), tolerance(Dtype::bf16)));
  EXPECT_FALSE(acceptable(compare(Result<float>{{0, 0}, {kInfinity}}, exact), tolerance(Dtype::bf16)));
  EXPECT_FALSE(acceptable(compare(Result<float>{{0, 0}, {-1e30F}}, exact), tolerance(Dtype::bf16)));
}

TEST(Compare, ResultsOfDifferentShapesAreABug) {
  const Result<double> exact{{1, 2}, {0}};
  EXPECT_THROW(compare(Result<float>{{1}, {0}}, exact), std::logic_error);
  EXPECT_THROW(compare(Result<float>{{1, 2}, {}}, exact), std::logic_error);
}

TEST(Compare, NothingEqualsNothing) {
  const Errors errors = compare(Result<float>{}, Result<double>{});
  EXPECT_EQ(errors.relative_l2, 0);
  EXPECT_EQ(errors.rmse, 0);
  EXPECT_TRUE(acceptable(errors, tolerance(Dtype::f32)));
}

TEST(Tolerance, AllowsOneRoundingOfWeightsAndOneOfTheOutput) {
  EXPECT_GE(tolerance(Dtype::f16).relative_l2, 2 * std::ldexp(1.0, -11));
  EXPECT_LT(tolerance(Dtype::f16).relative_l2, 3 * std::ldexp(1.0, -11));
  EXPECT_GE(tolerance(Dtype::bf16).relative_l2, 2 * std::ldexp(1.0, -8));
  EXPECT_LT(tolerance(Dtype::bf16).relative_l2, 3 * std::ldexp(1.0, -8));
  EXPECT_LT(tolerance(Dtype::f32).relative_l2, 1e-4);
  EXPECT_THROW(tolerance(Dtype::fp8_e4m3), std::logic_error);
}

TEST(Tolerance, TheLimitItselfIsAccepted) {
  const Tolerance limit{1e-3, 1e-5};
  Errors errors;
  errors.worst_row_relative_l2 = 1e-3;
  errors.lse_max_relative = 1e-5;
  EXPECT_TRUE(acceptable(errors, limit));
  errors.worst_row_relative_l2 = 1.001e-3;
  EXPECT_FALSE(acceptable(errors, limit));
  errors.worst_row_relative_l2 = 0;
  errors.lse_max_relative = 1.001e-5;
  EXPECT_FALSE(acceptable(errors, limit));
}

}  // namespace
}  // namespace splitwave::cpu_reference
