// SPDX-License-Identifier: Apache-2.0
#include "simulator/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <stdexcept>

#include "base/embedded_file.h"
#include "base/error.h"
#include "base/text.h"
#include "simulator/kernel_file.h"

namespace splitwave::simulator {

std::span<const base::EmbeddedFile> kernel_files();

namespace {

/// The shipped profiles, read once: their text is part of the binary and cannot change.
const std::map<std::string, std::vector<KernelVariant>, std::less<>>& shipped() {
  static const std::map<std::string, std::vector<KernelVariant>, std::less<>> profiles = [] {
    std::map<std::string, std::vector<KernelVariant>, std::less<>> result;
    for (const base::EmbeddedFile& file : kernel_files()) {
      result.emplace(std::string(file.name), read_kernel_file(file.text, std::string(file.name)));
    }
    return result;
  }();
  return profiles;
}

const KernelVariant* choose_variant(const std::vector<KernelVariant>& variants, const workloads::Geometry& geometry,
                                    const Machine& machine) {
  const std::int32_t head_dim = geometry.head_dim;
  const std::int32_t group = geometry.group();
  const KernelVariant* covering = nullptr;
  for (const KernelVariant& variant : variants) {
    if (head_dim < variant.head_dim_least || head_dim > variant.head_dim_most) continue;
    if (group < variant.group_least || group > variant.group_most) continue;
    if (covering == nullptr) covering = &variant;
    if (ctas_per_sm(machine, variant.kernel) > 0) return &variant;
  }
  return covering;
}

/// Profile names of a schedule: what is before the colon, with the argument where it matters.
std::string_view profile_of(std::string_view schedule, const workloads::Workload& workload) {
  const std::int32_t head_dim = workload.geometry.head_dim;
  const bool paged = workload.kv.layout == workloads::KvLayout::paged;
  const std::string_view base = schedule.substr(0, schedule.find(':'));
  const std::string_view fa3 = head_dim <= 64    ? (paged ? "fa3-d64-paged" : "fa3-d64")
                               : head_dim <= 128 ? (paged ? "fa3-d128-paged" : "fa3-d128")
                                                 : "fa3-d256";
  if (base == "fa2") return paged ? "fa2-split" : "fa2-standard";  // flash_api.cpp: pages force the split kernel
  if (schedule == "fixed-split:fa3" || base == "fa3" || base == "seq-aware") return fa3;
  if (base == "fixed-split") return "fa2-split";
  if (schedule == "lean:ort") return "ort-lean";
  if (base == "flashinfer") return "flashinfer-tc";
  if (base == "flashinfer-holistic") return "flashinfer-holistic";
  if (base == "flashmla") return "flashmla";
  return "splitwave";
}

}  // namespace

std::int32_t ctas_per_sm(const Machine& machine, const Kernel& kernel) {
  constexpr std::int32_t warp = 32;
  constexpr std::int64_t register_unit = 256;  // CUDA occupancy calculator, compute capability 8.0 and later
  const std::int64_t warps = (kernel.threads + warp - 1) / warp;
  const std::int64_t registers_per_warp =
      (static_cast<std::int64_t>(kernel.registers_per_thread) * warp + register_unit - 1) / register_unit *
      register_unit;
  if (kernel.shared_bytes > machine.shared_bytes_per_cta) return 0;
  std::int64_t most = std::min<std::int64_t>(machine.ctas_per_sm_limit, machine.threads_per_sm / (warps * warp));
  most = std::min(most, machine.registers_per_sm / (warps * registers_per_warp));
  const std::int64_t shared = kernel.shared_bytes + machine.shared_bytes_reserved;
  if (shared > 0) most = std::min(most, machine.shared_bytes_per_sm / shared);
  return static_cast<std::int32_t>(most);
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const auto& [name, variants] : shipped()) names.push_back(name);
  return names;
}

std::vector<Kernel> parse_kernel(const std::string& text, const std::string& where) {
  std::vector<Kernel> kernels;
  for (const KernelVariant& variant : read_kernel_file(text, where)) kernels.push_back(variant.kernel);
  return kernels;
}

Kernel load_kernel(std::string_view name, const workloads::Workload& workload, const Machine& machine) {
  const auto found = shipped().find(name);
  if (found == shipped().end()) {
    throw base::InputError(fmt::format("kernel: unknown profile {}{}; allowed: {}", base::printable(name),
                                       base::did_you_mean(name, kernel_names()), base::join(kernel_names())));
  }
  const KernelVariant* variant = choose_variant(found->second, workload.geometry, machine);
  if (variant == nullptr) {
    throw base::InputError(fmt::format("kernel: {} has no variant for head_dim {} with {} query heads per KV head",
                                       name, workload.geometry.head_dim, workload.geometry.group()));
  }
  return variant->kernel;
}

Kernel native_kernel(std::string_view schedule, const workloads::Workload& workload, const Machine& machine) {
  if (machine.cpu) return cpu_kernel(machine);
  const std::string_view profile = profile_of(schedule, workload);
  const KernelVariant* variant = choose_variant(shipped().find(profile)->second, workload.geometry, machine);
  return variant != nullptr ? variant->kernel : load_kernel("splitwave", workload, machine);
}

Kernel native_kernel(const schedules::Plan& plan, const workloads::Workload& workload, const Machine& machine) {
  const bool fa2 = plan.schedule.starts_with("fixed-split") && plan.schedule != "fixed-split:fa3";
  const bool standard = fa2 && plan.num_splits == 1;
  return native_kernel(standard ? std::string_view("fa2") : std::string_view(plan.schedule), workload, machine);
}

TokenSeconds seconds_per_token(const Machine& machine, const Kernel& kernel, const workloads::Geometry& geometry,
                               std::int32_t rows) {
  // Scale and subtract, maximum, sum, two conversions to half the width, per score.
  constexpr double softmax_fp32 = 5;
  if (machine.clock_hz <= 0) return {};
  const double elements = geometry.head_dim + geometry.value_dim;
  // Figures of CUDA-core kernels are for 128 lanes and rows of 128 elements.
  const double lanes = machine.fp32_lanes > 0 ? machine.fp32_lanes : 128;
  const double cuda_core = (kernel.clocks_per_token + kernel.clocks_per_row_token * rows) * 128 / lanes *
                           (geometry.head_dim / 128.0) / machine.clock_hz;
  if (kernel.instruction == MmaInstruction::cuda_core) return {cuda_core, cuda_core};
  const double padded = static_cast<double>((rows + kernel.mma_rows - 1) / kernel.mma_rows) * kernel.mma_rows;
  const double rate = kernel.instruction == MmaInstruction::wgmma ? machine.mma_flops : machine.mma_sync_flops;
  const double mma = 2 * padded * elements / (rate / machine.sms * kernel.mma_efficiency);
  const double exponentials = padded * machine.sms / machine.exp_per_second;
  const double fp32 = padded * softmax_fp32 / lanes / machine.clock_hz + cuda_core;
  const double shared = machine.shared_bytes_per_clock > 0
                            ? kernel.shared_reads * static_cast<double>(workloads::kv_bytes_per_token(geometry)) /
                                  machine.shared_bytes_per_clock / machine.clock_hz
                            : 0;
  const double longest = std::max({mma, exponentials, fp32, shared});
  const double others = mma + exponentials + fp32 + shared - longest;
  return {longest + kernel.unhidden_busy * others, longest + kernel.unhidden_lone * others};
}

}  // namespace splitwave::simulator
