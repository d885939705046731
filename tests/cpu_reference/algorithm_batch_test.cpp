// SPDX-License-Identifier: Apache-2.0
// Whole workloads by every algorithm: any geometry, layout and mask gives the oracle's answer.
#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "cpu_reference/algorithms/batch.h"
#include "cpu_reference/compare.h"
#include "tests/support/tensors.h"
#include "workloads/load.h"

namespace splitwave::cpu_reference::algorithms {
namespace {

workloads::Workload load_one(const std::string& spec) {
  return workloads::load(spec).at(0);
}

std::vector<workloads::Workload> examples() {
  std::vector<workloads::Workload> examples;
  for (const char* spec : {
           "h=8/2,d=16:1q1s100_2q1s33_1q1s0",  // ragged, GQA, an empty context
           "h=4/4,d=16:2q1s70",                // MHA
           "h=6/1,d=24,dtype=f32:2q1s65",      // MQA
           "h=4/2,d=16,page=16:3q1s50",        // pages
           "h=4/2,d=16,window=20:2q1s90",      // a sliding window
           "h=4/2,d=16:2q5s40",                // causal: each query token sees one more
           "h=4/2,d=16,causal=0:2q5s40",
           "h=4/1,d=24,dv=16,kind=mla:2q1s77",
       }) {
    examples.push_back(load_one(spec));
  }
  return examples;
}

TEST(AlgorithmBatch, EveryAlgorithmAgreesWithTheOracleOnEveryKindOfWorkload) {
  for (const workloads::Workload& workload : examples()) {
    const workloads::Tensors tensors = workloads::make_tensors(workload, std::int64_t{1} << 30);
    const Result<double> exact = attend(workload, tensors);
    for (const Algorithm& algorithm : all()) {
      const BatchResult batch = attend_by(parse(algorithm.name), workload, tensors, 1);
      const Errors errors = compare(batch.result, exact);
      EXPECT_TRUE(acceptable(errors, double_tolerance())) << workload.name << " by " << algorithm.name;
      EXPECT_LE(errors.worst_row_relative_l2, 1e-12) << workload.name << " by " << algorithm.name;
    }
  }
}

TEST(AlgorithmBatch, DecodeByLargeBlocksMovesTheLeastAndTheLse) {
  for (const workloads::Workload& workload : examples()) {
    if (workloads::max_query_len(workload) > 1) continue;
    const workloads::Tensors tensors = workloads::make_tensors(workload, std::int64_t{1} << 30);
    std::int64_t rows = 0;
    std::int64_t unmoved = 0;  // of rows that see nothing
    for (const workloads::Request& request : workload.requests) {
      const std::int64_t of_request = std::int64_t{request.query_len} * workload.geometry.query_heads;
      (request.context_len > 0 ? rows : unmoved) += of_request;
    }
    const std::int64_t row_bytes = (workload.geometry.head_dim + workload.geometry.value_dim) *
                                   workloads::bytes_per_element(workload.geometry.dtype);
    const BatchResult batch = attend_by(parse("flash-attention-2"), workload, tensors, 1);
    EXPECT_EQ(batch.bytes.total(), workloads::minimal_bytes(workload) + 4 * rows - unmoved * row_bytes)
        << workload.name;
  }
}

TEST(AlgorithmBatch, QueryTokensUnderAMaskLoadTheirTokensEach) {
  // Without a mask 5 query tokens share the 40 tokens of each KV head; under a causal one they see 36 to 40.
  const auto k_bytes = [](const char* spec) {
    const workloads::Workload workload = load_one(spec);
    const workloads::Tensors tensors = workloads::make_tensors(workload, std::int64_t{1} << 30);
    return attend_by(parse("flash-attention-2"), workload, tensors, 1).bytes.k.loaded;
  };
  constexpr std::int64_t kTokenBytes = 2 * 2 * 16;  // 2 KV heads, 16 elements of 2 bytes
  EXPECT_EQ(k_bytes("h=4/2,d=16,causal=0:1q5s40"), 40 * kTokenBytes);
  EXPECT_EQ(k_bytes("h=4/2,d=16:1q5s40"), (36 + 37 + 38 + 39 + 40) * kTokenBytes);
}

TEST(AlgorithmBatch, TimesEverySample) {
  const workloads::Workload workload = load_one("h=4/2,d=16:1q1s500");
  const workloads::Tensors tensors = workloads::make_tensors(workload, std::int64_t{1} << 30);
  const BatchResult batch = attend_by(parse("one-pass"), workload, tensors, 3);
  ASSERT_EQ(batch.seconds.size(), 3U);
  for (const double seconds : batch.seconds) EXPECT_GT(seconds, 0);
  EXPECT_THROW(attend_by(parse("one-pass"), workload, tensors, 0), std::logic_error);
}

}  // namespace
}  // namespace splitwave::cpu_reference::algorithms
