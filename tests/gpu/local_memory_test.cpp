// SPDX-License-Identifier: Apache-2.0
// What a kernel cannot keep in registers goes to local memory, which is memory: no kernel may begin to do so unseen.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "gpu/kernels/table.h"
#include "tests/gpu/device_fixture.h"

namespace splitwave::gpu {
namespace {

/// Bytes of local memory for each thread; the most that any kernel of the family takes.
std::map<std::string, std::size_t> local_bytes() {
  std::map<std::string, std::size_t> all;
  for (const auto kernels :
       {f16_d64_kernels(), f16_d128_kernels(), f16_d256_kernels(), bf16_d64_kernels(), bf16_d128_kernels(),
        bf16_d256_kernels(), f16_d64_group_kernels(), f16_d128_group_kernels(), f16_d256_group_kernels(),
        bf16_d64_group_kernels(), bf16_d128_group_kernels(), bf16_d256_group_kernels(), f16_latent_kernels(),
        bf16_latent_kernels(), f16_d64_single_item_kernels(), f16_d128_single_item_kernels(),
        f16_d256_single_item_kernels(), bf16_d64_single_item_kernels(), bf16_d128_single_item_kernels(),
        bf16_d256_single_item_kernels()}) {
    for (const DecodeKernel& kernel : kernels) {
      cudaFuncAttributes attributes{};
      if (cudaFuncGetAttributes(&attributes, kernel.function) != cudaSuccess) continue;
      const char* team = kernel.team == Team::warps ? "" : kernel.team == Team::group ? " group" : " seesaw";
      const std::string name = fmt::format("d{}{} {} rows, {} warps{}{}", kernel.head_dim, team, 8 * kernel.row_tiles,
                                           kernel.warps, kernel.single_item_cluster > 0 ? ", one item" : "",
                                           kernel.masked ? ", masked" : "");
      std::size_t& most = all[name];
      most = std::max(most, attributes.localSizeBytes);
    }
  }
  return all;
}

class LocalMemory : public testing::DeviceTest {};

TEST_F(LocalMemory, NoFurtherKernelSpills) {
  if (current_device().compute_capability != 90) GTEST_SKIP() << "counted for compute capability 9.0";
  const std::map<std::string, std::size_t> known = {
  };
  for (const auto& [name, bytes] : local_bytes()) {
    const auto at = known.find(name);
    EXPECT_LE(bytes, at == known.end() ? 0 : at->second) << name;
  }
}

}  // namespace
}  // namespace splitwave::gpu
