// SPDX-License-Identifier: Apache-2.0
// Whole workloads with the roundings of kernels: against the oracle, against theory, and before verify's judge.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cpu_reference/compare.h"
#include "cpu_reference/numerics/emulate.h"
#include "cpu_reference/numerics/predict_error.h"
#include "cpu_reference/oracle.h"
#include "cpu_reference/verify.h"
#include "schedules/schedules.h"
#include "tests/support/battery.h"
#include "tests/support/tensors.h"
#include "workloads/load.h"

namespace splitwave::cpu_reference::numerics {
namespace {

constexpr std::int64_t kMemory = std::int64_t{1} << 30;

struct Figures {
  Errors errors;
  PredictedError predicted;
};

Figures figures(const workloads::Workload& workload, const std::string& schedule, const Rounding& rounding,
                std::int32_t sms = 8) {
  const workloads::Tensors tensors = workloads::make_tensors(workload, kMemory);
  schedules::Grid grid;
  grid.sms = sms;
  const schedules::Plan plan = schedules::make_plan(schedule, workload, grid);
  return {compare(emulate(workload, tensors, plan, rounding), attend(workload, tensors)),
          predict_error(workload, tensors, plan, rounding)};
}

double rmse(const std::string& spec, const char* schedule, std::string_view scheme) {
  return figures(workloads::load(spec).at(0), schedule, find_scheme(scheme).rounding).errors.rmse;
}

class Battery : public ::testing::TestWithParam<workloads::Workload> {};

TEST_P(Battery, DoubleAndFloatReproduceTheOracle) {
  for (const char* schedule : {"fa2", "fixed-split:3", "lean"}) {
    const Errors in_double = figures(GetParam(), schedule, find_scheme("f64").rounding).errors;
    EXPECT_TRUE(acceptable(in_double, double_tolerance())) << schedule << ' ' << in_double.worst_row_relative_l2;
    const Errors in_float = figures(GetParam(), schedule, find_scheme("f32").rounding).errors;
    EXPECT_TRUE(acceptable(in_float, tolerance(workloads::Dtype::f32)))
        << schedule << ' ' << in_float.worst_row_relative_l2;
  }
}

TEST_P(Battery, KernelsThatRoundPAndTheOutputAreWithinTolerance) {
  for (const char* scheme : {"fa2", "fa3", "lean", "flashmla", "etap"}) {
    const Errors errors = figures(GetParam(), "lean", find_scheme(scheme).rounding).errors;
    EXPECT_TRUE(acceptable(errors, tolerance(workloads::Dtype::f16))) << scheme << ' ' << errors.worst_row_relative_l2;
  }
}

INSTANTIATE_TEST_SUITE_P(Numerics, Battery, ::testing::ValuesIn(splitwave::testing::battery()),
                         [](const auto& one) { return one.param.name; });

TEST(RoundingError, CoarserRoundingsErrMore) {
  const std::string spec = "h=8/8,d=64:1q1s4k";
  const double fa3 = rmse(spec, "fixed-split:1", "fa3");
  EXPECT_GT(rmse(spec, "fixed-split:1", "standard"), 1.5 * fa3);
  EXPECT_GT(rmse(spec, "fixed-split:1", "f16-accumulator"), 10 * fa3);
  EXPECT_GT(rmse(spec, "fixed-split:1", "fa3-fp8"), 50 * fa3);
  EXPECT_LT(rmse(spec, "fixed-split:1", "flashinfer:cuda-cores"), 0.8 * fa3);
  EXPECT_LT(rmse(spec, "fixed-split:1", "f32"), fa3 / 50);
  EXPECT_GT(rmse(spec, "fixed-split:8", "lean:ort"), 2 * fa3);
  EXPECT_NEAR(rmse(spec, "fixed-split:1", "lean:ort"), fa3, 0.01 * fa3);
}

TEST(RoundingError, IncoherentProcessingHelpsAgainstOutliers) {
  const std::string spec = "h=8/8,d=64,dist=outliers,causal=0:1q32s4k";
  EXPECT_GT(rmse(spec, "fixed-split:1", "fa3-fp8:coherent"), 1.3 * rmse(spec, "fixed-split:1", "fa3-fp8"));
}

TEST(RoundingError, RowsThatSeeNothingHaveNone) {
  const Figures none = figures(splitwave::testing::decode("w", splitwave::testing::geometry(4, 2, 64), {0, 0}), "lean",
                               find_scheme("fa3").rounding);
  EXPECT_EQ(none.errors.max_abs, 0);
  EXPECT_EQ(none.predicted.total(), 0);
}

TEST(PredictedError, CountsTheIndependentRoundings) {
  // 8 rows of 128 elements. Two parts' LSEs move a row along one line, seven parts' along six.
  const workloads::Workload workload = workloads::load("h=8/4,d=128,dtype=f32:1q1s634").at(0);
  const auto samples = [&](const char* schedule, std::string_view scheme) {
    return figures(workload, schedule, find_scheme(scheme).rounding).predicted.samples;
  };
  EXPECT_GT(samples("fixed-split:2", "lean:ort"), 4);
  EXPECT_LT(samples("fixed-split:2", "lean:ort"), 8);
  EXPECT_GT(samples("fixed-split:7", "lean:ort"), 16);
  EXPECT_LT(samples("fixed-split:7", "lean:ort"), 48);
  // Rounding the output is an error of each element for itself.
  const workloads::Workload half = workloads::load("h=8/4,d=128,dtype=f16:1q1s634").at(0);
  const double of_output =
      figures(half, "fixed-split:1", find_scheme("flashinfer:cuda-cores").rounding).predicted.samples;
  EXPECT_GT(of_output, 256);
  EXPECT_LT(of_output, 1024);
}

TEST(PredictedError, PartsThatAgreeLoseNothingByTheirLses) {
  // Rounding an LSE of 8 to fp16 is an error of 2^-7 / sqrt(12) in its part's weight, which shows where the parts
  // differ. Where V is one number only the weights of 1/4 themselves are rounded: 0.18 2^-22 / 4 in the mean of the
  // squares.
  const workloads::Workload workload = workloads::load("h=2/1,d=32:1q1s2k").at(0);
  const auto normal = splitwave::testing::normal_values(5);
  const workloads::Tensors tensors = splitwave::testing::tensors_with(
      workload, [&](workloads::Tensor tensor, std::int32_t r, std::int32_t t, std::int32_t h, std::int32_t e) {
        return tensor == workloads::Tensor::v ? 1 : normal(tensor, r, t, h, e);
      });
  const schedules::Plan plan = schedules::make_plan("fixed-split:4", workload, {});
  EXPECT_NEAR(predict_error(workload, tensors, plan, find_scheme("lean:ort").rounding).merge, 1.1e-8, 1e-9);
}

/// Any workload of some 1,000 output elements or more whose rows see 64 tokens or more.
workloads::Workload any_workload() {
  const int head_dim = *rc::gen::element(32, 64, 128);
  const int kv_heads = *rc::gen::element(2, 4);
  const int group = *rc::gen::element(1, 2, 4);
  const char* dtype = *rc::gen::element("f16", "bf16", "f32");
  const int queries = head_dim * kv_heads * group < 1024 ? 16 : *rc::gen::element(1, 3);
  const int tokens = 64 + queries + *rc::gen::inRange(0, 1500);
  return workloads::load("h=" + std::to_string(kv_heads * group) + '/' + std::to_string(kv_heads) +
                         ",d=" + std::to_string(head_dim) + ",dtype=" + dtype +
                         ",seed=" + std::to_string(*rc::gen::inRange(0, 1 << 30)) + ":1q" + std::to_string(queries) +
                         's' + std::to_string(tokens))
      .at(0);
}

std::string any_schedule() {
  return *rc::gen::element<std::string>("fixed-split:1", "fixed-split:2", "fixed-split:7", "lean");
}

/// What the theory's own simplifications may be off by in the root of the mean square, either way.
constexpr double kTheory = 1.2;

/// How far chance takes a root mean square of `samples` independent normal numbers from its expectation, as a factor
/// above it for `deviations` > 0 and below for others: a chi-square distribution's quantile, by Wilson and Hilferty.
double chance(double samples, double deviations) {
  const double h = 2 / (9 * samples);
  return std::pow(std::max(1 - h + deviations * std::sqrt(h), 0.0), 1.5);
}

/// Measured and predicted mean square of so many workloads as it takes, which differ in nothing but their tensors.
struct Pool {
  double measured = 0;
  double predicted = 0;
  double spread = 0;  ///< sum of the variances of the measured ones, over 2
  int draws = 0;

