// SPDX-License-Identifier: Apache-2.0
// What a kernel cannot keep in registers goes to local memory, which is memory: no kernel may begin to do so unseen.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "gpu/kernels/table.h"
#include "tests/gpu/device_fixture.h"

namespace splitwave::gpu {
namespace {

/// Bytes of local memory for each thread; the most that any kernel of the family takes.
std::map<std::string, std::size_t> local_bytes() {
  std::map<std::string, std::size_t> all;
  for (const auto kernels : {f16_d64_kernels(),
                             f16_d128_kernels(),
                             f16_d256_kernels(),
                             bf16_d64_kernels(),
                             bf16_d128_kernels(),
                             bf16_d256_kernels(),
                             f16_d64_waiting_kernels(),
                             f16_d128_waiting_kernels(),
                             f16_d256_waiting_kernels(),
                             bf16_d64_waiting_kernels(),
                             bf16_d128_waiting_kernels(),
                             bf16_d256_waiting_kernels(),
                             f16_d64_group_kernels(),
                             f16_d128_group_kernels(),
                             f16_d256_group_kernels(),
                             bf16_d64_group_kernels(),
                             bf16_d128_group_kernels(),
                             bf16_d256_group_kernels(),
                             f16_latent_kernels(),
                             bf16_latent_kernels(),
                             f16_d64_single_item_kernels(),
                             f16_d128_single_item_kernels(),
                             f16_d256_single_item_kernels(),
                             bf16_d64_single_item_kernels(),
                             bf16_d128_single_item_kernels(),
                             bf16_d256_single_item_kernels(),
                             f16_d64_pair_kernels(),
                             bf16_d64_pair_kernels()}) {
    for (const DecodeKernel& kernel : kernels) {
      cudaFuncAttributes attributes{};
      EXPECT_EQ(cudaFuncGetAttributes(&attributes, kernel.function), cudaSuccess);
      constexpr std::array kTeams = {"", " group", " seesaw", " alone", " portable"};
      const char* team = kTeams[static_cast<std::size_t>(kernel.team)];
      const std::string name = fmt::format("d{}{} {} rows, {} warps{}{}{}", kernel.head_dim, team, 8 * kernel.row_tiles,
                                           kernel.warps, kernel.single_item_cluster > 0 ? ", one item" : "",
                                           kernel.waits ? ", waits" : "", kernel.masked ? ", masked" : "");
      std::size_t& most = all[name];
      most = std::max(most, attributes.localSizeBytes);
      if (kernel.box_function == nullptr) continue;
      attributes = {};
      EXPECT_EQ(cudaFuncGetAttributes(&attributes, kernel.box_function), cudaSuccess) << name;
      std::size_t& in_boxes = all[name + ", boxes"];
      in_boxes = std::max(in_boxes, attributes.localSizeBytes);
    }
  }
  return all;
}

class LocalMemory : public testing::DeviceTest {};

TEST_F(LocalMemory, NoFurtherKernelSpills) {
  if (current_device().compute_capability != 90) GTEST_SKIP() << "counted for compute capability 9.0";
  // What an item needs beside its loop, mostly; of 64 rows at d = 256 also what the loop does.
  const std::map<std::string, std::size_t> known = {
      {"d64 32 rows, 4 warps", 80},
      {"d64 32 rows, 4 warps, masked", 136},
      {"d64 32 rows, 4 warps, waits, masked", 64},
      {"d128 8 rows, 2 warps", 8},
      {"d128 8 rows, 4 warps", 8},
      {"d128 8 rows, 4 warps, masked", 16},
      {"d128 16 rows, 2 warps", 8},
      {"d128 16 rows, 4 warps", 40},
      {"d128 16 rows, 4 warps, masked", 48},
      {"d128 alone 8 rows, 4 warps", 32},
      {"d128 alone 8 rows, 4 warps, masked", 32},
      {"d128 alone 16 rows, 4 warps", 48},
      {"d128 alone 16 rows, 4 warps, masked", 56},
      {"d128 group 64 rows, 4 warps", 32},
      {"d128 group 64 rows, 4 warps, masked", 48},
      {"d256 8 rows, 2 warps", 64},
      {"d256 8 rows, 4 warps", 40},
      {"d256 8 rows, 4 warps, masked", 64},
      {"d256 16 rows, 4 warps", 472},
      {"d256 16 rows, 4 warps, masked", 464},
      {"d256 16 rows, 4 warps, one item", 40},
      {"d256 16 rows, 4 warps, waits", 184},
      {"d256 16 rows, 4 warps, waits, masked", 272},
      {"d256 alone 8 rows, 4 warps", 64},
      {"d256 alone 8 rows, 4 warps, masked", 48},
      {"d256 group 64 rows, 4 warps", 416},
      {"d256 group 64 rows, 4 warps, masked", 456},
      {"d576 group 64 rows, 8 warps", 32},
      {"d576 group 64 rows, 8 warps, masked", 64},
      {"d576 portable 16 rows, 4 warps", 80},
      {"d576 portable 16 rows, 4 warps, masked", 32},
      {"d576 portable 32 rows, 8 warps", 88},
      {"d576 portable 32 rows, 8 warps, masked", 32},
      {"d576 portable 64 rows, 8 warps", 552},
      {"d576 portable 64 rows, 8 warps, masked", 432},
      {"d576 seesaw 64 rows, 8 warps", 40},
      {"d576 seesaw 64 rows, 8 warps, masked", 80},
      {"d576 seesaw 64 rows, 8 warps, boxes", 24},
      {"d576 seesaw 64 rows, 8 warps, masked, boxes", 88},
  };
  const std::map<std::string, std::size_t> all = local_bytes();
  for (const auto& [name, bytes] : all) {
    const auto at = known.find(name);
    EXPECT_LE(bytes, at == known.end() ? 0 : at->second) << name;
  }
  for (const auto& [name, bytes] : known) EXPECT_TRUE(all.contains(name)) << name << " is no kernel any more";
}

}  // namespace
}  // namespace splitwave::gpu
