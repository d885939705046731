// SPDX-License-Identifier: Apache-2.0
// Does the comparison see bugs? A small split attention in fp32 passes on every input; with any one of the bugs that
// kernels have really had, it must fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cpu_reference/compare.h"
#include "cpu_reference/merge.h"
#include "cpu_reference/oracle.h"
#include "tests/support/tensors.h"

namespace splitwave::cpu_reference {
namespace {

using workloads::Dtype;
using workloads::KvRange;
using workloads::Tensor;
using workloads::Tensors;
using workloads::Workload;

enum class Bug {
  none,
  drop_last_tile,
  off_by_one_context,
  wrong_head_map,
  missing_rescale,
  fp16_accumulate,
  stale_partial
};

constexpr std::int32_t kTile = 16;
constexpr std::int32_t kSplits = 3;

/// One (request, query, head) of a batch.
struct RowId {
  std::int32_t request = 0;
  std::int32_t query = 0;
  std::int32_t head = 0;
};

class BuggyAttention {
 public:
  BuggyAttention(const Workload& workload, const Tensors& tensors, Bug bug)
      : workload_(workload), geometry_(workload.geometry), tensors_(tensors), bug_(bug) {
    for (Partial<float>& slot : slots_) slot.output.resize(geometry_.value_dim);
  }

  Result<float> run() {
    Result<float> result;
    for (std::int32_t request = 0; request < static_cast<std::int32_t>(workload_.requests.size()); ++request) {
      for (std::int32_t query = 0; query < workload_.requests[request].query_len; ++query) {
        for (std::int32_t head = 0; head < geometry_.query_heads; ++head) {
          const Partial<float> row = run_row({request, query, head});
          const std::vector<float> output = normalised(row);
          result.output.insert(result.output.end(), output.begin(), output.end());
          result.lse.push_back(lse(row));
        }
      }
    }
    return result;
  }

 private:
  Partial<float> run_row(const RowId& id) {
    KvRange range = visible_to_query(geometry_, workload_.requests[id.request], id.query);
    if (bug_ == Bug::off_by_one_context) range.end = std::max(range.begin, range.end - 1);
    if (bug_ == Bug::drop_last_tile && range.size() > kTile) range.end -= (range.size() - 1) % kTile + 1;
    const std::int32_t tiles = (range.size() + kTile - 1) / kTile;
    const std::int32_t tokens_per_split = (tiles + kSplits - 1) / kSplits * kTile;
    Partial<float> all;
    all.output.resize(geometry_.value_dim);
    for (std::int32_t split = 0; split < kSplits; ++split) {
      const std::int32_t begin = std::min(range.begin + split * tokens_per_split, range.end);
      const std::int32_t end = std::min(begin + tokens_per_split, range.end);
      // The stale slot holds what the row before left in it.
      const bool stale = bug_ == Bug::stale_partial && split == 1 && id.head % 2 == 1;
      if (!stale) slots_[split] = run_split(id, {begin, end});
      all = merge(all, slots_[split]);
    }
    return all;
  }

  Partial<float> run_split(const RowId& id, KvRange range) const {
    const std::int32_t kv_head =
        bug_ == Bug::wrong_head_map ? id.head % geometry_.kv_heads : id.head / geometry_.group();
    Partial<float> partial;
    partial.output.resize(geometry_.value_dim);
    for (std::int32_t token = range.begin; token < range.end; ++token) {
      const float score = score_of(id, token, kv_head);
      const float max = std::max(partial.max, score);
      const float rescale = weight_below(partial.max, max);
      const float weight = weight_below(score, max);
      partial.max = max;
      partial.sum = rescale * partial.sum + weight;
      const float output_rescale = bug_ == Bug::missing_rescale ? 1.0F : rescale;
      const std::int64_t v = v_row(workload_, tensors_, id.request, token, kv_head);
      for (std::int32_t e = 0; e < geometry_.value_dim; ++e) {
        float& output = partial.output[e];
        output = output_rescale * output + weight * load_element(geometry_.dtype, tensors_.v, v + e);
        if (bug_ == Bug::fp16_accumulate) {
          output = workloads::from_bits(Dtype::f16, workloads::round_to_bits(Dtype::f16, output));
        }
      }
    }
    return partial;
  }

  float score_of(const RowId& id, std::int32_t token, std::int32_t kv_head) const {
    const std::int64_t q = q_row(workload_, tensors_, id.request, id.query, id.head);
    const std::int64_t k = k_row(workload_, tensors_, id.request, token, kv_head);
    float score = 0;
    for (std::int32_t e = 0; e < geometry_.head_dim; ++e) {
      score += load_element(geometry_.dtype, tensors_.q, q + e) * load_element(geometry_.dtype, tensors_.k, k + e);
    }
    return score * static_cast<float>(geometry_.scale());
  }

  const Workload& workload_;
  const workloads::Geometry& geometry_;
  const Tensors& tensors_;
  Bug bug_;
  std::array<Partial<float>, kSplits> slots_;
};

/// An input on which every bug that it is meant for shows.
struct Input {
  std::string name;
  std::vector<Bug> shows;
  testing::Values values;
};

std::vector<Input> inputs() {
  const std::vector<Bug> most = {Bug::drop_last_tile, Bug::off_by_one_context, Bug::wrong_head_map,
                                 Bug::missing_rescale, Bug::stale_partial};
  const testing::Values normal = testing::normal_values(31);
  // Flat scores and values of 1: the answer is 1 whatever is dropped or swapped, so only an accumulator that stalls,
  // and the LSE, can be wrong.
  const testing::Values flat = [](Tensor tensor, std::int32_t, std::int32_t, std::int32_t, std::int32_t) {
    return tensor == Tensor::q ? 0.0F : 1.0F;
  };
  return {{"normal", most, normal},
          {"outliers", most, testing::normal_values(32, true)},
          {"flat", {Bug::drop_last_tile, Bug::off_by_one_context, Bug::fp16_accumulate}, flat}};
}

/// Ragged, causal, grouped, with contexts around tile borders.
Workload ragged_workload(Dtype dtype) {
  Workload workload = testing::plain_workload(dtype, 4, 2, 8, 2, 300);
  workload.requests = {{2, 300}, {1, 0}, {1, 1}, {2, 49}, {1, 48}, {1, 47}, {1, 8000}};
  workload.geometry.causal = true;
  workload.geometry.softmax_scale.reset();
  return workload;
}

class Mutation : public ::testing::TestWithParam<Dtype> {};

TEST_P(Mutation, EveryBugIsCaughtAndNothingElse) {
  const Workload workload = ragged_workload(GetParam());
  for (const Input& input : inputs()) {
    const Tensors tensors = testing::tensors_with(workload, input.values);
    const Result<double> exact = attend(workload, tensors);
    const auto passes = [&](Bug bug) {
      return acceptable(compare(BuggyAttention(workload, tensors, bug).run(), exact), tolerance(GetParam()));
    };
    EXPECT_TRUE(passes(Bug::none)) << input.name;
    for (const Bug bug : input.shows) {
      EXPECT_FALSE(passes(bug)) << "bug " << static_cast<int>(bug) << " passes on the input " << input.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Mutation, ::testing::Values(Dtype::f16, Dtype::bf16, Dtype::f32),
                         [](const auto& each) { return workloads::to_string(each.param); });

}  // namespace
}  // namespace splitwave::cpu_reference
