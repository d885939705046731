// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/accuracy/draw.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace splitwave::accuracy {
namespace {

TEST(Draw, IsTheSameForASeedAndAnotherForAnother) {
  const auto one = draw_workloads(20, 7, Drawn::ragged);
  const auto again = draw_workloads(20, 7, Drawn::ragged);
  const auto other = draw_workloads(20, 8, Drawn::ragged);
  ASSERT_EQ(one.size(), 20U);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].requests, again[i].requests);
  EXPECT_FALSE(std::equal(one.begin(), one.end(), other.begin(),
                          [](const auto& a, const auto& b) { return a.requests == b.requests; }));
  EXPECT_EQ(draw_workloads(60, 20261, Drawn::uniform).front().name, "u0-h4/2-d64-b142-27-q1")
      << "what measured times are of";
}

TEST(Draw, StaysWithinWhatItSays) {
  bool several = false;
  bool paged = false;
  for (const workloads::Workload& w : draw_workloads(200, 3, Drawn::ragged)) {
    EXPECT_LE(workloads::kv_bytes(w), 2'000'000'000) << w.name;
    EXPECT_LE(w.geometry.query_heads, 128);
    EXPECT_LE(w.requests.size(), 512U);
    several = several || workloads::max_query_len(w) > 1;
    paged = paged || w.kv.layout == workloads::KvLayout::paged;
  }
  EXPECT_TRUE(several);
  EXPECT_TRUE(paged);
}

TEST(Draw, LatentAttentionHasOneHeadOfKeysThatHoldTheValues) {
  std::size_t ragged = 0;
  for (const workloads::Workload& w : draw_workloads(60, 5, Drawn::latent)) {
    EXPECT_EQ(w.geometry.kind, workloads::AttentionKind::mla);
    EXPECT_EQ(w.geometry.value_dim, 512);
    EXPECT_GE(w.geometry.query_heads, 8);
    EXPECT_LE(workloads::max_query_len(w), 4);
    ragged += w.requests.front() != w.requests.back() ? 1 : 0;
  }
  EXPECT_GT(ragged, 10U);
}

}  // namespace
}  // namespace splitwave::accuracy
