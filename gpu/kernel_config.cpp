// SPDX-License-Identifier: Apache-2.0
#include "gpu/kernel_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"
#include "gpu/compiled_kernels.h"
#include "gpu/cuda_check.h"
#include "gpu/device.h"
#include "schedules/head_pairs.h"

namespace splitwave::gpu {

using base::InputError;

namespace {

constexpr std::array kTeams = {Team::warps, Team::group, Team::seesaw, Team::alone, Team::portable};

constexpr char letter_of(Team team) {
  return std::array{'w', 'g', 'm', 'a', 'p'}[static_cast<std::size_t>(team)];
}

}  // namespace

std::string name_without_cluster(const KernelConfig& config) {
  return fmt::format("r{}{}{}s{}t{}", config.row_tiles, letter_of(config.team), config.warps, config.stages,
                     config.tokens);
}

std::string to_string(const KernelConfig& config) {
  const std::string name = fmt::format("{}c{}", name_without_cluster(config), config.cluster);
  return config.kv_heads > 1 ? fmt::format("{}h{}", name, config.kv_heads) : name;
}

std::int64_t KernelConfig::bytes_in_flight(const workloads::Geometry& geometry) const {
  return std::int64_t{warps} * stages * tokens * workloads::kv_bytes_per_token(geometry) * kv_heads;
}

KernelConfig parse_kernel_config(std::string_view text) {
  KernelConfig config;
  const char* at = text.data();
  const char* end = text.data() + text.size();
  const std::pair<char, std::int32_t*> parts[] = {{'r', &config.row_tiles},
                                                  {'w', &config.warps},
                                                  {'s', &config.stages},
                                                  {'t', &config.tokens},
                                                  {'c', &config.cluster}};
  for (const auto& [letter, value] : parts) {
    std::from_chars_result result{};
    for (const Team team : kTeams) {
      if (letter == 'w' && at != end && *at == letter_of(team)) config.team = team;
    }
    const bool named = at != end && *at == (letter == 'w' ? letter_of(config.team) : letter);
    if (named) result = std::from_chars(at + 1, end, *value);
    if (!named || result.ec != std::errc{} || *value < 1) {
      throw InputError(fmt::format("kernel config '{}': expected the form r1w4s4t16c1", text));
    }
    at = result.ptr;
  }
  if (std::string_view(at, static_cast<std::size_t>(end - at)) == "h2") {
    config.kv_heads = schedules::kHeadsOfPair;
    at = end;
  }
  if (at != end) throw InputError(fmt::format("kernel config '{}': expected the form r1w4s4t16c1", text));
  return config;
}

namespace {

bool is_latent(const workloads::Geometry& geometry) {
  return geometry.kind == workloads::AttentionKind::mla;
}

void check_dims(const workloads::Geometry& geometry) {
  if (is_latent(geometry) && (geometry.head_dim != 576 || geometry.value_dim != 512)) {
    throw InputError(
        fmt::format("geometry.kind mla with head_dim {} and value_dim {}: the CUDA kernels take 576 and 512",
                    geometry.head_dim, geometry.value_dim));
  }
  if (!is_latent(geometry) && geometry.head_dim != geometry.value_dim) {
    throw InputError(fmt::format("geometry.kind {} with value_dim {}: the CUDA kernels need value_dim = head_dim",
                                 to_string(geometry.kind), geometry.value_dim));
  }
}

}  // namespace

std::span<const DecodeKernel> kernels_for(const workloads::Geometry& geometry, bool waits) {
  check_dims(geometry);
  const bool f16 = geometry.dtype == workloads::Dtype::f16;
  if (!f16 && geometry.dtype != workloads::Dtype::bf16) {
    throw InputError(fmt::format("geometry.dtype {}: the CUDA kernels take f16 and bf16", to_string(geometry.dtype)));
  }
  if (is_latent(geometry)) return {};
  switch (geometry.head_dim) {
    case 64:
      if (waits) return f16 ? f16_d64_waiting_kernels() : bf16_d64_waiting_kernels();
      return f16 ? f16_d64_kernels() : bf16_d64_kernels();
    case 128:
      if (waits) return f16 ? f16_d128_waiting_kernels() : bf16_d128_waiting_kernels();
      return f16 ? f16_d128_kernels() : bf16_d128_kernels();
    case 256:
      if (waits) return f16 ? f16_d256_waiting_kernels() : bf16_d256_waiting_kernels();
      return f16 ? f16_d256_kernels() : bf16_d256_kernels();
    default:
      throw InputError(fmt::format("geometry.head_dim {}: the CUDA kernels take 64, 128 and 256", geometry.head_dim));
  }
}

bool has_instructions(const Device& device, Team team, std::int32_t cluster) {
  const bool wgmma = team == Team::group || team == Team::seesaw;
  return (!wgmma || device.compute_capability == 90) && (cluster == 1 || device.compute_capability >= 90);
}

namespace {

/// True if the kernel reads the workload's layout, and takes tiles whose rows differ exactly if there may be some.
bool fits(const DecodeKernel& kernel, const workloads::Workload& workload) {
  const workloads::Geometry& g = workload.geometry;
  const bool masked = workloads::max_query_len(workload) > 1 && (g.causal || g.window.has_value());
  const bool paged = workload.kv.layout == workloads::KvLayout::paged;
  return kernel.masked == masked && kernel.paged == paged;
}

/// Where a device has wgmma, nothing that does the same by mma.sync is worth a choice (docs/kernels.md).
bool is_a_choice(const Device& device, Team team) {
  return team != Team::portable || !has_instructions(device, Team::group, 1);
}

/// Each CTA of a cluster finishes as many fragments as the others, at least one.
bool cluster_fits(const DecodeKernel& kernel, std::int32_t cluster) {
  if (kernel.team == Team::alone) return cluster == 1;
  const bool known = cluster == 1 || cluster == 2 || cluster == 4 || cluster == 8;
  return known && cluster <= kernel.row_tiles * kernel.value_dim / 16;
}

/// Kernels whose warps work together.
std::span<const DecodeKernel> group_kernels_for(const workloads::Geometry& g) {
  const bool f16 = g.dtype == workloads::Dtype::f16;
  if (is_latent(g)) return f16 ? f16_latent_kernels() : bf16_latent_kernels();
  if (g.head_dim == 64) return f16 ? f16_d64_group_kernels() : bf16_d64_group_kernels();
  if (g.head_dim == 256) return f16 ? f16_d256_group_kernels() : bf16_d256_group_kernels();
  return f16 ? f16_d128_group_kernels() : bf16_d128_group_kernels();
}

[[noreturn]] void refuse(const workloads::Geometry& geometry, const KernelConfig& config) {
  throw InputError(fmt::format("kernel config {}: not compiled for head_dim {}", to_string(config), geometry.head_dim));
}

}  // namespace

const DecodeKernel& find_kernel(const workloads::Workload& workload, const KernelConfig& config, bool waits) {
  const std::span<const DecodeKernel> own = kernels_for(workload.geometry, waits);
  const bool by_warps = config.team == Team::warps || config.team == Team::alone;
  for (const DecodeKernel& kernel : by_warps ? own : group_kernels_for(workload.geometry)) {
    if (kernel.team == config.team && kernel.row_tiles == config.row_tiles && kernel.warps == config.warps &&
        kernel.stages == config.stages && kernel.tokens == config.tokens && fits(kernel, workload) &&
        cluster_fits(kernel, config.cluster)) {
      return kernel;
    }
  }
  refuse(workload.geometry, config);
}

namespace {

std::span<const DecodeKernel> single_item_kernels_for(const workloads::Geometry& g) {
  const bool f16 = g.dtype == workloads::Dtype::f16;
  if (is_latent(g)) return f16 ? f16_whole_latent_kernels() : bf16_whole_latent_kernels();
  if (g.head_dim == 64) return f16 ? f16_d64_single_item_kernels() : bf16_d64_single_item_kernels();
  if (g.head_dim == 256) return f16 ? f16_d256_single_item_kernels() : bf16_d256_single_item_kernels();
  return f16 ? f16_d128_single_item_kernels() : bf16_d128_single_item_kernels();
}

/// g: as the kernels see it, of heads of twice the dims.
std::span<const DecodeKernel> pair_kernels_for(const workloads::Geometry& g) {
  if (is_latent(g) || g.head_dim != 128) return {};
  return g.dtype == workloads::Dtype::f16 ? f16_d64_pair_kernels() : bf16_d64_pair_kernels();
}

}  // namespace

const DecodeKernel* find_single_item_kernel(const workloads::Workload& workload, const KernelConfig& config,
                                            bool parts) {
  const workloads::Geometry& g = workload.geometry;
  for (const DecodeKernel& kernel : config.kv_heads > 1 ? pair_kernels_for(g) : single_item_kernels_for(g)) {
    if (kernel.team == config.team && kernel.row_tiles == config.row_tiles && kernel.warps == config.warps &&
        kernel.stages == config.stages && kernel.tokens == config.tokens &&
        kernel.single_item_cluster == config.cluster && fits(kernel, workload) &&
        (kernel.stages > 1 || kernel.parts == parts)) {
      return &kernel;
    }
  }
  return nullptr;
}

const MergeKernel& find_merge_kernel(const workloads::Geometry& geometry, std::int32_t row_tiles) {
  const bool bf16 = geometry.dtype == workloads::Dtype::bf16;
  for (const MergeKernel& kernel : merge_kernels()) {
    if (kernel.value_dim == geometry.value_dim && kernel.row_tiles == row_tiles && kernel.bf16 == bf16) return kernel;
  }
  throw InputError(fmt::format("merge kernel: not compiled for value_dim {}", geometry.value_dim));
}

std::int32_t shared_bytes(const DecodeKernel& kernel, std::int32_t cluster) {
  return cluster > 1 ? kernel.cluster_shared_bytes : kernel.shared_bytes;
}

std::vector<KernelConfig> kernel_configs(const workloads::Workload& workload, const Device& device) {
  std::vector<KernelConfig> all;
  const auto add = [&](const DecodeKernel& kernel) {
    if (!fits(kernel, workload) || !is_a_choice(device, kernel.team)) return;
    const KernelConfig one{kernel.row_tiles, kernel.warps, kernel.stages, kernel.tokens, 1, kernel.team};
    const bool has_single_items = find_single_item_kernel(workload, one) != nullptr;
    for (const std::int32_t cluster : {1, 2, 4, 8}) {
      if (!cluster_fits(kernel, cluster) || !has_instructions(device, kernel.team, cluster)) continue;
      if (shared_bytes(kernel, cluster) > device.shared_bytes_per_cta) continue;
      KernelConfig config = one;
      config.cluster = cluster;
      // Clusters are no choice where only single CTAs have a kernel for lists of one item.
      if (has_single_items && find_single_item_kernel(workload, config) == nullptr) continue;
      all.push_back(config);
    }
  };
  for (const DecodeKernel& kernel : kernels_for(workload.geometry)) add(kernel);
  for (const DecodeKernel& kernel : group_kernels_for(workload.geometry)) add(kernel);
  return all;
}

namespace {

/// Configs without list kernels that the device can run, of these single-item kernels. workload: as they see it.
std::vector<KernelConfig> single_item_configs(std::span<const DecodeKernel> kernels, std::int32_t kv_heads,
                                              const workloads::Workload& workload, const Device& device) {
  std::vector<KernelConfig> all;
  for (const DecodeKernel& kernel : kernels) {
    const KernelConfig config{kernel.row_tiles,           kernel.warps, kernel.stages, kernel.tokens,
                              kernel.single_item_cluster, kernel.team,  kv_heads};
    if (!config.single_items_only() || (kernel.stages == 1 && kernel.parts) || !fits(kernel, workload)) continue;
    if (!has_instructions(device, config.team, config.cluster)) continue;
    if (shared_bytes(kernel, config.cluster) <= device.shared_bytes_per_cta) all.push_back(config);
  }
  return all;
}

}  // namespace

std::vector<KernelConfig> whole_item_configs(const workloads::Workload& workload, const Device& device) {
  kernels_for(workload.geometry);  // or throw
  return single_item_configs(single_item_kernels_for(workload.geometry), 1, workload, device);
}

std::vector<KernelConfig> pair_configs(const workloads::Workload& workload, const Device& device) {
  kernels_for(workload.geometry);  // or throw
  if (!schedules::has_head_pairs(workload)) return {};
  const workloads::Workload pairs = schedules::with_head_pairs(workload);
  return single_item_configs(pair_kernels_for(pairs.geometry), schedules::kHeadsOfPair, pairs, device);
}

namespace {

/// No item is empty or longer than the CTAs hold, and outputs in parts are merged as kernels without rings do.
bool holds_whole_items(const schedules::Plan& plan, const KernelConfig& config) {
  const bool merges = plan.merge == config.merge_of_parts() && config.cluster >= config.least_cluster_of_parts();
  return (plan.merges.empty() || merges) &&
         std::all_of(plan.items.begin(), plan.items.end(), [&](const schedules::Item& item) {
           return item.tokens() > 0 && item.tokens() <= config.most_tokens();
         });
}

}  // namespace

bool takes_single_items(const workloads::Workload& workload, const schedules::Plan& plan, const KernelConfig& config) {
  const std::int32_t group = workload.geometry.group();
  const auto lists = static_cast<std::size_t>(plan.lists());
  if (plan.merge == schedules::MergeKind::host_cta && !config.holds_latent_items()) return false;
  if (config.kv_heads > 1 && plan.merge == schedules::MergeKind::kernel && !plan.merges.empty()) return false;
  const bool any_heads = config.team == Team::group;  // more than a CTA takes in row blocks, or some of the heads
  if (workloads::max_query_len(workload) != 1 || (!any_heads && group > 8 * config.row_tiles)) return false;
  if (plan.dispatch == schedules::Dispatch::queue || lists != plan.items.size()) return false;
  if (config.stages == 1 && !holds_whole_items(plan, config)) return false;
  for (std::size_t i = 0; i < lists; ++i) {
    if (plan.cta_begin[i] != static_cast<std::int32_t>(i)) return false;
  }
  return any_heads || std::all_of(plan.outputs.begin(), plan.outputs.end(), [&](const schedules::OutputTile& tile) {
           return tile.head_count == group && tile.head_begin % group == 0 && tile.row_begin == 0 &&
                  tile.row_end == group;
         });
}

bool fits_single_item_kernel(const workloads::Workload& workload, const schedules::Plan& plan,
                             const KernelConfig& config) {
  if (config.kv_heads == 1) {
    return find_single_item_kernel(workload, config, !plan.merges.empty()) != nullptr &&
           takes_single_items(workload, plan, config);
  }
  const std::optional<schedules::HeadPairs> pairs = schedules::head_pairs(workload, plan);
  return pairs && find_single_item_kernel(pairs->workload, config) != nullptr &&
         takes_single_items(pairs->workload, pairs->plan, config);
}

Residency residency_of(const DecodeKernel& kernel, const KernelConfig& config) {
  const Device device = current_device();
  const std::int32_t shared = shared_bytes(kernel, config.cluster);
  // The most that any cluster size needs: the attribute is the kernel's, and launches of other sizes may be under way.
  const auto most = static_cast<int>(std::min<std::int64_t>(kernel.cluster_shared_bytes, device.shared_bytes_per_cta));
  SPLITWAVE_CUDA_CHECK(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
  if (kernel.box_function != nullptr) {
    SPLITWAVE_CUDA_CHECK(cudaFuncSetAttribute(kernel.box_function, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
  }
  Residency result;
  SPLITWAVE_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&result.ctas_per_sm, kernel.function,
                                                                     kernel.threads, static_cast<std::size_t>(shared)));
  result.workers = result.ctas_per_sm * device.sms;
  if (config.cluster > 8) {
    SPLITWAVE_CUDA_CHECK(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  }
  if (config.cluster > 1) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(config.cluster), 1, 1};
    cudaLaunchConfig_t query{};
    query.gridDim = dim3(static_cast<unsigned>(config.cluster) * 1024);
    query.blockDim = dim3(static_cast<unsigned>(kernel.threads));
    query.dynamicSmemBytes = static_cast<std::size_t>(shared);
    query.attrs = &attribute;
    query.numAttrs = 1;
    SPLITWAVE_CUDA_CHECK(cudaOccupancyMaxActiveClusters(&result.workers, kernel.function, &query));
  }
  return result;
}

const DecodeKernel* single_item_kernel_of(const workloads::Workload& workload, const KernelConfig& config) {
  if (config.kv_heads == 1) return find_single_item_kernel(workload, config);
  if (!schedules::has_head_pairs(workload)) return nullptr;
  return find_single_item_kernel(schedules::with_head_pairs(workload), config);
}

Residency residency(const workloads::Workload& workload, const KernelConfig& config) {
  const DecodeKernel* single_item = config.single_items_only() ? single_item_kernel_of(workload, config) : nullptr;
  if (single_item == nullptr && config.kv_heads > 1) refuse(workload.geometry, config);
  return residency_of(single_item != nullptr ? *single_item : find_kernel(workload, config), config);
}

Residency single_item_residency(const workloads::Workload& workload, const KernelConfig& config) {
  const DecodeKernel* single_item = single_item_kernel_of(workload, config);
  return single_item != nullptr ? residency_of(*single_item, config) : residency(workload, config);
}

schedules::Grid grid_of(const Residency& where, const KernelConfig& config) {
  schedules::Grid grid;
  grid.ctas_per_sm = 1;
  grid.sms = where.workers;
  if (config.cluster == 1 && where.ctas_per_sm > 0) {
    grid.ctas_per_sm = where.ctas_per_sm;
    grid.sms = where.workers / where.ctas_per_sm;
  }
  return grid;
}

schedules::Grid grid_of(const workloads::Workload& workload, const KernelConfig& config) {
  return grid_of(residency(workload, config), config);
}

std::int32_t row_tiles_for(const workloads::Geometry& geometry, std::int32_t rows) {
  std::int32_t most = 1;
  const std::span<const DecodeKernel> own = kernels_for(geometry);
  for (const DecodeKernel& kernel : is_latent(geometry) ? group_kernels_for(geometry) : own) {
    if (kernel.row_tiles * 8 >= rows) return kernel.row_tiles;
    most = std::max(most, kernel.row_tiles);
  }
  return most;
}

}  // namespace splitwave::gpu
