// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/run_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "cpu_reference/compare.h"
#include "schedules/schedules.h"
#include "schedules/validate.h"
#include "tests/support/tensors.h"

namespace splitwave::cpu_reference {
namespace {

using testing::kInfinity;
using testing::kNan;
using testing::normal_values;
using testing::plain_workload;
using testing::tensors_with;
using workloads::AttentionKind;
using workloads::Dtype;
using workloads::KvLayout;
using workloads::Tensor;
using workloads::Tensors;
using workloads::Workload;

/// What fp32 sums leave of the exact result here; a wrong token, head or rescaling is orders above it.
constexpr double kFp32Error = 4e-6;

Workload make_workload(AttentionKind kind, std::int32_t query_heads, std::int32_t kv_heads, std::int32_t head_dim,
                       std::int32_t value_dim, std::vector<workloads::Request> requests) {
  Workload workload;
  workload.name = "test";
  workload.geometry.kind = kind;
  workload.geometry.query_heads = query_heads;
  workload.geometry.kv_heads = kv_heads;
  workload.geometry.head_dim = head_dim;
  workload.geometry.value_dim = value_dim;
  workload.requests = std::move(requests);
  workload.seed = 7;
  return workload;
}

Workload ragged_gqa() {
  return make_workload(AttentionKind::gqa, 8, 2, 64, 64, {{1, 0}, {1, 1}, {1, 31}, {1, 32}, {1, 33}, {1, 777}});
}

schedules::Plan plan_of(const std::string& schedule, const Workload& workload, std::int32_t tile_kv = 0) {
  schedules::Plan plan = schedules::make_plan(schedule, workload, {5, 1, 0, tile_kv});
  schedules::validate(workload, plan);
  return plan;
}

/// A result whose every element must be overwritten.
Result<float> poisoned() {
  Result<float> result;
  result.output.assign(1 << 16, kNan);
  result.lse.assign(1 << 12, kNan);
  return result;
}

Result<float> run(const Workload& workload, const Tensors& tensors, const schedules::Plan& plan, int threads, Isa isa) {
  const WorkspacePtr workspace = make_workspace(workload, plan, threads, isa);
  Result<float> result = poisoned();
  run_plan(workload, tensors, plan, *workspace, threads, result);
  return result;
}

void expect_exact(const Workload& workload, const Tensors& tensors, const std::vector<std::string>& schedules) {
  const Result<double> exact = attend(workload, tensors);
  for (const Isa isa : supported_isas()) {
    for (const std::string& schedule : schedules) {
      SCOPED_TRACE(to_string(isa) + " " + schedule + " " + to_string(workload.geometry.dtype) + " " +
                   to_string(workload.kv.layout));
      const Errors errors = compare(run(workload, tensors, plan_of(schedule, workload), 2, isa), exact);
      EXPECT_TRUE(acceptable(errors, tolerance(workload.geometry.dtype)));
      EXPECT_LT(errors.worst_row_relative_l2, kFp32Error);
      EXPECT_LT(errors.lse_max_relative, kFp32Error);
      EXPECT_EQ(errors.mismatched_non_finite, 0);
    }
  }
}

void set_layout(Workload& workload, KvLayout layout) {
  workload.kv.layout = layout;
  workload.kv.page_size = layout == KvLayout::paged ? 16 : 0;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(RunPlan, RecordsEveryItemAndListOnce) {
  const Workload workload = ragged_gqa();
  const Tensors tensors = tensors_with(workload, normal_values(6));
  for (const char* schedule : {"fa2", "fixed-split:3", "lean", "fa3"}) {
    SCOPED_TRACE(schedule);
    const schedules::Plan plan = plan_of(schedule, workload);
    const WorkspacePtr workspace = make_workspace(workload, plan, 2);
    Result<float> plain;
    Result<float> recorded;
    schedules::Recording recording;
    run_plan(workload, tensors, plan, *workspace, 2, plain);
    run_plan(workload, tensors, plan, *workspace, 2, recorded, &recording);
    EXPECT_TRUE(same_bits(plain.output, recorded.output));
    ASSERT_GE(recording.ctas.size(), static_cast<std::size_t>(plan.lists()));
    ASSERT_GE(recording.work.size(), plan.items.size());
    for (std::size_t i = 0; i < recording.work.size(); ++i) {
      const schedules::Stretch& work = recording.work[i];
      EXPECT_EQ(work.item, i < plan.items.size() ? static_cast<std::int32_t>(i) : -1);
      const schedules::Stretch& cta = recording.ctas.at(static_cast<std::size_t>(work.cta));
      EXPECT_EQ(work.sm, cta.sm);
      EXPECT_LE(cta.begin_nanoseconds, work.begin_nanoseconds);
      EXPECT_LE(work.begin_nanoseconds, work.end_nanoseconds);
      EXPECT_LE(work.end_nanoseconds, cta.end_nanoseconds);
      EXPECT_LT(work.sm, 2);
    }
    EXPECT_EQ(recording.work.size() > plan.items.size(), !plan.merges.empty());
  }
}

TEST(RunPlan, EveryTypeAndLayoutAgreesWithTheOracle) {
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    for (const KvLayout layout : {KvLayout::bshd, KvLayout::bhsd, KvLayout::paged}) {
      Workload workload = ragged_gqa();
      workload.geometry.dtype = dtype;
      set_layout(workload, layout);
      expect_exact(workload, tensors_with(workload, normal_values(1)), {"fa2", "lean"});
    }
  }
}

TEST(RunPlan, EveryGroupSizeAgreesWithTheOracle) {
  for (const std::int32_t group : {1, 2, 3, 4, 5, 6, 7, 8, 11}) {
    const Workload workload = make_workload(AttentionKind::gqa, 2 * group, 2, 32, 48, {{1, 100}, {1, 45}});
    SCOPED_TRACE(group);
    expect_exact(workload, tensors_with(workload, normal_values(2)), {"fixed-split:2"});
  }
}

TEST(RunPlan, EveryHeadDimAgreesWithTheOracle) {
  for (const std::int32_t dim : {1, 7, 8, 16, 40, 59, 96, 112, 128, 256}) {
    for (const Dtype dtype : {Dtype::f16, Dtype::f32}) {
      Workload workload = make_workload(AttentionKind::gqa, 4, 1, dim, dim + 3, {{1, 70}, {2, 33}});
      workload.geometry.dtype = dtype;
      SCOPED_TRACE(dim);
      expect_exact(workload, tensors_with(workload, normal_values(3)), {"fa2"});
    }
  }
}

TEST(RunPlan, LatentAttentionAgreesWithTheOracle) {
  for (const auto& [head_dim, value_dim] : {std::pair{576, 512}, std::pair{96, 60}, std::pair{50, 33}}) {
    for (const KvLayout layout : {KvLayout::bshd, KvLayout::paged}) {
      Workload workload = make_workload(AttentionKind::mla, 16, 1, head_dim, value_dim, {{2, 90}, {1, 65}});
      set_layout(workload, layout);
      expect_exact(workload, tensors_with(workload, normal_values(4)), {"fa2", "flashmla"});
    }
  }
}

TEST(RunPlan, MasksOfSeveralQueriesAgreeWithTheOracle) {
  for (const std::int32_t query_len : {2, 5, 40}) {
    for (const std::int32_t window : {0, 1, 17, 64}) {
      for (const bool causal : {true, false}) {
        Workload workload = make_workload(AttentionKind::gqa, 6, 2, 32, 32, {{query_len, 150}, {query_len, query_len}});
        if (window > 0) workload.geometry.window = window;
        workload.geometry.causal = causal;
        SCOPED_TRACE(window);
        expect_exact(workload, tensors_with(workload, normal_values(5)), {"fa2", "fixed-split:3"});
      }
    }
  }
}

TEST(RunPlan, EveryScheduleAgreesWithTheOracle) {
  const Workload workload = ragged_gqa();
  std::vector<std::string> names;
  for (const schedules::Schedule& schedule : schedules::all()) {
    if (schedule.name == "flashmla") continue;  // MLA only
    const bool has_size = schedule.name == "fixed-size" || schedule.name == "longest-first";
    names.push_back(std::string(schedule.name) + (schedule.name == "fixed-split" ? ":3" : has_size ? ":128" : ""));
  }
  expect_exact(workload, tensors_with(workload, normal_values(6)), names);
}

TEST(RunPlan, ThreadsDoNotChangeABit) {
  Workload workload = ragged_gqa();
  workload.requests.push_back({3, 500});
  const Tensors tensors = tensors_with(workload, normal_values(8));
  for (const char* schedule : {"fa2", "fixed-split:4", "fa3", "lean"}) {
    const schedules::Plan plan = plan_of(schedule, workload);
    const Result<float> one = run(workload, tensors, plan, 1, best_isa());
    for (const int threads : {2, 3, 7}) {
      const Result<float> many = run(workload, tensors, plan, threads, best_isa());
      EXPECT_TRUE(same_bits(one.output, many.output)) << schedule << " " << threads;
      EXPECT_TRUE(same_bits(one.lse, many.lse)) << schedule << " " << threads;
    }
  }
}

TEST(RunPlan, AnEmptyRequestGivesZeroAndMinusInfinity) {
  const Workload workload = ragged_gqa();
  const Result<float> result =
      run(workload, tensors_with(workload, normal_values(9)), plan_of("lean", workload), 2, best_isa());
  for (int i = 0; i < 8 * 64; ++i) EXPECT_EQ(result.output[i], 0);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(result.lse[i], -kInfinity);
}

TEST(RunPlan, AnEmptyItemOfASplitOutputWeighsNothing) {
  const Workload workload = plain_workload(Dtype::f16, 2, 1, 32, 1, 64);
  const Tensors tensors = tensors_with(workload, normal_values(10));
  schedules::Plan plan;
  plan.tile_q = 2;
  plan.tile_kv = 64;
  plan.num_splits = 3;
  plan.merge = schedules::MergeKind::kernel;
  plan.outputs = {{0, 0, 2, 0, 2}};
  plan.items = {{0, 0, 64, 0}, {0, 64, 64, 1}, {0, 64, 64, 2}};
  plan.cta_begin = {0, 1, 2, 3};
  plan.merges = {{0, 0, 3}};
  schedules::validate(workload, plan);
  for (const Isa isa : supported_isas()) {
    const Errors errors = compare(run(workload, tensors, plan, 2, isa), attend(workload, tensors));
    EXPECT_LT(errors.worst_row_relative_l2, kFp32Error);
    EXPECT_EQ(errors.mismatched_non_finite, 0);
  }
}

TEST(RunPlan, OneTokenIsItsValueToTheBit) {
  const Workload workload = plain_workload(Dtype::f16, 3, 1, 48, 1, 1);
  const Tensors tensors = tensors_with(workload, normal_values(11));
  for (const Isa isa : supported_isas()) {
    const Result<float> result = run(workload, tensors, plan_of("fa2", workload), 1, isa);
    for (int head = 0; head < 3; ++head) {
      for (int e = 0; e < 48; ++e) {
        EXPECT_EQ(result.output[head * 48 + e], workloads::load_element(Dtype::f16, tensors.v, e));
      }
    }
  }
}

// An accumulator in fp16 answers 0.5 here (measured on ggml's CPU code); fp32 must be exact.
TEST(RunPlan, FlatScoresAndOnesGiveExactlyOne) {
  const Workload workload = plain_workload(Dtype::f16, 4, 1, 32, 1, 32768);
  const Tensors tensors = tensors_with(workload, [](Tensor tensor, std::int32_t, std::int32_t, std::int32_t,
                                                    std::int32_t) { return tensor == Tensor::q ? 0.0F : 1.0F; });
  for (const Isa isa : supported_isas()) {
    for (const char* schedule : {"fa2", "fixed-split:8"}) {
      const Result<float> result = run(workload, tensors, plan_of(schedule, workload), 2, isa);
      for (const float element : result.output) EXPECT_EQ(element, 1.0F);
      for (const float lse : result.lse) EXPECT_FLOAT_EQ(lse, std::log(32768.0F));
    }
  }
}

// Scores far below any finite mask value, and maxima that rise or fall with every token.
TEST(RunPlan, ExtremeAndMonotoneScoresAreExact) {
  const std::vector<std::function<float(std::int32_t)>> scores = {
      [](std::int32_t t) { return -60000.0F + static_cast<float>(t % 3); },
      [](std::int32_t t) { return static_cast<float>(t); },
      [](std::int32_t t) { return -2.0F * static_cast<float>(t); },
      [](std::int32_t t) { return t == 77 ? 500.0F : 0.0F; }};
  for (const auto& score : scores) {
    const Workload workload = plain_workload(Dtype::f32, 4, 1, 16, 1, 200);
    const Tensors tensors = tensors_with(
        workload, [&](Tensor tensor, std::int32_t, std::int32_t position, std::int32_t, std::int32_t element) {
          if (tensor == Tensor::q) return element == 0 ? 1.0F : 0.0F;
          if (tensor == Tensor::k) return element == 0 ? score(position) : 1.0F;
          return static_cast<float>(position * element);
        });
    expect_exact(workload, tensors, {"fa2", "fixed-split:2"});
  }
}

/// As normal_values, but `value` in element 3 of K or V at one position of head 1.
testing::Values with_one(Tensor where, std::int32_t position, float value) {
  const testing::Values base = normal_values(12);
  return [=](Tensor tensor, std::int32_t request, std::int32_t p, std::int32_t head, std::int32_t element) {
    if (tensor == where && p == position && head == 1 && element == 3) return value;
    return base(tensor, request, p, head, element);
  };
}

TEST(RunPlan, NonFiniteElementsReachExactlyTheRowsThatReadThem) {
  // Query 0 of 3 does not see the last two tokens.
  const Workload workload = make_workload(AttentionKind::gqa, 8, 2, 32, 32, {{3, 120}});
  for (const Tensor tensor : {Tensor::k, Tensor::v}) {
    for (const std::int32_t position : {0, 50, 118, 119}) {
      for (const float value : {kNan, kInfinity, -kInfinity}) {
        const Tensors tensors = tensors_with(workload, with_one(tensor, position, value));
        SCOPED_TRACE(value);
        expect_exact(workload, tensors, {"fa2", "fixed-split:2"});
      }
    }
  }
}

TEST(RunPlan, ScoresOfMinusInfinityAloneGiveNothing) {
  const Workload workload = plain_workload(Dtype::f16, 2, 1, 16, 1, 130);
  const Tensors tensors = tensors_with(workload, [](Tensor tensor, std::int32_t, std::int32_t, std::int32_t,
                                                    std::int32_t) { return tensor == Tensor::k ? -kInfinity : 1.0F; });
  for (const Isa isa : supported_isas()) {
    const Result<float> result = run(workload, tensors, plan_of("fixed-split:2", workload), 2, isa);
    for (const float element : result.output) EXPECT_EQ(element, 0);
    for (const float lse : result.lse) EXPECT_EQ(lse, -kInfinity);
  }
}

TEST(RunPlan, AWorkspaceOfAnotherPlanIsRefused) {
  const Workload workload = ragged_gqa();
  const Tensors tensors = tensors_with(workload, normal_values(13));
  const schedules::Plan split = plan_of("fixed-split:4", workload);
  const WorkspacePtr workspace = make_workspace(workload, plan_of("fa2", workload), 2);
  Result<float> result;
  EXPECT_THROW(run_plan(workload, tensors, split, *workspace, 2, result), std::logic_error);
  EXPECT_THROW(run_plan(workload, tensors, plan_of("fa2", workload), *workspace, 3, result), std::logic_error);
}

TEST(RunPlan, AWorkspaceCanBeUsedAgain) {
  const Workload workload = ragged_gqa();
  const Tensors tensors = tensors_with(workload, normal_values(14));
  const schedules::Plan plan = plan_of("lean", workload);
  const WorkspacePtr workspace = make_workspace(workload, plan, 2);
  Result<float> first;
  run_plan(workload, tensors, plan, *workspace, 2, first);
  Result<float> second = poisoned();
  run_plan(workload, tensors, plan, *workspace, 2, second);
  EXPECT_TRUE(same_bits(first.output, second.output));
}

RC_GTEST_PROP(RunPlan, AnyPartitionOfTheContextGivesTheOraclesAnswer, ()) {
  const std::int32_t context = *rc::gen::inRange(1, 300);
  const Workload workload = plain_workload(Dtype::f16, 4, 2, 32, 1, context);
  const Tensors tensors = tensors_with(workload, normal_values(*rc::gen::arbitrary<std::uint32_t>()));
  std::set<std::int32_t> cuts = *rc::gen::container<std::set<std::int32_t>>(rc::gen::inRange(1, 300));
  cuts.erase(cuts.lower_bound(context), cuts.end());
  cuts.insert(context);
  schedules::Plan plan;
  plan.tile_q = 2;
  plan.tile_kv = 1;
  plan.outputs = {{0, 0, 2, 0, 2}, {0, 2, 2, 0, 2}};
  const std::int32_t parts = static_cast<std::int32_t>(cuts.size());
  plan.num_splits = parts;
  for (std::int32_t output = 0; output < 2; ++output) {
    std::int32_t begin = 0;
    std::int32_t slot = output * parts;
    for (const std::int32_t end : cuts) {
      plan.items.push_back({output, begin, end, parts == 1 ? -1 : slot++});
      plan.cta_begin.push_back(static_cast<std::int32_t>(plan.items.size()));
      begin = end;
    }
    if (parts > 1) plan.merges.push_back({output, output * parts, (output + 1) * parts});
  }
  if (parts > 1) plan.merge = schedules::MergeKind::kernel;
  schedules::validate(workload, plan);
  const Result<double> exact = attend(workload, tensors);
  for (const Isa isa : supported_isas()) {
    RC_ASSERT(compare(run(workload, tensors, plan, 2, isa), exact).worst_row_relative_l2 < kFp32Error);
  }
}

}  // namespace
}  // namespace splitwave::cpu_reference
