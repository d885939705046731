// SPDX-License-Identifier: Apache-2.0
#include "cpu_reference/probes.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/support/tensors.h"

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
    ASSERT_EQ(threads->read_bytes_per_second.size(), 3U);  // one, two, and all of them
    for (const double rate : threads->read_bytes_per_second) EXPECT_GT(rate, 1e6);
    ASSERT_EQ(threads->tile_seconds_per_kv_byte.size(), 2U);
    EXPECT_GT(threads->tile_seconds_per_kv_byte.at(1), 0);
    EXPECT_GT(threads->tile_seconds_per_kv_byte.at(4), 0);
  }
  // Threads that share their work end no later than the slowest of those that do not.
  EXPECT_GE(result.queue.read_bytes_per_second.back(), result.equal_shares.read_bytes_per_second.back());
  EXPECT_LE(result.queue.tile_seconds_per_kv_byte.at(4), result.equal_shares.tile_seconds_per_kv_byte.at(4));
}

TEST(Probes, AWorkloadWithoutTokensHasNothingToRead) {
  const workloads::Workload workload = testing::plain_workload(workloads::Dtype::f16, 4, 2, 64, 2, 0);
  const workloads::Tensors tensors = testing::tensors_with(workload, testing::normal_values(1));
  Probes probes(workload, tensors, {2}, 1);
  probes.measure();
  EXPECT_TRUE(probes.result().queue.read_bytes_per_second.empty());
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
