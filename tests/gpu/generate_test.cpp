// SPDX-License-Identifier: Apache-2.0
// Tensors made on the device have the bits of tensors made on the CPU.
#include <gtest/gtest.h>

#include "gpu/decode.h"
#include "tests/gpu/device_fixture.h"
#include "tests/support/battery.h"
#include "workloads/tensors.h"

namespace splitwave::gpu {
namespace {

using workloads::Tensors;
using workloads::Workload;

class Generate : public testing::DeviceTest {};

TEST_F(Generate, SameBitsAsTheCpu) {
  for (const workloads::Dtype dtype : {workloads::Dtype::f16, workloads::Dtype::bf16}) {
    for (const workloads::Distribution distribution :
         {workloads::Distribution::normal, workloads::Distribution::outliers}) {
      for (const std::int32_t page : {0, 16, 7}) {
        for (const workloads::KvLayout layout : {workloads::KvLayout::bshd, workloads::KvLayout::bhsd}) {
          Workload w = testing::decode("bits", testing::geometry(8, 2, 64), {100, 0, 33, 1});
          w = testing::with_queries(w, {1, 3});
          w.geometry.dtype = dtype;
          w.distribution = distribution;
          w.kv.layout = layout;
          if (page > 0) w = testing::paged(w, page);
          const Tensors expected = workloads::make_tensors(w, testing::kTensorBytes);
          const Tensors actual = DeviceTensors::generate(w, 2).download_tensors();
          EXPECT_EQ(actual.block_table, expected.block_table);
          EXPECT_TRUE(actual.q == expected.q);
          if (page == 0) {
            EXPECT_TRUE(actual.k == expected.k);
            EXPECT_TRUE(actual.v == expected.v);
          } else {
            for (std::int32_t r = 0; r < 4; ++r) {  // unused slots are NaN in both, but which NaN is open
              for (std::int32_t t = 0; t < w.requests[static_cast<std::size_t>(r)].context_len; ++t) {
                const auto at = static_cast<std::ptrdiff_t>(2 * k_row(w, expected, r, t, 1));
                EXPECT_TRUE(std::equal(actual.k.begin() + at, actual.k.begin() + at + 128, expected.k.begin() + at));
              }
            }
          }
        }
      }
    }
  }
}

TEST_F(Generate, ALatentCacheIsKeysAlone) {
  for (const std::int32_t page : {0, 64}) {
    Workload w = testing::decode("latent", testing::mla(16), {100, 0, 33, 1});
    if (page > 0) w = testing::paged(w, page);
    const Tensors expected = workloads::make_tensors(w, testing::kTensorBytes);
    const DeviceTensors generated = DeviceTensors::generate(w, 2);
    const Tensors actual = generated.download_tensors();
    EXPECT_TRUE(actual.q == expected.q);
    EXPECT_TRUE(actual.v.empty());
    EXPECT_EQ(generated.pointers(1).v, nullptr);
    for (std::int32_t r = 0; r < 4; ++r) {
      for (std::int32_t t = 0; t < w.requests[static_cast<std::size_t>(r)].context_len; ++t) {
        const auto at = static_cast<std::ptrdiff_t>(2 * k_row(w, expected, r, t, 0));
        EXPECT_TRUE(std::equal(actual.k.begin() + at, actual.k.begin() + at + 1152, expected.k.begin() + at));
      }
    }
  }
}

}  // namespace
}  // namespace splitwave::gpu
