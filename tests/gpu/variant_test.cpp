// SPDX-License-Identifier: Apache-2.0
#include "gpu/variant.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "gpu/device.h"
#include "gpu/kernels/table.h"
#include "schedules/schedules.h"
#include "tests/support/battery.h"

namespace splitwave::gpu {
namespace {

TEST(Variant, NamesReadBack) {
  const Variant variant{2, 8, 3, 32, 4};
  EXPECT_EQ(to_string(variant), "r2w8s3t32c4");
  EXPECT_EQ(parse_variant("r2w8s3t32c4"), variant);
}

TEST(Variant, BadNamesAreRefused) {
  for (const char* text :
       {"", "r1", "r1w4s4t16", "r1w4s4t16c1x", "w4r1s4t16c1", "r0w4s4t16c1", "r1w4s4t16c99999999999"}) {
    EXPECT_THROW(parse_variant(text), base::InputError) << text;
  }
}

TEST(Variant, NoSimpleKernelIsListedTwice) {
  for (const auto kernels : {f16_d64_simple_kernels(), f16_d128_simple_kernels(), f16_d256_simple_kernels(),
                             bf16_d64_simple_kernels(), bf16_d128_simple_kernels(), bf16_d256_simple_kernels()}) {
    std::set<const void*> functions;
    for (const DecodeKernel& kernel : kernels) functions.insert(kernel.function);
    EXPECT_EQ(functions.size(), kernels.size()) << "head_dim " << kernels.front().head_dim;
  }
}

bool simple(const workloads::Workload& w, const char* schedule, const Variant& v) {
  schedules::Grid grid{132, 1, 0, 64};
  grid.tile_q = 8 * v.row_tiles;
  return is_simple(w, schedules::make_plan(schedule, w, grid), v);
}

TEST(Variant, SimpleKernelsTakeSingleQueriesOneItemToAList) {
  const workloads::Geometry g = testing::geometry(16, 2, 128);
  const Variant rings{1, 4, 4, 16, 1};
  const Variant once{1, 4, 1, 16, 2};  // 128 tokens
  const workloads::Workload uniform = testing::decode("uniform", g, {100, 100});
  const workloads::Workload ragged = testing::decode("ragged", g, {128, 1});
  for (const Variant& v : {rings, once}) {
    EXPECT_TRUE(simple(uniform, "fixed-split:1", v)) << to_string(v);
    EXPECT_TRUE(simple(ragged, "fixed-split:1", v)) << to_string(v);
    EXPECT_FALSE(simple(testing::with_queries(uniform, {2}), "fixed-split:1", v)) << to_string(v);
    EXPECT_FALSE(simple(testing::decode("empty_batch", g, {}), "fixed-split:1", v)) << to_string(v);
    EXPECT_FALSE(simple(testing::decode("rows", testing::geometry(32, 2, 128), {100}), "fixed-split:1", v));
    EXPECT_FALSE(simple(uniform, "fa3", v)) << "a queue";
  }
  const workloads::Workload longer = testing::decode("longer", g, {129, 100});
  const workloads::Workload with_empty = testing::decode("with_empty", g, {100, 0});
  EXPECT_TRUE(simple(longer, "fixed-split:1", rings));
  EXPECT_FALSE(simple(longer, "fixed-split:1", once));
  EXPECT_TRUE(simple(with_empty, "fixed-split:1", rings));
  EXPECT_FALSE(simple(with_empty, "fixed-split:1", once));
  EXPECT_TRUE(simple(uniform, "fixed-split:2", rings));
  EXPECT_FALSE(simple(uniform, "fixed-split:2", once));
  EXPECT_FALSE(simple(uniform, "fixed-split:1", Variant{1, 4, 4, 16, 16})) << "no such kernel";
}

TEST(Variant, WithoutADeviceTheErrorSaysSo) {
  if (has_device()) GTEST_SKIP() << "there is a device";
  EXPECT_THROW(current_device(), base::MissingError);
  EXPECT_THROW(variants(testing::decode("any", testing::geometry(8, 2, 64), {5})), base::MissingError);
}

}  // namespace
}  // namespace splitwave::gpu
