// SPDX-License-Identifier: Apache-2.0
#include "studies/split_cache.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "studies/predict.h"
#include "tests/studies/target.h"
#include "workloads/load.h"

namespace splitwave::studies {
namespace {

using tests::target;

TEST(SplitCache, AnswersTheFastestCountOfEveryLibrary) {
  const workloads::Workload w = workloads::parse_spec("llama-3-8b:1q1s8k_3q1s500");
  for (const SplitCall& call : kSplitCalls) {
    SplitCache splits(target("h100-sxm"), call);
    const Alternative best = splits.get(w);
    for (std::int32_t count = 1; count <= 64; ++count) {
      const std::string schedule = std::string(call.schedule) + ":" + std::to_string(count);
      const double seconds = predict(w, schedule, target("h100-sxm")).timeline.seconds;
      EXPECT_LE(best.seconds, seconds) << schedule;
      if (count == best.num_splits) {
        EXPECT_EQ(best.seconds, seconds) << schedule;
      }
    }
  }
}

TEST(SplitCache, OneSearchServesTheStepsOfADecodeLoop) {
  SplitCache splits(target("h100-sxm"), kSplitCalls[1]);
  workloads::Workload w = workloads::parse_spec("llama-3-8b:1q1s20_1q1s300_1q1s4000");
  for (std::int32_t step = 0; step < 300; ++step) {
    for (workloads::Request& request : w.requests) ++request.context_len;
    EXPECT_GE(splits.get(w).num_splits, 1);
  }
  EXPECT_LT(splits.size(), 6U);
}

TEST(SplitCache, KeepsToTheCap) {
  const workloads::Workload w = workloads::parse_spec("llama-3-8b:1q1s64k");
  SplitCache free(target("h100-sxm"), kSplitCalls[1]);
  ASSERT_GT(free.get(w).num_splits, 2);
  SplitCache capped(target("h100-sxm"), kSplitCalls[1], 2);
  EXPECT_EQ(capped.get(w).num_splits, 2);
}

TEST(SplitCache, SaysWhyThereIsNoAnswer) {
  SplitCache splits(target("a100"), kSplitCalls[1]);
  EXPECT_THROW(splits.get(workloads::parse_spec("llama-3-8b:1q1s1k")), base::InputError);  // Hopper's library
  workloads::Workload empty = workloads::parse_spec("llama-3-8b:1q1s1k");
  empty.requests.clear();
  SplitCache hopper(target("h100-sxm"), kSplitCalls[1]);
  EXPECT_THROW(hopper.get(empty), base::InputError);
}

}  // namespace
}  // namespace splitwave::studies
