// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/probes.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/support/tensors.h"
#include "workloads/load.h"

namespace splitwave::cpu_reference {
namespace {

TEST(Probes, GiveBandwidthByThreadsAndTileTimeByRows) {
  const workloads::Workload workload = testing::plain_workload(workloads::Dtype::f16, 8, 2, 64, 3, 700);
  const workloads::Tensors tensors = testing::tensors_with(workload, testing::normal_values(1));
  Probes probes(workload, tensors, {1, 4}, 3);
  EXPECT_THROW(probes.result(), std::logic_error);
  for (int round = 0; round < 3; ++round) probes.measure();
  const ProbedCpu result = probes.result();
  EXPECT_EQ(result.rounds, 3);
  EXPECT_GT(result.fork_seconds, 0);
  EXPECT_GE(result.read_spread, 0);
  for (const ProbedThreads* threads : {&result.equal_shares, &result.queue}) {
    for (const std::vector<double>& rates : {threads->read_by_heads, threads->read_by_requests}) {
      ASSERT_EQ(rates.size(), 3U);  // one, two, and all of them
      for (const double rate : rates) EXPECT_GT(rate, 1e6);
    }
    ASSERT_EQ(threads->rows.size(), 2U);
    for (const std::int32_t rows : {1, 4}) {
      const ProbedRows& costs = threads->rows.at(rows);
      EXPECT_GT(costs.tile_seconds_per_kv_byte, 0);
      EXPECT_GE(costs.stream_seconds_per_kv_byte, costs.tile_seconds_per_kv_byte);
      EXPECT_GE(costs.list_seconds, 0);
      EXPECT_GE(costs.item_seconds, 0);
    }
  }
  // Threads that share their work end no later than the slowest of those that do not, but for what the clock reads.
  constexpr double kNoise = 1.05;
  const auto tile = [](const ProbedThreads& threads) { return threads.rows.at(4).tile_seconds_per_kv_byte; };
  EXPECT_GE(kNoise * result.queue.read_by_heads.back(), result.equal_shares.read_by_heads.back());
  EXPECT_LE(tile(result.queue), kNoise * tile(result.equal_shares));
}

TEST(Probes, TakeEveryLayoutAndKind) {
  for (const char* spec : {"h=8/4,d=40:1q1s300", "h=8/4,d=40,layout=bhsd:1q1s300", "h=8/4,d=40,page=16:1q1s300",
                           "h=8/4,d=40,window=70:1q1s300", "h=16/1,d=576,dv=512,kind=mla,page=64:1q1s100"}) {
    const workloads::Workload workload = workloads::parse_spec(spec);
    const workloads::Tensors tensors = workloads::make_tensors(workload, 1 << 30);
    Probes probes(workload, tensors, {2}, 2);
    probes.measure();
    EXPECT_GT(probes.result().queue.rows.at(2).stream_seconds_per_kv_byte, 0) << spec;
  }
}

TEST(Probes, AWorkloadWithoutTokensHasNothingToRead) {
  const workloads::Workload workload = testing::plain_workload(workloads::Dtype::f16, 4, 2, 64, 2, 0);
  const workloads::Tensors tensors = testing::tensors_with(workload, testing::normal_values(1));
  Probes probes(workload, tensors, {2}, 1);
  probes.measure();
  EXPECT_TRUE(probes.result().queue.read_by_heads.empty());
  EXPECT_EQ(probes.result().read_spread, 0);
}

TEST(Probes, RefuseWhatMeansNothing) {
  const workloads::Workload workload = testing::plain_workload(workloads::Dtype::f16, 4, 2, 64, 1, 10);
  const workloads::Tensors tensors = testing::tensors_with(workload, testing::normal_values(1));
  EXPECT_THROW(Probes(workload, tensors, {2}, 0), std::logic_error);
  EXPECT_THROW(Probes(workload, tensors, {0}, 1), std::logic_error);
}

}  // namespace
}  // namespace splitwave::cpu_reference
