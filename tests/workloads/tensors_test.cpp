// SPDX-License-Identifier: Apache-2.0
#include "workloads/tensors.h"
#include "base/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "tests/workloads/refused.h"
#include "workloads/load.h"
#include "workloads/tensor_values.h"

namespace splitwave::workloads {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

constexpr const char* kRagged = "h=6/2,d=40,dv=24:q1s17_3q1s0_2q3s33_q1s1_q1s64";
// Rows of more elements than are drawn at a time.
constexpr const char* kWide = "h=2/1,d=520,dv=264:2q1s5";

Workload example(KvLayout layout, Dtype dtype = Dtype::f16, Distribution distribution = Distribution::normal,
                 const char* spec = kRagged) {
  Workload w = parse_spec(spec);
  w.kv.layout = layout;
  w.kv.page_size = layout == KvLayout::paged ? 16 : 0;
  w.geometry.dtype = dtype;
  w.distribution = distribution;
  w.seed = 99;
  validate(w);
  return w;
}

struct Case {
  KvLayout layout;
  Dtype dtype;
  Distribution distribution;
  const char* spec = kRagged;
};

class MadeTensors : public testing::TestWithParam<Case> {};

// Whatever the layout, an element is the function of its coordinates, rounded.
TEST_P(MadeTensors, HoldTheValuesOfTheirCoordinates) {
  const Workload w = example(GetParam().layout, GetParam().dtype, GetParam().distribution, GetParam().spec);
  const Geometry& g = w.geometry;
  const Tensors t = make_tensors(w, kNoLimit);
  const bool outliers = w.distribution == Distribution::outliers;
  const auto expect_row = [&](const workloads::Bytes& tensor, std::int64_t at, std::int32_t size, Tensor which,
                              std::int32_t request, std::int32_t position, std::int32_t head) {
    const std::uint64_t key = row_key(w.seed, which, static_cast<std::uint32_t>(request),
                                      static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(head));
    for (std::int32_t e = 0; e < size; ++e) {
      const float value = element_value(key, static_cast<std::uint32_t>(e), outliers);
      const float stored = from_bits(g.dtype, round_to_bits(g.dtype, value));
      ASSERT_EQ(load_element(g.dtype, tensor, at + e), stored) << request << ' ' << position << ' ' << head << ' ' << e;
    }
  };
  for (std::int32_t r = 0; r < static_cast<std::int32_t>(w.requests.size()); ++r) {
    const Request& request = w.requests[static_cast<std::size_t>(r)];
    for (std::int32_t q = 0; q < request.query_len; ++q) {
      for (std::int32_t h = 0; h < g.query_heads; ++h) {
        expect_row(t.q, q_row(w, t, r, q, h), g.head_dim, Tensor::q, r, q, h);
      }
    }
    for (std::int32_t p = 0; p < request.context_len; ++p) {
      for (std::int32_t h = 0; h < g.kv_heads; ++h) {
        expect_row(t.k, k_row(w, t, r, p, h), g.head_dim, Tensor::k, r, p, h);
        expect_row(t.v, v_row(w, t, r, p, h), g.value_dim, Tensor::v, r, p, h);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, MadeTensors,
                         testing::Values(Case{KvLayout::bshd, Dtype::f16, Distribution::normal},
                                         Case{KvLayout::bhsd, Dtype::bf16, Distribution::normal},
                                         Case{KvLayout::paged, Dtype::f32, Distribution::normal},
                                         Case{KvLayout::paged, Dtype::f16, Distribution::outliers},
                                         Case{KvLayout::bshd, Dtype::f16, Distribution::normal, kWide},
                                         Case{KvLayout::bshd, Dtype::bf16, Distribution::normal, kWide}));

TEST(Tensors, RowsOfContiguousLayoutsFillTheTensorsExactly) {
  for (const KvLayout layout : {KvLayout::bshd, KvLayout::bhsd}) {
    const Workload w = example(layout);
    const Tensors t = make_tensors(w, kNoLimit);
    std::set<std::int64_t> starts;
    for (std::int32_t r = 0; r < static_cast<std::int32_t>(w.requests.size()); ++r) {
      for (std::int32_t p = 0; p < w.requests[static_cast<std::size_t>(r)].context_len; ++p) {
        for (std::int32_t h = 0; h < w.geometry.kv_heads; ++h) starts.insert(k_row(w, t, r, p, h));
      }
    }
    const std::int64_t rows = static_cast<std::int64_t>(t.k.size()) / 2 / w.geometry.head_dim;
    ASSERT_EQ(static_cast<std::int64_t>(starts.size()), rows);
    EXPECT_EQ(*starts.rbegin(), (rows - 1) * w.geometry.head_dim);
  }
}

TEST(Tensors, LayoutsAreWhatTheirNamesSay) {
  const Workload token_major = example(KvLayout::bshd);
  const Workload head_major = example(KvLayout::bhsd);
  const Tensors a = make_tensors(token_major, kNoLimit);
  const Tensors b = make_tensors(head_major, kNoLimit);
  EXPECT_EQ(k_row(token_major, a, 0, 1, 0) - k_row(token_major, a, 0, 0, 0), 2 * 40);
  EXPECT_EQ(k_row(token_major, a, 0, 0, 1) - k_row(token_major, a, 0, 0, 0), 40);
  EXPECT_EQ(k_row(head_major, b, 0, 1, 0) - k_row(head_major, b, 0, 0, 0), 40);
  EXPECT_EQ(k_row(head_major, b, 0, 0, 1) - k_row(head_major, b, 0, 0, 0), 17 * 40);
}

TEST(Tensors, PagesAreAPermutationThatTheSeedChooses) {
  Workload w = parse_spec("h=1,d=8,page=4:32q1s9");
  const Tensors t = make_tensors(w, kNoLimit);
  std::vector<std::int32_t> sorted = t.block_table;
  ASSERT_EQ(sorted.size(), 96U);
  EXPECT_FALSE(std::is_sorted(sorted.begin(), sorted.end()));
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::int32_t> all(96);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(sorted, all);
  EXPECT_EQ(make_tensors(w, kNoLimit).block_table, t.block_table);
  w.seed = 1;
  EXPECT_NE(make_tensors(w, kNoLimit).block_table, t.block_table);
}

TEST(Tensors, UnusedSlotsOfPagesAreNan) {
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    const Workload w = example(KvLayout::paged, dtype);
    const Tensors t = make_tensors(w, kNoLimit);
    const auto size = static_cast<std::int64_t>(t.k.size()) / bytes_per_element(dtype);
    std::int64_t used = 0;
    for (const Request& request : w.requests) used += request.context_len;
    std::int64_t not_numbers = 0;
    for (std::int64_t i = 0; i < size; ++i) not_numbers += std::isnan(load_element(dtype, t.k, i)) ? 1 : 0;
    EXPECT_EQ(not_numbers, size - used * 2 * 40);
    EXPECT_GT(not_numbers, 0);
  }
}

TEST(Tensors, MlaHasNoVOfItsOwn) {
  const Workload w = parse_spec("deepseek-v3@tp=8:2q1s5");
  const Tensors t = make_tensors(w, kNoLimit);
  EXPECT_TRUE(t.v.empty());
  EXPECT_EQ(t.k.size(), 2U * 5 * 576 * 2);
  EXPECT_EQ(v_row(w, t, 1, 3, 0), k_row(w, t, 1, 3, 0));
}

TEST(Tensors, ContextsAndQueriesArePrefixSums) {
  const Tensors t = make_tensors(example(KvLayout::bshd), kNoLimit);
  EXPECT_EQ(t.first_query, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 7, 10, 11, 12}));
  EXPECT_EQ(t.first_token, (std::vector<std::int64_t>{0, 17, 17, 17, 17, 50, 83, 84, 148}));
  EXPECT_TRUE(t.first_page.empty());
  EXPECT_TRUE(t.block_table.empty());
}

TEST(Tensors, MemoryIsCheckedBeforeItIsTaken) {
  const Workload w = parse_spec("h=8/8,d=128:4q1s1k");
  const std::int64_t exact = 2LL * (4 * 8 * 128 + 2 * 4 * 1024 * 8 * 128);
  EXPECT_NO_THROW(make_tensors(w, exact));
  tests::expect_refused([&] { make_tensors(w, exact - 1); }, {"h=8/8,d=128:4q1s1k", "16785408", "16785407"});
}

TEST(Tensors, SizesBeyondTwoToThe31AreRefusedNotWrapped) {
  // 2^30 tokens of 4096 heads of 1024 elements: 2^53 bytes per tensor.
  const Workload w = parse_spec("h=4096/4096,d=1024:q1s1048576k");
  tests::expect_refused([&] { make_tensors(w, base::available_memory_bytes()); }, {"18014398517870592"});
}

TEST(Tensors, EmptyBatchAndEmptyContextsNeedNoMemory) {
  Workload w = parse_spec("h=2,d=8:3q1s0");
  EXPECT_TRUE(make_tensors(w, 1 << 10).k.empty());
  w.requests.clear();
  const Tensors t = make_tensors(w, 0);
  EXPECT_TRUE(t.q.empty());
  EXPECT_EQ(t.first_query, (std::vector<std::int64_t>{0}));
}

TEST(Tensors, StoredElementsAreLoadedRounded) {
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32}) {
    workloads::Bytes tensor(16, std::byte{0});
    store_element(dtype, tensor, 2, 0.1F);
    EXPECT_EQ(load_element(dtype, tensor, 2), from_bits(dtype, round_to_bits(dtype, 0.1F)));
    EXPECT_EQ(load_element(dtype, tensor, 1), 0.0F);
    EXPECT_EQ(load_element(dtype, tensor, 3), 0.0F);
  }
}

