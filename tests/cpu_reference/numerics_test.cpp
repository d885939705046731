// SPDX-License-Identifier: Apache-2.0
// Roundings by hand, each on a case so small that it can be computed on paper.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "cpu_reference/compare.h"
#include "cpu_reference/numerics/emulate.h"
#include "cpu_reference/numerics/precision.h"
#include "cpu_reference/oracle.h"
#include "schedules/schedules.h"
#include "tests/support/battery.h"
#include "tests/support/tensors.h"

namespace splitwave::cpu_reference::numerics {
namespace {

using workloads::Dtype;

/// One query of 1, scale 1, so that keys are scores; keys and values of one element each.
struct Toy {
  std::vector<float> keys;
  std::vector<float> values;
};

/// Output of the toy in double, by a plan of `splits` items of tiles of `tile` tokens. Head dim 8, zeros behind.
double run(const Toy& toy, const Rounding& rounding, std::int32_t tile = 128, std::int32_t splits = 1) {
  using workloads::Tensor;
  const auto tokens = static_cast<std::int32_t>(toy.keys.size());
  const workloads::Workload workload = testing::plain_workload(Dtype::f16, 1, 1, 8, 1, tokens);
  const workloads::Tensors tensors = testing::tensors_with(
      workload, [&](Tensor tensor, std::int32_t, std::int32_t position, std::int32_t, std::int32_t element) {
        if (element != 0) return 0.0F;
        if (tensor == Tensor::q) return 1.0F;
        return (tensor == Tensor::k ? toy.keys : toy.values)[static_cast<std::size_t>(position)];
      });
  schedules::Grid grid;
  grid.tile_kv = tile;
  const schedules::Plan plan = schedules::make_plan("fixed-split:" + std::to_string(splits), workload, grid);
  return emulate(workload, tensors, plan, rounding).output.at(0);
}

double half(double value) {
  return round_to(Precision::f16, value);
}

/// Roundings of a scheme, but for the output, which stays in fp32 so that the others can be seen.
Rounding inner(std::string_view scheme) {
  Rounding rounding = find_scheme(scheme).rounding;
  rounding.output = Precision::f32;
  return rounding;
}

constexpr double kFp32 = 3e-7;
const double kP = std::exp(-1.0);  // weight of a score that is 1 below the largest

TEST(Precision, E4m3IsTheNearestOfAllItsNumbers) {
  std::vector<double> all;
  for (int bits = 0; bits < 127; ++bits) {  // 127 is NaN
    const int exponent = bits >> 3;
    const int fraction = bits & 7;
    all.push_back(exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10));
  }
  EXPECT_EQ(all.back(), 448);
  for (int i = 0; i < 11000; ++i) {
    const double x = 460 * std::pow(i / 11000.0, 3);  // many small ones, where steps are small
    double nearest = 0;
    for (const double each : all) nearest = std::abs(each - x) < std::abs(nearest - x) ? each : nearest;
    const double rounded = round_to(Precision::e4m3, static_cast<float>(x));
    EXPECT_EQ(std::abs(rounded - static_cast<float>(x)), std::abs(nearest - static_cast<float>(x))) << x;
    EXPECT_EQ(round_to(Precision::e4m3, -x), -round_to(Precision::e4m3, x));
  }
  for (const double each : all) EXPECT_EQ(round_to(Precision::e4m3, each), each);
}

TEST(Precision, E4m3TiesGoToEvenAndLargeOnesSaturate) {
  EXPECT_EQ(round_to(Precision::e4m3, 1.0625), 1.0);
  EXPECT_EQ(round_to(Precision::e4m3, 1.1875), 1.25);
  EXPECT_EQ(round_to(Precision::e4m3, std::ldexp(1.0, -10)), 0);
  EXPECT_EQ(round_to(Precision::e4m3, std::ldexp(3.0, -10)), std::ldexp(1.0, -8));
  EXPECT_EQ(round_to(Precision::e4m3, 1e9), 448);
  EXPECT_EQ(round_to(Precision::e4m3, -std::numeric_limits<double>::infinity()), -448);
  EXPECT_TRUE(std::isnan(round_to(Precision::e4m3, std::nan(""))));
}

TEST(Precision, VarianceIsThatOfRandomLastBits) {
  for (const Precision precision : {Precision::e4m3, Precision::bf16, Precision::f16, Precision::f32}) {
    // Whole steps between numbers of one distance to their neighbours, and between subnormal ones.
    for (const double begin : {1.0, 3.0, std::ldexp(4.0, precision == Precision::e4m3 ? -9 : -24)}) {
      double sum = 0;
      constexpr int kCount = 20000;
      for (int i = 0; i < kCount; ++i) {
        const double x = begin * (1 + 0.25 * (i + 0.5) / kCount);
        sum += std::pow(round_to(precision, x) - x, 2);
      }
      EXPECT_NEAR(sum / kCount / rounding_variance(precision, begin), 1, 0.01)
          << to_string(precision) << " from " << begin;
    }
  }
  EXPECT_EQ(rounding_variance(Precision::f16, 0), 0);
  EXPECT_EQ(rounding_variance(Precision::f16, 1e-9), 1e-18);  // becomes 0
}

TEST(Rounding, PIsRoundedAndTheRowSumIsNot) {
  const Toy toy{{0, -1}, {0, 1}};
  EXPECT_NE(half(kP), kP);
  EXPECT_NEAR(run(toy, inner("flashmla")), half(kP) / (1 + kP), kFp32);
  EXPECT_NEAR(run(toy, inner("lean")), half(kP) / (1 + kP), kFp32);
  EXPECT_NEAR(run(toy, inner("f32")), kP / (1 + kP), kFp32);
  EXPECT_GT(std::abs(half(kP) - kP) / (1 + kP), 3 * kFp32);  // so that the two can be told apart
}

TEST(Rounding, TensorCoresOfFlashInferAddRoundedWeights) {
  const Toy toy{{0, -1, -1, -1, -1, -1, -1, -1}, {1, 0, 0, 0, 0, 0, 0, 0}};
  EXPECT_NEAR(run(toy, inner("flashinfer")), 1 / (1 + 7 * half(kP)), kFp32 / 10);
  EXPECT_NEAR(run(toy, inner("fa3")), 1 / (1 + 7 * kP), kFp32 / 10);
  EXPECT_NEAR(run(toy, inner("flashinfer:cuda-cores")), 1 / (1 + 7 * kP), kFp32 / 10);
}

TEST(Rounding, StandardAttentionRoundsNormalisedWeightsAndScores) {
  EXPECT_NEAR(run({{0, -1}, {0, 1}}, inner("standard")), half(kP / (1 + kP)), 1e-9);
  // A query of 1 and a softmax scale of 1 leave scores as they are: they are f16 already.
  Rounding coarse = inner("standard");
  coarse.scores = Precision::e4m3;
  coarse.weights = Precision::f32;
  EXPECT_NEAR(run({{0, -1.1F}, {0, 1}}, coarse), std::exp(-1.125) / (1 + std::exp(-1.125)), kFp32);
}

TEST(Rounding, TheOrderOfTilesDecidesWhatWeightsAreRelativeTo) {
  // From the last to the first, the lesser score comes first: its weight is 1 there, and is rescaled in fp32 later.
  const Toy toy{{0, -1}, {0, 1}};
  EXPECT_NEAR(run(toy, inner("fa3"), 1), kP / (1 + kP), kFp32);
  EXPECT_NEAR(run(toy, inner("flashmla"), 1), half(kP) / (1 + kP), kFp32);
}

TEST(Rounding, AHalfPrecisionAccumulatorLosesSmallTerms) {
  const Toy toy{{0, 0, 0}, {2048, 1, 1}};
  EXPECT_NEAR(run(toy, inner("f16-accumulator")), 2048.0 / 3, 1e-3);
  EXPECT_NEAR(run(toy, inner("fa3")), 2050.0 / 3, 1e-3);
  Rounding by_instruction = inner("f16-accumulator");
  by_instruction.instruction_tokens = 16;  // 2048 + 1 + 1 is added up before it is rounded
  EXPECT_NEAR(run(toy, by_instruction), 2050.0 / 3, 1e-3);
}

TEST(Rounding, PartialsAreRoundedInMemory) {
  const Toy toy{{0, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0}};  // two splits of three tokens
  EXPECT_NEAR(run(toy, inner("flashinfer"), 3, 2), half(1.0 / 3) / 2, kFp32 / 10);
  for (const char* scheme : {"fa2", "fa3", "lean", "lean:ort", "flashmla", "etap"}) {
    EXPECT_NEAR(run(toy, inner(scheme), 3, 2), 1.0 / 6, kFp32 / 10) << scheme;
  }
  Rounding raw = inner("lean");
  raw.partials = Precision::e4m3;  // sums of weighted rows, not their means: 1 is a number of e4m3
  EXPECT_NEAR(run(toy, raw, 3, 2), 1.0 / 6, kFp32 / 10);
}

TEST(Rounding, LsesAndMergeWeightsOfOrtAreHalves) {
  const Toy toy{{10, 10, 10, 10}, {1, 1, 1, 0}};  // splits of three tokens and of one, with LSEs 10 + ln 3 and 10
  const double lse = half(10 + std::log(3.0)) - 10;
  const double all = std::log(std::exp(lse) + 1);
  EXPECT_NEAR(run(toy, inner("lean:ort"), 3, 2), half(std::exp(lse - all)), kFp32);
  EXPECT_NEAR(run(toy, inner("fa2"), 3, 2), 0.75, kFp32);
  EXPECT_GT(std::abs(half(std::exp(lse - all)) - 0.75), 3 * kFp32);
}

TEST(Rounding, E4m3OperandsHaveAFactorPerBlock) {
  const Toy toy{{0, 0}, {1, 0.3F}};
  const double value = round_to(Precision::e4m3, half(0.3) * 448) / 448;
  EXPECT_NEAR(run(toy, inner("fa3-fp8")), (1 + value) / 2, kFp32);
  EXPECT_NEAR(value, 128.0 / 448, 1e-12);
  // A value of 448 in another tile changes the factor of a tensor, but not that of a block.
  const Toy two_tiles{{0, 0, -50}, {0, 0.3F, 448}};
  EXPECT_NEAR(run(two_tiles, inner("fa3-fp8:coherent"), 2), round_to(Precision::e4m3, 448.0) * half(0.3) / 448 / 2,
              kFp32);
  EXPECT_NEAR(run(two_tiles, inner("fa3-fp8:per-tensor"), 2), round_to(Precision::e4m3, half(0.3)) / 2, kFp32);
}

TEST(Rounding, WeightsInE4m3AreHeldTimes256) {
  // e^-7 is below half of e4m3's least number, 2^-9; times 2^8 it is not.
  const Toy toy{{0, -7}, {0, 1}};
  const double weight = std::exp(-7.0);
  EXPECT_NEAR(run(toy, inner("fa3-fp8:coherent")), round_to(Precision::e4m3, 256 * weight) / 256 / (1 + weight), 1e-7);
  Rounding unscaled = inner("fa3-fp8:coherent");
  unscaled.weight_exponent = 0;
  EXPECT_EQ(run(toy, unscaled), 0);
}

TEST(Rounding, IncoherentProcessingIsOrthogonal) {
  const workloads::Workload workload = testing::decode("w", testing::geometry(4, 2, 64), {300, 17});
  const workloads::Tensors tensors = workloads::make_tensors(workload, 1 << 30);
  const schedules::Plan plan = schedules::make_plan("fixed-split:2", workload, {});
  Rounding rotated = find_scheme("f64").rounding;
  rotated.incoherent = true;
  const Errors errors = compare(emulate(workload, tensors, plan, rotated), attend(workload, tensors));
  EXPECT_LT(errors.worst_row_relative_l2, 1e-13);
  EXPECT_GT(errors.worst_row_relative_l2, 0);
}

TEST(Rounding, IncoherentProcessingWantsAPowerOfTwo) {
  const workloads::Workload workload = testing::decode("w", testing::geometry(2, 2, 80), {30});
  const workloads::Tensors tensors = workloads::make_tensors(workload, 1 << 30);
  const schedules::Plan plan = schedules::make_plan("fixed-split:1", workload, {});
  try {
    emulate(workload, tensors, plan, find_scheme("fa3-fp8").rounding);
    FAIL() << "accepted";
  } catch (const base::InputError& error) {
    EXPECT_NE(std::string(error.what()).find("head_dim 80"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("powers of two"), std::string::npos) << error.what();
  }
}

TEST(Schemes, NamesAreUniqueAndUnknownOnesAreToldAll) {
  for (const Scheme& scheme : schemes()) EXPECT_EQ(&find_scheme(scheme.name), &scheme) << scheme.name;
  try {
    find_scheme("fa5\n");
    FAIL() << "accepted";
  } catch (const base::InputError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("'fa5\\x0a' is not known"), std::string::npos) << what;
    for (const Scheme& scheme : schemes()) EXPECT_NE(what.find(scheme.name), std::string::npos) << what;
  }
}

}  // namespace
}  // namespace splitwave::cpu_reference::numerics
