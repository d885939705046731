// SPDX-License-Identifier: Apache-2.0
#include "studies/neighbours.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.h"
#include "tests/support/battery.h"

namespace splitwave::studies {
namespace {

using workloads::Workload;

constexpr std::int64_t kMemory = std::int64_t{1} << 30;

Workload ragged() {
  return testing::with_queries(testing::decode("ragged", testing::geometry(4, 2, 32), {70, 33, 0, 128, 5}), {1, 3, 1});
}

std::size_t row_bytes(const Workload& workload, std::int32_t row) {
  return static_cast<std::size_t>(row * workloads::bytes_per_element(workload.geometry.dtype));
}

/// Whether all rows of a request hold what the original's hold.
bool same_request(const Workload& given, const workloads::Tensors& tensors, std::int32_t original,
                  const NeighbourBatch& batch, const workloads::Tensors& here, std::int32_t position) {
  const workloads::Geometry& g = given.geometry;
  const std::int64_t size = workloads::bytes_per_element(g.dtype);
  const auto same = [&](const workloads::Bytes& one, std::int64_t a, const workloads::Bytes& other, std::int64_t b,
                        std::int32_t row) {
    return std::memcmp(one.data() + a * size, other.data() + b * size, row_bytes(given, row)) == 0;
  };
  const workloads::Request& request = given.requests[static_cast<std::size_t>(original)];
  for (std::int32_t i = 0; i < request.query_len; ++i) {
    for (std::int32_t h = 0; h < g.query_heads; ++h) {
      if (!same(tensors.q, q_row(given, tensors, original, i, h), here.q, q_row(batch.workload, here, position, i, h),
                g.head_dim)) {
        return false;
      }
    }
  }
  const bool mla = g.kind == workloads::AttentionKind::mla;
  for (std::int32_t i = 0; i < request.context_len; ++i) {
    for (std::int32_t h = 0; h < g.kv_heads; ++h) {
      if (!same(tensors.k, k_row(given, tensors, original, i, h), here.k, k_row(batch.workload, here, position, i, h),
                g.head_dim) ||
          !same(mla ? tensors.k : tensors.v, v_row(given, tensors, original, i, h), mla ? here.k : here.v,
                v_row(batch.workload, here, position, i, h), g.value_dim)) {
        return false;
      }
    }
  }
  return true;
}

TEST(Neighbours, EachRequestIsAloneOnce) {
  const std::vector<NeighbourBatch> batches = alone(ragged());
  ASSERT_EQ(batches.size(), 5U);
  for (std::int32_t request = 0; request < 5; ++request) {
    EXPECT_EQ(batches[request].original, std::vector<std::int32_t>{request});
    EXPECT_EQ(batches[request].workload.requests.front(), ragged().requests[request]);
  }
}

TEST(Neighbours, BatchesDifferInSizeOrderAndNeighbours) {
  std::set<std::size_t> sizes;
  bool moved = false;
  bool strangers = false;
  for (const NeighbourBatch& batch : among_others(ragged())) {
    SCOPED_TRACE(batch.name);
    ASSERT_EQ(batch.original.size(), batch.workload.requests.size());
    workloads::validate(batch.workload);
    sizes.insert(batch.original.size());
    for (std::size_t position = 0; position < batch.original.size(); ++position) {
      const std::int32_t original = batch.original[position];
      strangers = strangers || original == kStranger;
      if (original == kStranger) continue;
      moved = moved || original != static_cast<std::int32_t>(position);
      EXPECT_EQ(batch.workload.requests[position], ragged().requests[original]);
    }
  }
  EXPECT_TRUE(moved);
  EXPECT_TRUE(strangers);
  EXPECT_GE(sizes.size(), 6U);
  EXPECT_TRUE(sizes.contains(2) && sizes.contains(4) && sizes.contains(6) && sizes.contains(20));
}

TEST(Neighbours, LargeBatchesArePlannedOnly) {
  std::int64_t planned = 0;
  for (const NeighbourBatch& batch : among_others(testing::decode("long", testing::geometry(4, 2, 32), {4000}))) {
    std::int64_t tokens = 0;
    for (const workloads::Request& request : batch.workload.requests) tokens += request.context_len;
    EXPECT_EQ(batch.plan_only, tokens > 32768) << batch.name;
    planned += batch.plan_only ? 1 : 0;
  }
  EXPECT_EQ(planned, 3) << "16, 64 and 512 requests";
}

TEST(Neighbours, OneRequestAndNoneHaveBatchesToo) {
  EXPECT_GE(among_others(testing::decode("one", testing::geometry(4, 2, 32), {100})).size(), 5U);
  EXPECT_TRUE(among_others(testing::decode("none", testing::geometry(4, 2, 32), {})).empty());
}

TEST(Neighbours, StrangersStayWithinTheCache) {
  Workload w = ragged();
  w.kv.cache_len = 256;
  for (const NeighbourBatch& batch : among_others(w))
    EXPECT_NO_THROW(workloads::validate(batch.workload)) << batch.name;
}

TEST(Neighbours, RequestsKeepTheirTensorsWhereverTheyLie) {
  Workload bhsd = ragged();
  bhsd.kv.layout = workloads::KvLayout::bhsd;
  const Workload latent = testing::paged(testing::decode("mla", testing::mla(16), {40, 7}), 16);
  for (const Workload& given : {ragged(), bhsd, testing::paged(ragged(), 16), latent}) {
    const workloads::Tensors tensors = workloads::make_tensors(given, kMemory);
    for (const NeighbourBatch& batch : among_others(given)) {
      if (batch.plan_only) continue;
      SCOPED_TRACE(given.name + ", " + batch.name);
      const workloads::Tensors here = tensors_of(batch, given, tensors, kMemory);
      for (std::size_t position = 0; position < batch.original.size(); ++position) {
        const std::int32_t original = batch.original[position];
        const auto at = static_cast<std::int32_t>(position);
        if (original != kStranger) {
          EXPECT_TRUE(same_request(given, tensors, original, batch, here, at));
        } else if (position < given.requests.size() && batch.workload.requests[position] == given.requests[position]) {
          EXPECT_FALSE(same_request(given, tensors, at, batch, here, at)) << "a stranger has tensors of its own";
        }
      }
    }
  }
}

TEST(Neighbours, MemoryIsCheckedBeforeItIsTaken) {
  const NeighbourBatch batch = alone(ragged()).front();
  const workloads::Tensors tensors = workloads::make_tensors(ragged(), kMemory);
  EXPECT_THROW(tensors_of(batch, ragged(), tensors, 10), base::InputError);
}

}  // namespace
}  // namespace splitwave::studies
