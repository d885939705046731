// SPDX-License-Identifier: Apache-2.0
#include "workloads/workload.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "workloads/load.h"

namespace splitwave::workloads {
namespace {

Geometry geometry(bool causal, std::optional<std::int32_t> window) {
  Geometry g;
  g.causal = causal;
  g.window = window;
  return g;
}

// The rule in one sentence, position by position, against the closed form.
bool sees(const Geometry& g, const Request& r, std::int32_t query, std::int32_t position) {
  const std::int32_t own = r.context_len - r.query_len + query;
  if (g.causal && position > own) return false;
  return !g.window || std::abs(position - own) < *g.window;
}

TEST(Visible, IsTheRuleOfEveryPosition) {
  for (const bool causal : {false, true}) {
    for (const std::optional<std::int32_t> window : {std::optional<std::int32_t>(), {1}, {2}, {5}, {100}}) {
      for (std::int32_t query_len = 1; query_len <= 6; ++query_len) {
        for (std::int32_t context_len = 0; context_len <= 9; ++context_len) {
          const Geometry g = geometry(causal, window);
          const Request r{query_len, context_len};
          for (std::int32_t q = 0; q < query_len; ++q) {
            const KvRange range = visible_to_query(g, r, q);
            for (std::int32_t p = 0; p < context_len; ++p) {
              ASSERT_EQ(sees(g, r, q, p), p >= range.begin && p < range.end)
                  << causal << ' ' << window.value_or(0) << ' ' << query_len << ' ' << context_len << ' ' << q << ' '
                  << p;
            }
          }
        }
      }
    }
  }
}

TEST(Visible, UnionCoversEveryQueryAndNoMore) {
  for (const bool causal : {false, true}) {
    for (const std::optional<std::int32_t> window : {std::optional<std::int32_t>(), {1}, {2}, {3}}) {
      for (std::int32_t context_len = 0; context_len <= 9; ++context_len) {
        const Geometry g = geometry(causal, window);
        const Request r{5, context_len};
        const KvRange all = visible_to_queries(g, r, 0, 5);
        for (std::int32_t p = 0; p < context_len; ++p) {
          bool seen = false;
          for (std::int32_t q = 0; q < 5; ++q) seen = seen || sees(g, r, q, p);
          ASSERT_EQ(seen, p >= all.begin && p < all.end) << causal << ' ' << context_len << ' ' << p;
        }
      }
    }
  }
}

TEST(Visible, DecodeSeesItsWindow) {
  EXPECT_EQ(visible_to_query(geometry(true, 128), {1, 1000}, 0), (KvRange{872, 1000}));
  EXPECT_EQ(visible_to_query(geometry(true, 1), {1, 1000}, 0), (KvRange{999, 1000}));
  EXPECT_EQ(visible_to_query(geometry(true, {}), {1, 0}, 0).size(), 0);
}

TEST(Visible, WindowWithoutCausalReachesAsFarAheadAsBack) {
  const Request r{5, 1000};  // queries at 995 to 999
  EXPECT_EQ(visible_to_query(geometry(false, 3), r, 0), (KvRange{993, 998}));
  EXPECT_EQ(visible_to_query(geometry(false, 3), r, 4), (KvRange{997, 1000}));
  EXPECT_EQ(visible_to_query(geometry(false, 1), r, 2), (KvRange{997, 998}));
}

TEST(Bytes, OfKnownShapes) {
  const Workload llama = parse_spec("llama-3-8b:8q1s4k");
  EXPECT_EQ(kv_bytes_per_token(llama.geometry), 512);
  EXPECT_EQ(kv_bytes(llama), 8LL * 4096 * 8 * 512);
  EXPECT_EQ(minimal_bytes(llama), kv_bytes(llama) + 8LL * 32 * 256 * 2);
  const Workload mla = parse_spec("deepseek-v3@tp=8:2q1s1k");
  EXPECT_EQ(kv_bytes_per_token(mla.geometry), 1152);
  EXPECT_EQ(kv_bytes(parse_spec("h=8/2,d=64,window=100:3q1s5k")), 3LL * 100 * 2 * 256);
  EXPECT_EQ(kv_bytes(parse_spec("h=1,d=1024:q1s1048576k")), std::int64_t{1} << 42);
}

TEST(Flops, CountVisiblePairs) {
  EXPECT_DOUBLE_EQ(flops(parse_spec("h=4/2,d=64,dv=32:q1s10")), 2.0 * 10 * 4 * 96);
  EXPECT_DOUBLE_EQ(flops(parse_spec("h=4/2,d=64:q3s10")), 2.0 * (8 + 9 + 10) * 4 * 128);
}

TEST(Geometry, ScaleIsTheRootOfTheHeadDimUnlessGiven) {
  EXPECT_DOUBLE_EQ(model_geometry("llama-3-8b").scale(), 1 / std::sqrt(128.0));
  EXPECT_DOUBLE_EQ(model_geometry("deepseek-v3").scale(), 1 / std::sqrt(192.0));
  EXPECT_EQ(model_geometry("llama-3-8b").group(), 4);
}

TEST(Batch, Extremes) {
  Workload w = parse_spec("h=1,d=8:q3s9_q5s7");
  EXPECT_EQ(padded_context_len(w), 9);
  EXPECT_EQ(max_query_len(w), 5);
  EXPECT_FALSE(has_one_query_len(w));
  w.kv.cache_len = 64;
  EXPECT_EQ(padded_context_len(w), 64);
  w.requests.pop_back();
  EXPECT_TRUE(has_one_query_len(w));
  w.requests.clear();
  EXPECT_TRUE(has_one_query_len(w));
  w.kv.cache_len.reset();
  EXPECT_EQ(padded_context_len(w), 0);
  EXPECT_EQ(max_query_len(w), 0);
}

}  // namespace
}  // namespace splitwave::workloads
