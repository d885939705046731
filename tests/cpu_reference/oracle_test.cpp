// SPDX-License-Identifier: Apache-2.0
// What is not a number, what is not there, and what must not depend on threads.
#include "cpu_reference/oracle.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/support/tensors.h"

namespace splitwave::cpu_reference {
namespace {

using testing::kInfinity;
using testing::kNan;
using workloads::Dtype;
using workloads::KvLayout;
using workloads::Tensor;
using workloads::Tensors;
using workloads::Workload;

/// Normal values except for one: element 1 of `tensor` at (request, position, head).
struct Poison {
  Tensor tensor;
  std::int32_t request;
  std::int32_t position;
  std::int32_t head;
  float value;
};

testing::Values poisoned(const Poison& poison) {
  const testing::Values normal = testing::normal_values(11);
  return [normal, poison](Tensor tensor, std::int32_t r, std::int32_t position, std::int32_t head, std::int32_t e) {
    const bool here =
        tensor == poison.tensor && r == poison.request && position == poison.position && head == poison.head && e == 1;
    return here ? poison.value : normal(tensor, r, position, head, e);
  };
}

/// Two requests, causal, three queries each: the last token of a request is seen by its last query alone.
Workload causal_workload(KvLayout layout) {
  Workload workload = testing::plain_workload(Dtype::f32, 4, 2, 4, 3, 70);
  workload.requests.push_back({3, 9});
  workload.geometry.causal = true;
  workload.kv.layout = layout;
  workload.kv.page_size = layout == KvLayout::paged ? 16 : 0;
  return workload;
}

std::size_t row_of(const Workload& workload, const Tensors& tensors, std::int32_t request, std::int32_t query,
                   std::int32_t head) {
  return static_cast<std::size_t>((tensors.first_query[request] + query) * workload.geometry.query_heads + head);
}

class OracleLayouts : public ::testing::TestWithParam<KvLayout> {};

TEST_P(OracleLayouts, NanInAKeyReachesExactlyTheRowsThatReadIt) {
  const Workload workload = causal_workload(GetParam());
  const Result<double> clean = attend(workload, testing::tensors_with(workload, testing::normal_values(11)));
  const Tensors tensors = testing::tensors_with(workload, poisoned({Tensor::k, 0, 68, 1, kNan}));
  const Result<double> result = attend(workload, tensors);
  for (std::int32_t request = 0; request < 2; ++request) {
    for (std::int32_t query = 0; query < 3; ++query) {
      for (std::int32_t head = 0; head < 4; ++head) {
        const std::size_t row = row_of(workload, tensors, request, query, head);
        const bool reads = request == 0 && head >= 2 && query >= 1;  // position 68 of 70: queries 1 and 2
        EXPECT_EQ(std::isnan(result.lse[row]), reads);
        for (std::size_t i = row * 4; i < row * 4 + 4; ++i) {
          if (reads) {
            EXPECT_TRUE(std::isnan(result.output[i]));
          } else {
            EXPECT_EQ(result.output[i], clean.output[i]);
          }
        }
      }
    }
  }
}

TEST_P(OracleLayouts, NanInAValueReachesOneElementOfTheRowsThatReadIt) {
  const Workload workload = causal_workload(GetParam());
  const Result<double> clean = attend(workload, testing::tensors_with(workload, testing::normal_values(11)));
  const Result<double> result = attend(workload, testing::tensors_with(workload, poisoned({Tensor::v, 1, 8, 0, kNan})));
  EXPECT_EQ(result.lse, clean.lse);
  std::size_t nans = 0;
  for (std::size_t i = 0; i < result.output.size(); ++i) {
    if (std::isnan(result.output[i])) {
      ++nans;
      EXPECT_EQ(i % 4, 1U);
    } else {
      EXPECT_EQ(result.output[i], clean.output[i]);
    }
  }
  EXPECT_EQ(nans, 2U);  // heads 0 and 1 of the last query
}

TEST_P(OracleLayouts, InfiniteValueReachesOneElement) {
  const Workload workload = causal_workload(GetParam());
  const Tensors tensors = testing::tensors_with(workload, poisoned({Tensor::v, 0, 3, 0, -kInfinity}));
  const Result<double> result = attend(workload, tensors);
  EXPECT_EQ(std::count(result.output.begin(), result.output.end(), -kInfinity), 6);  // 3 queries x 2 heads
  EXPECT_EQ(std::count_if(result.output.begin(), result.output.end(), [](double x) { return !std::isfinite(x); }), 6);
}

TEST_P(OracleLayouts, AllLayoutsHoldTheSameNumbers) {
  const Workload workload = causal_workload(GetParam());
  const Workload contiguous = causal_workload(KvLayout::bshd);
  const Result<double> result = attend(workload, testing::tensors_with(workload, testing::normal_values(3)));
  const Result<double> expected = attend(contiguous, testing::tensors_with(contiguous, testing::normal_values(3)));
  EXPECT_EQ(result.output, expected.output);
  EXPECT_EQ(result.lse, expected.lse);
}

INSTANTIATE_TEST_SUITE_P(Each, OracleLayouts, ::testing::Values(KvLayout::bshd, KvLayout::bhsd, KvLayout::paged),
                         [](const auto& each) { return workloads::to_string(each.param); });

/// One query of one element, 1; the keys are the scores.
Result<double> attend_scores(const std::vector<float>& scores, const std::vector<float>& values, Dtype dtype) {
  const Workload workload = testing::plain_workload(dtype, 1, 1, 1, 1, static_cast<std::int32_t>(scores.size()));
  return attend(workload, testing::tensors_with(workload, [&](Tensor tensor, std::int32_t, std::int32_t position,
                                                              std::int32_t, std::int32_t) {
                  if (tensor == Tensor::q) return 1.0F;
                  return tensor == Tensor::k ? scores[position] : values[position];
                }));
}

TEST(Oracle, ScoreOfMinusInfinityHasWeightZero) {
  const Result<double> result = attend_scores({0, -kInfinity, 0}, {1, 1000, 2}, Dtype::f16);
  EXPECT_DOUBLE_EQ(result.output[0], 1.5);
  EXPECT_DOUBLE_EQ(result.lse[0], std::log(2.0));
}

TEST(Oracle, OnlyScoresOfMinusInfinityGiveZero) {
  const Result<double> result = attend_scores({-kInfinity, -kInfinity}, {1, 2}, Dtype::f16);
  EXPECT_EQ(result.output[0], 0);
  EXPECT_EQ(result.lse[0], -kInfinity);
}

TEST(Oracle, ScoreOfPlusInfinityIsNotANumber) {
  const Result<double> result = attend_scores({0, kInfinity, 0}, {1, 1, 1}, Dtype::bf16);
  EXPECT_TRUE(std::isnan(result.output[0]));
  EXPECT_TRUE(std::isnan(result.lse[0]));
}

TEST(Oracle, OneTokenGivesItsValueExactly) {
  const Result<double> result = attend_scores({-3}, {0.333F}, Dtype::f32);
  EXPECT_EQ(result.output[0], static_cast<double>(0.333F));
  EXPECT_EQ(result.lse[0], -3);
}

TEST(Oracle, EmptyContextsAmongOthers) {
  Workload workload = testing::plain_workload(Dtype::bf16, 2, 1, 8, 1, 0);
  workload.requests = {{1, 0}, {2, 5}, {1, 0}, {1, 1}};
  const Result<double> result = attend(workload, testing::tensors_with(workload, testing::normal_values(5)));
  ASSERT_EQ(result.lse.size(), 10U);
  for (const std::size_t row : {0, 1, 6, 7}) {
    EXPECT_EQ(result.lse[row], -kInfinity);
    for (std::size_t i = row * 8; i < row * 8 + 8; ++i) EXPECT_EQ(result.output[i], 0);
  }
  for (const std::size_t row : {2, 3, 4, 5, 8, 9}) EXPECT_TRUE(std::isfinite(result.lse[row]));
}

TEST(Oracle, QueriesBeforeTheContextSeeNothing) {
  // Three causal queries on a context of one token: the first two sit before position 0.
  Workload workload = testing::plain_workload(Dtype::f32, 1, 1, 2, 3, 1);
  workload.geometry.causal = true;
  const Result<double> result = attend(workload, testing::tensors_with(workload, testing::normal_values(6)));
  EXPECT_EQ(result.lse[0], -kInfinity);
  EXPECT_EQ(result.lse[1], -kInfinity);
  EXPECT_TRUE(std::isfinite(result.lse[2]));
}

TEST(Oracle, NoRequestsGiveNoRows) {
  Workload workload = testing::plain_workload(Dtype::f16, 2, 1, 8, 1, 1);
  workload.requests.clear();
  const Result<double> result = attend(workload, testing::tensors_with(workload, testing::normal_values(5)));
  EXPECT_TRUE(result.output.empty());
  EXPECT_TRUE(result.lse.empty());
}

TEST(Oracle, TheSameBitsForAnyNumberOfThreads) {
  Workload workload = testing::plain_workload(Dtype::f16, 6, 2, 20, 3, 150);
  workload.requests.push_back({1, 301});
  workload.requests.push_back({2, 0});
  workload.geometry.causal = true;
  const Tensors tensors = testing::tensors_with(workload, testing::normal_values(9));
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Result<double> one = attend(workload, tensors);
  for (const int threads : {2, 3, 7}) {
    omp_set_num_threads(threads);
    const Result<double> many = attend(workload, tensors);
    EXPECT_EQ(std::memcmp(one.output.data(), many.output.data(), one.output.size() * sizeof(double)), 0);
    EXPECT_EQ(std::memcmp(one.lse.data(), many.lse.data(), one.lse.size() * sizeof(double)), 0);
  }
  omp_set_num_threads(before);
}

TEST(Oracle, ARowDoesNotDependOnItsNeighbours) {
  // The rows of a batch alone: same bits, whatever block or task they share with others.
  Workload batch = testing::plain_workload(Dtype::bf16, 4, 2, 12, 2, 100);
  batch.requests = {{2, 100}, {1, 33}, {3, 65}};
  batch.geometry.causal = true;
  const testing::Values values = testing::normal_values(12);
  const Result<double> together = attend(batch, testing::tensors_with(batch, values));
  std::size_t first = 0;
  for (std::int32_t request = 0; request < 3; ++request) {
    Workload alone = batch;
    alone.requests = {batch.requests[request]};
    const Tensors tensors =
        testing::tensors_with(alone, [&](Tensor tensor, std::int32_t, std::int32_t position, std::int32_t head,
                                         std::int32_t e) { return values(tensor, request, position, head, e); });
    const Result<double> single = attend(alone, tensors);
    EXPECT_TRUE(std::equal(single.lse.begin(), single.lse.end(), together.lse.begin() + first));
    EXPECT_TRUE(std::equal(single.output.begin(), single.output.end(), together.output.begin() + first * 12));
    first += single.lse.size();
  }
}

}  // namespace
}  // namespace splitwave::cpu_reference
