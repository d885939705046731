// SPDX-License-Identifier: Apache-2.0
// Parts of workloads: the same values as in the whole, and offsets far beyond what any memory holds.
#include "workloads/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/workloads/refused.h"
#include "workloads/load.h"

namespace splitwave::workloads {
namespace {

constexpr std::int64_t kMemory = std::int64_t{1} << 28;

TEST(Sample, GroupsAreDifferentSortedAndHoldTheLast) {
  for (const char* const spec : {"h=8/4,d=8:7q1s10", "h=1024/1024,d=8:3q1s10", "h=4096/4096,d=8:500000q1s1"}) {
    const Workload w = parse_spec(spec);
    for (const std::int64_t count : {1, 2, 27, 500}) {
      const std::vector<KvGroup> groups = sample_groups(w, count);
      const std::int64_t all = static_cast<std::int64_t>(w.requests.size()) * w.geometry.kv_heads;
      ASSERT_EQ(static_cast<std::int64_t>(groups.size()), std::min(count, all)) << spec;
      EXPECT_TRUE(std::adjacent_find(groups.begin(), groups.end(), std::greater_equal<>()) == groups.end()) << spec;
      EXPECT_EQ(groups.back(), (KvGroup{static_cast<std::int32_t>(w.requests.size()) - 1, w.geometry.kv_heads - 1}));
      for (const KvGroup& group : groups) {
        EXPECT_TRUE(group.request >= 0 && group.kv_head >= 0 && group.kv_head < w.geometry.kv_heads) << spec;
      }
      EXPECT_EQ(sample_groups(w, count), groups);
    }
  }
  EXPECT_TRUE(sample_groups(Workload{}, 3).empty());
}

TEST(Sample, OtherSeedsDrawOtherGroups) {
  Workload w = parse_spec("h=8/4,d=8:1000q1s10");
  const std::vector<KvGroup> groups = sample_groups(w, 20);
  w.seed += 1;
  EXPECT_NE(sample_groups(w, 20), groups);
}

bool same_row(const Workload& w, const Bytes& whole, std::int64_t at, const Bytes& part, std::int64_t at_part,
              std::int32_t elements) {
  const std::int64_t size = bytes_per_element(w.geometry.dtype);
  return std::memcmp(whole.data() + at * size, part.data() + at_part * size,
                     static_cast<std::size_t>(elements * size)) == 0;
}

TEST(Sample, ElementsAreThoseOfTheWhole) {
  for (const char* const spec : {"h=6/3,d=16:2q2s9_1q1s30", "h=6/3,d=16,page=4:2q2s9_1q1s30"}) {
    for (const bool head_major : {false, true}) {
      Workload w = parse_spec(spec);
      if (head_major && w.kv.layout == KvLayout::bshd) w.kv.layout = KvLayout::bhsd;
      const Tensors whole = make_tensors(w, kMemory);
      const std::vector<KvGroup> groups = sample_groups(w, 4);
      const Workload part = sampled_workload(w, groups);
      validate(part);
      const Tensors tensors = make_sampled_tensors(w, groups, kMemory);
      for (std::int32_t i = 0; i < 4; ++i) {
        const KvGroup& g = groups[static_cast<std::size_t>(i)];
        const Request& request = part.requests[static_cast<std::size_t>(i)];
        for (std::int32_t token = 0; token < request.context_len; ++token) {
          ASSERT_TRUE(same_row(w, whole.k, k_row(w, whole, g.request, token, g.kv_head), tensors.k,
                               k_row(part, tensors, i, token, 0), 16));
          ASSERT_TRUE(same_row(w, whole.v, v_row(w, whole, g.request, token, g.kv_head), tensors.v,
                               v_row(part, tensors, i, token, 0), 16));
        }
        for (std::int32_t query = 0; query < request.query_len; ++query) {
          for (std::int32_t head = 0; head < 2; ++head) {
            ASSERT_TRUE(same_row(w, whole.q, q_row(w, whole, g.request, query, 2 * g.kv_head + head), tensors.q,
                                 q_row(part, tensors, i, query, head), 16));
          }
        }
      }
    }
  }
}

TEST(Sample, TakesTheMemoryOfItsGroupsAlone) {
  const Workload w = parse_spec("h=1024/1024,d=8:100000q1s1000");
  EXPECT_EQ(make_sampled_tensors(w, sample_groups(w, 2), 1 << 20).k.size(), 2U * 1000 * 8 * 2);
  tests::expect_refused([&] { make_sampled_tensors(w, sample_groups(w, 100), 1 << 20); }, {"1048576"});
  tests::expect_refused([&] { make_tensors(w, kMemory); }, {"3278438400000"});
}

/// Prefix sums and tables alone: the tensors that they belong to would take terabytes.
Tensors tables_of(const Workload& w) {
  Tensors tensors;
  tensors.first_query = {0};
  tensors.first_token = {0};
  for (const Request& request : w.requests) {
    tensors.first_query.push_back(tensors.first_query.back() + request.query_len);
    tensors.first_token.push_back(tensors.first_token.back() + request.context_len);
  }
  return tensors;
}

TEST(Sample, OffsetsBeyondTwoToThe32AreExact) {
  Workload w = parse_spec("h=1024/1024,d=128:2q1s10000000");
  const Tensors tensors = tables_of(w);
  // The last row of all: its elements end where the tensor does.
  constexpr std::int64_t kRows = std::int64_t{2} * 10'000'000 * 1024;
  EXPECT_EQ(k_row(w, tensors, 1, 9'999'999, 1023), (kRows - 1) * 128);
  EXPECT_EQ(v_row(w, tensors, 1, 9'999'999, 1023), (kRows - 1) * 128);
  w.kv.layout = KvLayout::bhsd;
  EXPECT_EQ(k_row(w, tensors, 1, 9'999'999, 1023), (kRows - 1) * 128);
  EXPECT_EQ(k_row(w, tensors, 0, 9'999'999, 1023), (kRows / 2 - 1) * 128);
  w.geometry.query_heads = 4096;
  w.requests = std::vector<Request>(1 << 19, {1, 1});
  EXPECT_EQ(q_row(w, tables_of(w), (1 << 19) - 1, 0, 4095), ((std::int64_t{1} << 31) - 1) * 128);
}

TEST(Sample, OffsetsOfHugePhysicalPagesAreExact) {
  Workload w = parse_spec("h=8/8,d=128,page=16:1q1s40");
  Tensors tensors = tables_of(w);
  tensors.first_page = {0, 3};
  constexpr std::int32_t kLast = 2'147'483'646;
  tensors.block_table = {0, 262'144, kLast};
  EXPECT_EQ(k_row(w, tensors, 0, 16, 0), std::int64_t{262'144} * 16 * 8 * 128);  // 2^32
  EXPECT_EQ(v_row(w, tensors, 0, 39, 7), ((std::int64_t{kLast} * 16 + 7) * 8 + 7) * 128);
}

}  // namespace
}  // namespace splitwave::workloads
