// SPDX-License-Identifier: Apache-2.0
// FlashAttention-2's and -3's rules and plans against an independent restatement of them (132 SMs).
#include <gtest/gtest.h>

#include <string>

#include "schedules/fa3_call.h"
#include "schedules/rules/fa2.h"
#include "schedules/schedules.h"
#include "tests/schedules/hopper.h"
#include "tests/support/battery.h"

namespace splitwave::schedules {
namespace {

using testing::decode;
using testing::geometry;
using testing::paged;

/// Counts of one uniform batch. bound, dynamic: FA3 with seqused_k. The paged columns: a cache that TMA cannot load.
struct Row {
  std::int32_t batch, query_heads, kv_heads, head_dim, context_len;
  std::int32_t fa2_blocks;
  std::int32_t fa2_splits;
  std::int32_t fa3_blocks;
  std::int32_t fa3_static, fa3_static_ctas, fa3_bound, fa3_dynamic, fa3_tiles;
  std::int32_t paged_bound, paged_dynamic;
  std::int32_t paged_blocks;
};

constexpr Row kRows[] = {
    {1, 32, 8, 128, 512, 4, 4, 3, 1, 8, 1, 1, 8, 1, 1, 4},
    {1, 32, 8, 128, 1024, 8, 8, 6, 6, 48, 6, 6, 48, 7, 7, 8},
    {1, 32, 8, 128, 4096, 32, 32, 24, 14, 112, 14, 12, 96, 14, 11, 32},
    {1, 32, 8, 128, 16384, 128, 32, 94, 15, 120, 15, 14, 112, 15, 15, 128},
    {1, 32, 8, 128, 65536, 512, 29, 373, 15, 120, 15, 15, 120, 15, 15, 512},
    {1, 64, 8, 128, 512, 4, 4, 3, 1, 8, 1, 1, 8, 1, 1, 4},
    {1, 64, 8, 128, 1024, 8, 8, 6, 6, 48, 6, 6, 48, 7, 7, 8},
    {1, 64, 8, 128, 4096, 32, 32, 24, 14, 112, 14, 12, 96, 14, 11, 32},
    {1, 64, 8, 128, 16384, 128, 32, 94, 15, 120, 15, 14, 112, 15, 15, 128},
    {1, 64, 8, 128, 65536, 512, 29, 373, 15, 120, 15, 15, 120, 15, 15, 512},
    {1, 32, 1, 128, 512, 4, 4, 3, 1, 1, 1, 1, 1, 1, 1, 4},
    {1, 32, 1, 128, 1024, 8, 8, 6, 6, 6, 6, 6, 6, 7, 7, 8},
    {1, 32, 1, 128, 4096, 32, 32, 24, 21, 21, 21, 21, 21, 28, 28, 32},
    {1, 32, 1, 128, 16384, 128, 128, 94, 80, 80, 80, 80, 80, 109, 64, 128},
    {1, 32, 1, 128, 65536, 512, 128, 373, 109, 109, 109, 94, 94, 109, 103, 512},
    {8, 32, 8, 128, 512, 4, 4, 3, 1, 64, 1, 1, 64, 1, 1, 4},
    {8, 32, 8, 128, 1024, 8, 4, 6, 2, 128, 6, 2, 128, 7, 2, 8},
    {8, 32, 8, 128, 4096, 32, 4, 24, 2, 128, 14, 2, 128, 14, 2, 32},
    {8, 32, 8, 128, 16384, 128, 4, 94, 2, 128, 15, 2, 128, 15, 2, 128},
    {8, 32, 8, 128, 65536, 512, 4, 373, 2, 128, 15, 2, 128, 15, 2, 512},
    {16, 32, 8, 128, 512, 4, 2, 3, 1, 128, 1, 1, 128, 1, 1, 4},
    {16, 32, 8, 128, 1024, 8, 2, 6, 1, 128, 6, 1, 128, 7, 1, 8},
    {16, 32, 8, 128, 4096, 32, 2, 24, 1, 128, 14, 1, 128, 14, 1, 32},
    {16, 32, 8, 128, 16384, 128, 2, 94, 1, 128, 15, 1, 128, 15, 1, 128},
    {16, 32, 8, 128, 65536, 512, 2, 373, 1, 128, 15, 1, 128, 15, 1, 512},
    {64, 32, 8, 128, 512, 4, 1, 3, 1, 512, 1, 1, 512, 1, 1, 4},
    {64, 32, 8, 128, 1024, 8, 1, 6, 1, 512, 6, 1, 512, 7, 1, 8},
    {64, 32, 8, 128, 4096, 32, 1, 24, 1, 512, 14, 1, 512, 14, 1, 32},
    {64, 32, 8, 128, 16384, 128, 1, 94, 1, 512, 15, 1, 512, 15, 1, 128},
    {64, 32, 8, 128, 65536, 512, 1, 373, 1, 512, 15, 1, 512, 15, 1, 512},
    {1, 32, 8, 64, 512, 2, 2, 3, 1, 8, 1, 1, 8, 1, 1, 4},
    {1, 32, 8, 64, 1024, 4, 4, 6, 6, 48, 6, 6, 48, 7, 7, 8},
    {1, 32, 8, 64, 4096, 16, 16, 22, 14, 112, 14, 11, 88, 14, 11, 32},
    {1, 32, 8, 64, 16384, 64, 32, 86, 15, 120, 15, 15, 120, 15, 15, 128},
    {1, 32, 8, 64, 65536, 256, 29, 342, 15, 120, 15, 15, 120, 15, 15, 512},
    {8, 64, 8, 64, 512, 2, 2, 3, 1, 64, 1, 1, 64, 1, 1, 4},
    {8, 64, 8, 64, 1024, 4, 4, 6, 2, 128, 6, 2, 128, 7, 2, 8},
    {8, 64, 8, 64, 4096, 16, 4, 22, 2, 128, 14, 2, 128, 14, 2, 32},
    {8, 64, 8, 64, 16384, 64, 4, 86, 2, 128, 15, 2, 128, 15, 2, 128},
    {8, 64, 8, 64, 65536, 256, 4, 342, 2, 128, 15, 2, 128, 15, 2, 512},
};

workloads::Workload uniform(const Row& row) {
  return decode("uniform", geometry(row.query_heads, row.kv_heads, row.head_dim),
                std::vector<std::int32_t>(static_cast<std::size_t>(row.batch), row.context_len));
}

class WorkedExample : public ::testing::TestWithParam<Row> {};

TEST_P(WorkedExample, Fa2SplitsByThePaddedCache) {
  const Row& row = GetParam();
  const workloads::Workload w = uniform(row);
  const std::int32_t block_n = fa2_split_block_n(row.head_dim);
  EXPECT_EQ((row.context_len + block_n - 1) / block_n, row.fa2_blocks);
  EXPECT_EQ(fa2_num_splits(std::int64_t{row.batch} * row.kv_heads, 264, row.fa2_blocks, 128).num_splits,
            row.fa2_splits);
  const Plan plan = make_plan("fixed-split:fa2", w, kHopper);
  EXPECT_EQ(plan.num_splits, row.fa2_splits);
  EXPECT_EQ(plan.ctas(), row.batch * row.kv_heads * row.fa2_splits);
}

TEST_P(WorkedExample, Fa3StaticSplitsCountTheBatch) {
  const Row& row = GetParam();
  const Plan plan = make_plan("fixed-split:fa3", uniform(row), kHopper);
  EXPECT_EQ(plan.num_splits, row.fa3_static);
  EXPECT_EQ(plan.ctas(), row.fa3_static_ctas);
}

TEST_P(WorkedExample, Fa3SplitsPerRequest) {
  const Row& row = GetParam();
  const workloads::Workload w = uniform(row);
  EXPECT_EQ(fa3_call(w, kHopper, true).split.num_n_blocks, row.fa3_blocks);
  const Plan plan = make_plan("fa3", w, kHopper);
  EXPECT_EQ(plan.num_splits, row.fa3_bound);
  EXPECT_EQ(splits_per_request(w, plan),
            std::vector<std::int32_t>(static_cast<std::size_t>(row.batch), row.fa3_dynamic));
  EXPECT_EQ(plan.lists(), row.fa3_tiles);
  EXPECT_EQ(plan.ctas(), 132);
  EXPECT_EQ(plan.merge, row.fa3_bound > 1 ? MergeKind::kernel : MergeKind::none) << "the bound decides the combine";
}

TEST_P(WorkedExample, Fa3PagedTile) {
  const Row& row = GetParam();
  const workloads::Workload w = paged(uniform(row), 64);
  EXPECT_EQ(fa3_call(w, kHopper, true).split.num_n_blocks, row.paged_blocks);
  const Plan plan = make_plan("fa3", w, kHopper);
  EXPECT_EQ(plan.num_splits, row.paged_bound);
  EXPECT_EQ(splits_per_request(w, plan),
            std::vector<std::int32_t>(static_cast<std::size_t>(row.batch), row.paged_dynamic));
}

std::string test_name(const ::testing::TestParamInfo<Row>& param) {
  const Row& r = param.param;
  std::string name;
  for (const std::int32_t part : {r.batch, r.query_heads, r.kv_heads, r.head_dim, r.context_len}) {
    name += '_';
    name += std::to_string(part);
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Table, WorkedExample, ::testing::ValuesIn(kRows), test_name);

}  // namespace
}  // namespace splitwave::schedules
