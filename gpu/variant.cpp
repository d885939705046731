// SPDX-License-Identifier: Apache-2.0
#include "gpu/variant.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "gpu/cuda_check.h"
#include "gpu/device.h"
#include "gpu/kernel_choice.h"

namespace splitwave::gpu {

using base::InputError;

std::string to_string(const Variant& variant) {
  return fmt::format("r{}w{}s{}t{}c{}", variant.row_tiles, variant.warps, variant.stages, variant.tokens,
                     variant.cluster);
}

Variant parse_variant(std::string_view text) {
  Variant variant;
  const char* at = text.data();
  const char* end = text.data() + text.size();
  const std::pair<char, std::int32_t*> parts[] = {{'r', &variant.row_tiles},
                                                  {'w', &variant.warps},
                                                  {'s', &variant.stages},
                                                  {'t', &variant.tokens},
                                                  {'c', &variant.cluster}};
  for (const auto& [letter, value] : parts) {
    std::from_chars_result result{};
    const bool named = at != end && *at == letter;
    if (named) result = std::from_chars(at + 1, end, *value);
    if (!named || result.ec != std::errc{} || *value < 1) {
      throw InputError(fmt::format("kernel variant '{}': expected the form r1w4s4t16c1", text));
    }
    at = result.ptr;
  }
  if (at != end) throw InputError(fmt::format("kernel variant '{}': expected the form r1w4s4t16c1", text));
  return variant;
}

std::span<const DecodeKernel> kernels_for(const workloads::Geometry& geometry) {
  if (geometry.kind == workloads::AttentionKind::mla || geometry.head_dim != geometry.value_dim) {
    throw InputError(fmt::format("geometry.kind {} with value_dim {}: the CUDA kernels need value_dim = head_dim",
                                 to_string(geometry.kind), geometry.value_dim));
  }
  const bool f16 = geometry.dtype == workloads::Dtype::f16;
  if (!f16 && geometry.dtype != workloads::Dtype::bf16) {
    throw InputError(fmt::format("geometry.dtype {}: the CUDA kernels take f16 and bf16", to_string(geometry.dtype)));
  }
  switch (geometry.head_dim) {
    case 64:
      return f16 ? f16_d64_kernels() : bf16_d64_kernels();
    case 128:
      return f16 ? f16_d128_kernels() : bf16_d128_kernels();
    case 256:
      return f16 ? f16_d256_kernels() : bf16_d256_kernels();
    default:
      throw InputError(fmt::format("geometry.head_dim {}: the CUDA kernels take 64, 128 and 256", geometry.head_dim));
  }
}

namespace {

/// True if the kernel reads the workload's layout, and takes tiles whose rows differ exactly if there may be some.
bool fits(const DecodeKernel& kernel, const workloads::Workload& workload) {
  const workloads::Geometry& g = workload.geometry;
  const bool masked = workloads::max_query_len(workload) > 1 && (g.causal || g.window.has_value());
  const bool paged = workload.kv.layout == workloads::KvLayout::paged;
  return kernel.masked == masked && kernel.paged == paged;
}

/// Each CTA of a cluster finishes as many fragments as the others, at least one.
bool cluster_fits(const DecodeKernel& kernel, std::int32_t cluster) {
  const bool known = cluster == 1 || cluster == 2 || cluster == 4 || cluster == 8;
  return known && cluster <= kernel.row_tiles * kernel.head_dim / 16;
}

}  // namespace

const DecodeKernel& find_kernel(const workloads::Workload& workload, const Variant& variant) {
  for (const DecodeKernel& kernel : kernels_for(workload.geometry)) {
    if (kernel.row_tiles == variant.row_tiles && kernel.warps == variant.warps && kernel.stages == variant.stages &&
        kernel.tokens == variant.tokens && fits(kernel, workload) && cluster_fits(kernel, variant.cluster)) {
      return kernel;
    }
  }
  throw InputError(
      fmt::format("kernel variant {}: not compiled for head_dim {}", to_string(variant), workload.geometry.head_dim));
}

namespace {

std::span<const DecodeKernel> simple_kernels_for(const workloads::Geometry& g) {
  const bool f16 = g.dtype == workloads::Dtype::f16;
  if (g.head_dim == 64) return f16 ? f16_d64_simple_kernels() : bf16_d64_simple_kernels();
  if (g.head_dim == 256) return f16 ? f16_d256_simple_kernels() : bf16_d256_simple_kernels();
  return f16 ? f16_d128_simple_kernels() : bf16_d128_simple_kernels();
}

}  // namespace

const DecodeKernel* find_simple_kernel(const workloads::Workload& workload, const Variant& variant) {
  for (const DecodeKernel& kernel : simple_kernels_for(workload.geometry)) {
    if (kernel.row_tiles == variant.row_tiles && kernel.warps == variant.warps && kernel.stages == variant.stages &&
        kernel.tokens == variant.tokens && kernel.simple_cluster == variant.cluster && fits(kernel, workload)) {
      return &kernel;
    }
  }
  return nullptr;
}

const MergeKernel& find_merge_kernel(const workloads::Geometry& geometry, std::int32_t row_tiles) {
  const bool bf16 = geometry.dtype == workloads::Dtype::bf16;
  for (const MergeKernel& kernel : merge_kernels()) {
    if (kernel.head_dim == geometry.head_dim && kernel.row_tiles == row_tiles && kernel.bf16 == bf16) return kernel;
  }
  throw InputError(fmt::format("merge kernel: not compiled for head_dim {}", geometry.head_dim));
}

std::int32_t shared_bytes(const DecodeKernel& kernel, std::int32_t cluster) {
  return cluster > 1 ? kernel.cluster_shared_bytes : kernel.shared_bytes;
}

std::vector<Variant> variants(const workloads::Workload& workload, const Device& device) {
  std::vector<Variant> all;
  for (const DecodeKernel& kernel : kernels_for(workload.geometry)) {
    if (!fits(kernel, workload)) continue;
    for (const std::int32_t cluster : {1, 2, 4, 8}) {
      if (!cluster_fits(kernel, cluster) || (cluster > 1 && device.compute_capability < 90)) continue;
      if (shared_bytes(kernel, cluster) > device.shared_bytes_per_cta) continue;
      Variant variant;
      variant.row_tiles = kernel.row_tiles;
      variant.warps = kernel.warps;
      variant.stages = kernel.stages;
      variant.tokens = kernel.tokens;
      variant.cluster = cluster;
      all.push_back(variant);
    }
  }
  return all;
}

std::vector<Variant> once_variants(const workloads::Workload& workload, const Device& device) {
  kernels_for(workload.geometry);  // or throw
  std::vector<Variant> all;
  for (const DecodeKernel& kernel : simple_kernels_for(workload.geometry)) {
    const std::int32_t cluster = kernel.simple_cluster;
    if (kernel.stages > 1 || !fits(kernel, workload) || (cluster > 1 && device.compute_capability < 90)) continue;
    if (shared_bytes(kernel, cluster) > device.shared_bytes_per_cta) continue;
    all.push_back({kernel.row_tiles, kernel.warps, kernel.stages, kernel.tokens, cluster});
  }
  return all;
}

namespace {

/// No output is split, and no item empty or longer than the CTAs hold.
bool fits_at_once(const schedules::Plan& plan, const Variant& variant) {
  return plan.merges.empty() && std::all_of(plan.items.begin(), plan.items.end(), [&](const schedules::Item& item) {
           return item.tokens() > 0 && item.tokens() <= variant.most_tokens();
         });
}

}  // namespace

bool is_simple(const workloads::Workload& workload, const schedules::Plan& plan, const Variant& variant) {
  const std::int32_t group = workload.geometry.group();
  const auto lists = static_cast<std::size_t>(plan.lists());
  if (find_simple_kernel(workload, variant) == nullptr || plan.merge == schedules::MergeKind::host_cta) return false;
  if (workloads::max_query_len(workload) != 1 || group > 8 * variant.row_tiles) return false;
  if (plan.dispatch == schedules::Dispatch::queue || lists != plan.items.size()) return false;
  if (variant.stages == 1 && !fits_at_once(plan, variant)) return false;
  for (std::size_t i = 0; i < lists; ++i) {
    if (plan.cta_begin[i] != static_cast<std::int32_t>(i)) return false;
  }
  return std::all_of(plan.outputs.begin(), plan.outputs.end(), [&](const schedules::OutputTile& tile) {
    return tile.head_count == group && tile.head_begin % group == 0 && tile.row_begin == 0 && tile.row_end == group;
  });
}

Residency residency(const workloads::Workload& workload, const Variant& variant) {
  const DecodeKernel* simple = variant.stages == 1 ? find_simple_kernel(workload, variant) : nullptr;
  const DecodeKernel& kernel = simple != nullptr ? *simple : find_kernel(workload, variant);
  const Device device = current_device();
  const std::int32_t shared = shared_bytes(kernel, variant.cluster);
  // The most that any cluster size needs: the attribute is the kernel's, and launches of other sizes may be under way.
  const auto most = static_cast<int>(std::min<std::int64_t>(kernel.cluster_shared_bytes, device.shared_bytes_per_cta));
  SPLITWAVE_CUDA_CHECK(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
  Residency result;
  SPLITWAVE_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &result.ctas_per_sm, kernel.function, kernel.warps * 32, static_cast<std::size_t>(shared)));
  result.workers = result.ctas_per_sm * device.sms;
  if (variant.cluster > 8) {
    SPLITWAVE_CUDA_CHECK(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  }
  if (variant.cluster > 1) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(variant.cluster), 1, 1};
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(variant.cluster) * 1024);
    config.blockDim = dim3(static_cast<unsigned>(kernel.warps) * 32);
    config.dynamicSmemBytes = static_cast<std::size_t>(shared);
    config.attrs = &attribute;
    config.numAttrs = 1;
    SPLITWAVE_CUDA_CHECK(cudaOccupancyMaxActiveClusters(&result.workers, kernel.function, &config));
  }
  return result;
}

schedules::Grid grid_of(const Residency& where, const Variant& variant) {
  schedules::Grid grid;
  grid.ctas_per_sm = 1;
  grid.sms = where.workers;
  if (variant.cluster == 1 && where.ctas_per_sm > 0) {
    grid.ctas_per_sm = where.ctas_per_sm;
    grid.sms = where.workers / where.ctas_per_sm;
  }
  return grid;
}

schedules::Grid grid_of(const workloads::Workload& workload, const Variant& variant) {
  return grid_of(residency(workload, variant), variant);
}

std::int32_t row_tiles_for(const workloads::Geometry& geometry, std::int32_t rows) {
  std::int32_t most = 1;
  for (const DecodeKernel& kernel : kernels_for(geometry)) {
    if (kernel.row_tiles * 8 >= rows) return kernel.row_tiles;
    most = std::max(most, kernel.row_tiles);
  }
  return most;
}

}  // namespace splitwave::gpu