  double samples() const { return predicted * predicted / spread; }
};

Pool pooled(workloads::Workload workload, const std::string& schedule, const Rounding& rounding, double samples) {
  Pool pool;
  while (pool.draws == 0 || pool.samples() < samples) {
    const Figures found = figures(workload, schedule, rounding);
    pool.measured += found.errors.rmse * found.errors.rmse;
    pool.predicted += found.predicted.total();
    pool.spread += found.predicted.total() * found.predicted.total() / found.predicted.samples;
    ++pool.draws;
    ++workload.seed;
  }
  return pool;
}

/// Six standard deviations, so that chance fails one of 10^9 cases. Eight rows whose merge weights are rounded are some
/// eight numbers, not 1,024: hence as many tensors as it takes for 1,000, which chance takes 1.14 off at most.
RC_GTEST_PROP(RoundingError, IsAsPredicted, ()) {
  const workloads::Workload workload = any_workload();
  const std::string schedule = any_schedule();
  const Scheme scheme = *rc::gen::elementOf(std::vector<Scheme>(schemes().begin(), schemes().end()));
  const Pool found = pooled(workload, schedule, scheme.rounding, 1000);
  const double ratio = std::sqrt(found.measured / found.predicted);
  RC_LOG() << workload.name << ' ' << schedule << ' ' << scheme.name << ": measured / predicted " << ratio << " of "
           << found.samples() << " samples in " << found.draws << " draws";
  RC_ASSERT(ratio > chance(found.samples(), -6) / kTheory);
  RC_ASSERT(ratio < chance(found.samples(), 6) * kTheory);
}

std::optional<WeightPrecision> told(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return WeightPrecision::bf16;
    case Precision::f16:
      return WeightPrecision::f16;
    case Precision::f32:
      return WeightPrecision::f32;
    case Precision::f64:
      return WeightPrecision::f64;
    default:
      return std::nullopt;
  }
}

/// verify's judgement of the emulated kernel, told what its scheme says.
Verification judged(const workloads::Workload& workload, const std::string& schedule, const Scheme& scheme) {
  const workloads::Tensors tensors = workloads::make_tensors(workload, kMemory);
  const schedules::Plan plan = schedules::make_plan(schedule, workload, {});
  const Result<double> result = emulate(workload, tensors, plan, scheme.rounding);
  const workloads::Geometry& g = workload.geometry;
  const std::int64_t rows = tensors.first_query.back();
  VerifyOptions options;
  options.weights = told(scheme.verify_weights);
  // In the type that the kernel writes: that is the rounding of the output that verify allows for.
  const base::ElementType type = resolved(scheme.rounding.output, g.dtype) == Precision::f64   ? base::ElementType::f64
                                 : resolved(scheme.rounding.output, g.dtype) == Precision::f32 ? base::ElementType::f32
                                                                                               : element_type(g.dtype);
  workloads::Bytes narrow(result.output.size() * static_cast<std::size_t>(base::bytes_per_element(type)));
  std::vector<float> single(result.output.begin(), result.output.end());
  const void* data = result.output.data();
  if (type == base::ElementType::f32) data = single.data();
  if (type == base::ElementType::f16 || type == base::ElementType::bf16) {
    for (std::size_t i = 0; i < single.size(); ++i) {
      workloads::store_element(g.dtype, narrow, static_cast<std::int64_t>(i), single[i]);
    }
    data = narrow.data();
  }
  const std::vector<float> lse(result.lse.begin(), result.lse.end());
  std::optional<base::ArrayView> lse_view;
  if (scheme.verify_weights == Precision::input) {
    lse_view = base::c_order_view(lse.data(), base::ElementType::f32, {rows, g.query_heads});
  }
  return verify(workload, tensors, base::c_order_view(data, type, {rows, g.query_heads, g.value_dim}), lse_view, false,
                options);
}

/// A few tokens and rows, down to one of each, where one rounded weight may be all of the error.
workloads::Workload small_workload() {
  const int head_dim = *rc::gen::element(32, 64, 128);
  const int heads = *rc::gen::element(1, 1, 2);
  const char* dtype = *rc::gen::element("f16", "bf16", "f32");
  workloads::Workload workload =
      workloads::load("h=" + std::to_string(heads) + "/1,d=" + std::to_string(head_dim) + ",dtype=" + dtype +
                      ",seed=" + std::to_string(*rc::gen::inRange(0, 1 << 30)) + ":1q1s" +
                      std::to_string(*rc::gen::inRange(1, 300)))
          .at(0);
  // Few tokens take all weight where scores are large.
  workload.geometry.softmax_scale = workload.geometry.scale() * *rc::gen::element(1, 2, 8);
  return workload;
}

void expect_no_accusation(workloads::Workload workload) {
  std::vector<const Scheme*> judgeable;
  for (const Scheme& scheme : schemes()) {
    if (scheme.verify_weights != Precision::e4m3) judgeable.push_back(&scheme);
  }
  const Scheme& scheme = **rc::gen::elementOf(judgeable);
  if (scheme.name == "standard" || scheme.name == "lean:ort") {
    workload.geometry.dtype = workloads::Dtype::f16;
    // Scores and LSEs in fp16 are no worse than weights in bf16 where they are small.
    workload.geometry.softmax_scale.reset();
  }
  workload.distribution = *rc::gen::element(workloads::Distribution::normal, workloads::Distribution::outliers);
  if (scheme.name == "standard") workload.distribution = workloads::Distribution::normal;
  const std::string schedule = any_schedule();
  const Verification result = judged(workload, schedule, scheme);
  RC_LOG() << to_json(workload) << ' ' << schedule << ' ' << scheme.name << ": " << result.rules.at(0).text;
  if (!result.findings.empty()) RC_LOG() << "; " << result.findings.front().text;
  RC_ASSERT(result.passed);
}

RC_GTEST_PROP(Verify, AccusesNoKernelWhoseRoundingsItIsTold, ()) {
  expect_no_accusation(any_workload());
}

RC_GTEST_PROP(Verify, AccusesNoKernelOfFewRows, ()) {
  expect_no_accusation(small_workload());
}

/// Outliers: one row's errors are larger than all others', and its weights' roundings move it along one line. Each of
/// these was once taken for a fault of merging that happens to move it so.
TEST(Verify, AccusesNoKernelForOneRow) {
  const auto passes = [](const char* spec, const char* schedule, std::string_view scheme) {
    workloads::Workload workload = workloads::load(spec).at(0);
    workload.distribution = workloads::Distribution::outliers;
    return judged(workload, schedule, find_scheme(scheme)).passed;
  };
  EXPECT_TRUE(passes("h=8/2,d=128,dtype=bf16,seed=846490339:1q3s341", "fixed-split:7", "f32"));
  EXPECT_TRUE(passes("h=4/2,d=64,dtype=f32,seed=63611443:1q16s472", "fixed-split:7", "flashinfer"));
  EXPECT_TRUE(passes("h=8/4,d=128,dtype=f32,seed=515533126:1q1s153", "fixed-split:2", "fa2"));
}

TEST(Verify, TellsAHalfPrecisionAccumulatorFromAKernel) {
  const workloads::Workload workload = workloads::load("h=2/2,d=64:1q1s16k").at(0);
  EXPECT_TRUE(judged(workload, "fixed-split:1", find_scheme("fa3")).passed);
  EXPECT_FALSE(judged(workload, "fixed-split:1", find_scheme("f16-accumulator")).passed);
}

}  // namespace
}  // namespace splitwave::cpu_reference::numerics