TEST(Tensors, BeginOnCacheLinesAndLargeOnesApartInTheirPages) {
  constexpr std::size_t kHuge = std::size_t{2} << 20;
  const auto place = [](const Bytes& bytes) { return reinterpret_cast<std::uintptr_t>(bytes.data()); };
  for (const std::size_t size : {std::size_t{1}, std::size_t{1000}, kHuge - 1}) {
    EXPECT_EQ(place(Bytes(size)) % 64, 0U) << size;
  }
  const Bytes k(kHuge);
  const Bytes v(5 * kHuge / 2 + 13, std::byte{7});
  EXPECT_EQ(place(k) % 64, 0U);
  EXPECT_EQ(place(v) % 64, 0U);
  EXPECT_LT(place(k) % kHuge, 4096U);
  EXPECT_LT(place(v) % kHuge, 4096U);
  EXPECT_NE(place(k) % 4096, place(v) % 4096);
  EXPECT_EQ(static_cast<std::size_t>(std::count(v.begin(), v.end(), std::byte{7})), v.size());
}

TEST(Tensors, AvailableMemoryIsAPlausibleFigure) {
  EXPECT_GT(base::available_memory_bytes(), std::int64_t{16} << 20);
  EXPECT_LT(base::available_memory_bytes(), std::int64_t{1} << 50);
}

}  // namespace
}  // namespace splitwave::workloads
