// SPDX-License-Identifier: Apache-2.0
// What gpu/'s tables of kernels hold: entries that the runtime's stand-in runs on the host.
#include <array>
#include <span>
#include <vector>

#include "gpu/kernel_config.h"
#include "tests/gpu/stand_in/kernels.h"

namespace splitwave::gpu {
namespace {

using stand_in::KernelLaunch;

// A kernel's address is that of a byte of its own.
std::array<char, 512> addresses;
std::size_t used_addresses = 0;

template <class Params, class Run>
const void* register_kernel(Run run) {
  const void* const function = &addresses[used_addresses++];
  stand_in::add_kernel(function, {sizeof(Params), [run](const KernelLaunch& launch, const void* params) {
                                    run(launch, *static_cast<const Params*>(params));
                                  }});
  return function;
}

constexpr std::int32_t kSharedBytes = 40'000;
constexpr std::int32_t kClusterSharedBytes = 50'000;

/// Contiguous and paged.
void add_both(std::vector<DecodeKernel>& all, DecodeKernel kernel) {
  for (const bool paged : {false, true}) {
    kernel.paged = paged;
    kernel.shared_bytes = kSharedBytes;
    kernel.cluster_shared_bytes = kClusterSharedBytes;
    kernel.function = register_kernel<DecodeParams>(
        [kernel](const KernelLaunch& launch, const DecodeParams& params) { run_decode(kernel, launch, params); });
    all.push_back(kernel);
  }
}

std::vector<DecodeKernel> decode_kernels(std::int32_t head_dim, bool bf16, bool waits) {
  std::vector<DecodeKernel> all;
  for (const bool masked : {false, true}) {
    for (const std::int32_t row_tiles : {1, 2, 4}) {
      for (const Team team : {Team::warps, Team::alone}) {
        add_both(all, {head_dim, head_dim, row_tiles, 4, 128, 2, 32, false, masked, team, 0, true, waits, bf16, 0, 0,
                       nullptr});
      }
    }
  }
  return all;
}

std::vector<DecodeKernel> single_item_kernels(std::int32_t head_dim, bool bf16) {
  std::vector<DecodeKernel> all;
  for (const std::int32_t cluster : {1, 2, 4}) {
    DecodeKernel kernel{head_dim,    head_dim, 1,    4,     128,  2, 32, false,  false,
                        Team::warps, cluster,  true, false, bf16, 0, 0,  nullptr};
    add_both(all, kernel);
    kernel.stages = 1;
    if (cluster >= kLeastClusterOfParts) add_both(all, kernel);
    kernel.parts = false;
    add_both(all, kernel);
  }
  return all;
}

std::vector<DecodeKernel> latent_kernels(bool bf16) {
  std::vector<DecodeKernel> all;
  for (const bool masked : {false, true}) {
    for (const std::int32_t row_tiles : {2, 4}) {
      add_both(all,
               {576, 512, row_tiles, 4, 256, 2, 16, false, masked, Team::group, 0, true, false, bf16, 0, 0, nullptr});
    }
  }
  return all;
}

template <std::int32_t kHeadDim, bool kBf16, bool kWaits = false>
std::span<const DecodeKernel> decode() {
  static const std::vector<DecodeKernel> all = decode_kernels(kHeadDim, kBf16, kWaits);
  return all;
}

template <std::int32_t kHeadDim, bool kBf16>
std::span<const DecodeKernel> single_item() {
  static const std::vector<DecodeKernel> all = single_item_kernels(kHeadDim, kBf16);
  return all;
}

std::vector<MergeKernel> all_merge_kernels() {
  std::vector<MergeKernel> all;
  for (const std::int32_t value_dim : {64, 128, 256, 512}) {
    for (const std::int32_t row_tiles : {1, 2, 4}) {
      for (const bool bf16 : {false, true}) {
        MergeKernel kernel{value_dim, row_tiles, bf16, 128, row_tiles * value_dim / 16, nullptr, 4, nullptr};
        kernel.function = register_kernel<MergeParams>(
            [kernel](const KernelLaunch& launch, const MergeParams& params) { run_merge(kernel, 1, launch, params); });
        kernel.run_function =
            register_kernel<MergeParams>([kernel](const KernelLaunch& launch, const MergeParams& params) {
              run_merge(kernel, kernel.run, launch, params);
            });
        all.push_back(kernel);
      }
    }
  }
  return all;
}

}  // namespace

std::span<const DecodeKernel> f16_d64_kernels() {
  return decode<64, false>();
}
std::span<const DecodeKernel> f16_d128_kernels() {
  return decode<128, false>();
}
std::span<const DecodeKernel> f16_d256_kernels() {
  return decode<256, false>();
}
std::span<const DecodeKernel> bf16_d64_kernels() {
  return decode<64, true>();
}
std::span<const DecodeKernel> bf16_d128_kernels() {
  return decode<128, true>();
}
std::span<const DecodeKernel> bf16_d256_kernels() {
  return decode<256, true>();
}
std::span<const DecodeKernel> f16_d64_waiting_kernels() {
  return decode<64, false, true>();
}
std::span<const DecodeKernel> f16_d128_waiting_kernels() {
  return decode<128, false, true>();
}
std::span<const DecodeKernel> f16_d256_waiting_kernels() {
  return decode<256, false, true>();
}
std::span<const DecodeKernel> bf16_d64_waiting_kernels() {
  return decode<64, true, true>();
}
std::span<const DecodeKernel> bf16_d128_waiting_kernels() {
  return decode<128, true, true>();
}
std::span<const DecodeKernel> bf16_d256_waiting_kernels() {
  return decode<256, true, true>();
}
std::span<const DecodeKernel> f16_d64_single_item_kernels() {
  return single_item<64, false>();
}
std::span<const DecodeKernel> f16_d128_single_item_kernels() {
  return single_item<128, false>();
}
std::span<const DecodeKernel> f16_d256_single_item_kernels() {
  return single_item<256, false>();
}
std::span<const DecodeKernel> bf16_d64_single_item_kernels() {
  return single_item<64, true>();
}
std::span<const DecodeKernel> bf16_d128_single_item_kernels() {
  return single_item<128, true>();
}
std::span<const DecodeKernel> bf16_d256_single_item_kernels() {
  return single_item<256, true>();
}

// Kernels whose warps work together and those for head pairs have no stand-ins: the host chooses and launches them as
// it does the others.
std::span<const DecodeKernel> f16_d64_pair_kernels() {
  return {};
}
std::span<const DecodeKernel> bf16_d64_pair_kernels() {
  return {};
}
std::span<const DecodeKernel> f16_latent_kernels() {
  static const std::vector<DecodeKernel> all = latent_kernels(false);
  return all;
}
std::span<const DecodeKernel> bf16_latent_kernels() {
  static const std::vector<DecodeKernel> all = latent_kernels(true);
  return all;
}
std::span<const DecodeKernel> f16_whole_latent_kernels() {
  return {};
}
std::span<const DecodeKernel> bf16_whole_latent_kernels() {
  return {};
}
std::span<const DecodeKernel> f16_d64_group_kernels() {
  return {};
}
std::span<const DecodeKernel> f16_d128_group_kernels() {
  return {};
}
std::span<const DecodeKernel> f16_d256_group_kernels() {
  return {};
}
std::span<const DecodeKernel> bf16_d64_group_kernels() {
  return {};
}
std::span<const DecodeKernel> bf16_d128_group_kernels() {
  return {};
}
std::span<const DecodeKernel> bf16_d256_group_kernels() {
  return {};
}

std::span<const MergeKernel> merge_kernels() {
  static const std::vector<MergeKernel> all = all_merge_kernels();
  return all;
}

const void* fill_kernel_function() {
  static const void* const function =
      register_kernel<FillParams>([](const KernelLaunch&, const FillParams& params) { run_fill(params); });
  return function;
}

const void* read_kernel_function() {
  static const void* const function = register_kernel<ReadParams>([](const KernelLaunch&, const ReadParams&) {});
  return function;
}

}  // namespace splitwave::gpu
