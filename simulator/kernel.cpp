// SPDX-License-Identifier: Apache-2.0
#include "simulator/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <span>
#include <stdexcept>

#include "base/embedded_file.h"
#include "base/error.h"
#include "base/text.h"
#include "schedules/schedules.h"

namespace splitwave::simulator {

std::span<const base::EmbeddedFile> kernel_files();

namespace {

/// The shipped family of this name, or null. Its text is part of the binary and is read when it is first asked for: the
/// own kernels' are half a megabyte each.
const KernelFamily* find_shipped(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, KernelFamily, std::less<>> families;
  const std::lock_guard lock(mutex);
  if (const auto known = families.find(name); known != families.end()) return &known->second;
  for (const base::EmbeddedFile& file : kernel_files()) {
    if (file.name != name) continue;
    return &families.emplace(name, parse_kernel(file.text, std::string(name))).first->second;
  }
  return nullptr;
}

const KernelVariant* choose_variant(const KernelFamily& family, const workloads::Geometry& geometry,
                                    const Machine& machine) {
  const std::int32_t head_dim = geometry.head_dim;
  const std::int32_t group = geometry.group();
  const KernelVariant* covering = nullptr;
  for (const KernelVariant& variant : family.variants) {
    if (!variant.kernel.config.empty()) continue;  // alternatives() has these
    if (head_dim < variant.head_dim_least || head_dim > variant.head_dim_most) continue;
    if (group < variant.group_least || group > variant.group_most) continue;
    if (covering == nullptr) covering = &variant;
    if (ctas_per_sm(machine, variant.kernel) > 0) return &variant;
  }
  return covering;
}

/// A family's variant for a geometry on a machine, or why there can be none.
struct Fit {
  const KernelVariant* variant = nullptr;
  std::string problem;  ///< empty if the variant is there
};

Fit fit(const KernelFamily& family, const workloads::Geometry& geometry, const Machine& machine) {
  const KernelVariant* variant = choose_variant(family, geometry, machine);
  if (variant == nullptr) {
    return {nullptr, fmt::format("kernel {} has no variant for head_dim {} with {} query heads per KV head",
                                 family.name, geometry.head_dim, geometry.group())};
  }
  const MmaInstruction instruction = variant->kernel.instruction;
  if (instruction == MmaInstruction::wgmma && !has_wgmma(machine)) {
    return {nullptr, fmt::format("kernel {} multiplies by wgmma, which compute capability {} alone has ({}: {})",
                                 family.name, kWgmmaCapability, machine.name,
                                 machine.compute_capability.empty() ? "none" : machine.compute_capability)};
  }
  // tcgen05: PTX ISA, "tcgen05", target ISA notes; consumer Blackwell (12) has none.
  if (instruction == MmaInstruction::tcgen05 && (!has_capability(machine, 10) || has_capability(machine, 12))) {
    return {nullptr, fmt::format("kernel {} multiplies by tcgen05, which compute capability 10 and 11 have ({}: {})",
                                 family.name, machine.name,
                                 machine.compute_capability.empty() ? "none" : machine.compute_capability)};
  }
  if (instruction != MmaInstruction::cuda_core && geometry.dtype == workloads::Dtype::f32) {
    return {nullptr, fmt::format("kernel {} multiplies f16 and bf16 on tensor cores, not {}", family.name,
                                 to_string(geometry.dtype))};
  }
  return {variant, ""};
}

/// Names of the schedules whose own kernels can run the workload on the machine.
std::vector<std::string> possible_schedules(const workloads::Workload& workload, const Machine& machine) {
  std::vector<std::string> names;
  for (const schedules::Schedule& schedule : schedules::all()) {
    const KernelFamily* family = find_shipped(schedule.kernel(workload, "", 0));
    if (family == nullptr) continue;
    if (fit(*family, workload.geometry, machine).variant != nullptr) names.emplace_back(schedule.name);
  }
  return names;
}

[[noreturn]] void refuse_schedule(std::string_view schedule, const std::string& reason,
                                  const workloads::Workload& workload, const Machine& machine) {
  const std::vector<std::string> others = possible_schedules(workload, machine);
  throw base::InputError(fmt::format(
      "schedule {}: {}; allowed for this workload on {}: {}", base::printable(schedule), reason, machine.name,
      others.empty() ? "no GPU kernel, but --gpu cpu" : base::join(others) + ", or another --kernel"));
}

[[noreturn]] void refuse_kernel(const std::string& name, std::string_view or_else) {
  throw base::InputError(fmt::format("kernel: unknown profile {}{}; allowed: {}{}", base::printable(name),
                                     base::did_you_mean(name, kernel_names()), base::join(kernel_names()), or_else));
}

/// Kernel of a row's profile.
KernelProfile kernel_of_schedule(std::string_view schedule, std::int32_t num_splits,
                                 const workloads::Workload& workload, const Machine& machine) {
  const Fit found = fit(family_of(schedule, num_splits, workload, machine), workload.geometry, machine);
  if (found.variant == nullptr) refuse_schedule(schedule, found.problem, workload, machine);
  return found.variant->kernel;
}

/// griddepcontrol: compute capability 9.0 and later (CUDA C++ Programming Guide, programmatic dependent launch).
bool waits_on_device(const Machine& machine, const KernelProfile& kernel) {
  return kernel.programmatic_launch && has_capability(machine, 9);
}

}  // namespace

double launch_seconds(const Machine& machine, const KernelProfile& kernel) {
  return waits_on_device(machine, kernel) ? machine.flag_seconds : machine.launch_seconds;
}

double first_prologue_seconds(const Machine& machine, const KernelProfile& kernel) {
  const double overlapped = waits_on_device(machine, kernel) ? kernel.overlapped_prologue_seconds : 0;
  return std::max(0.0, kernel.prologue_seconds - overlapped);
}

std::int32_t ctas_per_sm(const Machine& machine, const KernelProfile& kernel) {
  return ctas_per_sm(machine, kernel.threads, kernel.registers_per_thread, kernel.shared_bytes);
}

std::int32_t ctas_per_sm(const Machine& machine, std::int32_t threads, std::int32_t registers_per_thread,
                         std::int64_t shared_bytes) {
  constexpr std::int32_t warp = 32;
  constexpr std::int64_t register_unit = 256;  // CUDA occupancy calculator, compute capability 8.0 and later
  const std::int64_t warps = (threads + warp - 1) / warp;
  const std::int64_t registers_per_warp =
      (static_cast<std::int64_t>(registers_per_thread) * warp + register_unit - 1) / register_unit * register_unit;
  if (shared_bytes > machine.shared_bytes_per_cta) return 0;
  std::int64_t most = std::min<std::int64_t>(machine.ctas_per_sm_limit, machine.threads_per_sm / (warps * warp));
  most = std::min(most, machine.registers_per_sm / (warps * registers_per_warp));
  const std::int64_t shared = shared_bytes + machine.shared_bytes_reserved;
  if (shared > 0) most = std::min(most, machine.shared_bytes_per_sm / shared);
  return static_cast<std::int32_t>(most);
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const base::EmbeddedFile& file : kernel_files()) names.emplace_back(file.name);
  std::sort(names.begin(), names.end());
  return names;
}

KernelFamily load_kernel(const std::string& name_or_file) {
  if (const KernelFamily* found = find_shipped(name_or_file)) return *found;
  if (base::means_file(name_or_file)) {
    return parse_kernel(base::read_text_file(name_or_file), name_or_file);
  }
  refuse_kernel(name_or_file, ", or a JSON file");
}

std::string kernel_text(const std::string& name) {
  for (const base::EmbeddedFile& file : kernel_files()) {
    if (file.name == name || file.name == name + ".json") return std::string(file.text);
  }
  refuse_kernel(name, "");
}

std::string own_kernel(const Machine& machine) {
  return machine.own_kernels.empty() ? std::string(kOwnKernel) : machine.own_kernels;
}

const KernelFamily& family_of(std::string_view schedule, std::int32_t num_splits, const workloads::Workload& workload,
                              const Machine& machine) {
  const std::string_view rule = schedules::kernel_of(schedule, workload, num_splits);
  const std::string name = rule == kOwnKernel ? own_kernel(machine) : std::string(rule);
  const KernelFamily* family = find_shipped(name);
  if (family == nullptr) refuse_kernel(name, "");
  return *family;
}

std::string needs_of(const KernelFamily& family) {
  switch (family.variants.front().kernel.instruction) {
    case MmaInstruction::wgmma:
      return fmt::format("f16 or bf16, compute capability {}", kWgmmaCapability);
    case MmaInstruction::tcgen05:
      return "f16 or bf16, compute capability 10 or 11";
    case MmaInstruction::mma_sync:
      return "f16 or bf16";
    case MmaInstruction::cuda_core:
      return "any dtype";
  }
  return "";
}

KernelProfile kernel_for(const KernelFamily& family, const workloads::Workload& workload, const Machine& machine) {
  const Fit found = fit(family, workload.geometry, machine);
  if (found.variant == nullptr) {
    throw base::InputError(found.problem +
                           "; allowed: another kernel, or a workload and a machine that it is made for");
  }
  return found.variant->kernel;
}

KernelProfile native_kernel(std::string_view schedule, const workloads::Workload& workload, const Machine& machine) {
  if (machine.cpu) return cpu_kernel(machine);
  return kernel_of_schedule(schedule, 0, workload, machine);
}

KernelProfile native_kernel(const schedules::Plan& plan, const workloads::Workload& workload, const Machine& machine) {
  if (machine.cpu) return cpu_kernel(machine);
  return with_tile_of(plan, kernel_of_schedule(plan.schedule, plan.num_splits, workload, machine));
}

KernelProfile with_tile_of(const schedules::Plan& plan, KernelProfile kernel) {
  if (kernel.tile_of_plan) kernel.tile_tokens = plan.tile_kv;
  return kernel;
}

TokenSeconds seconds_per_token(const Machine& machine, const KernelProfile& kernel, const workloads::Geometry& geometry,
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
  const double rate = kernel.instruction == MmaInstruction::mma_sync ? machine.mma_sync_flops : machine.mma_flops;
  const double mma = 2 * padded * elements / (rate / machine.sms * kernel.mma_efficiency);
  const double exponentials = padded * machine.sms / machine.exp_per_second;
  const double fp32 = padded * softmax_fp32 / lanes / machine.clock_hz + cuda_core;
  const double shared_read = machine.shared_bytes_per_clock > 0
                                 ? static_cast<double>(workloads::kv_bytes_per_token(geometry)) /
                                       machine.shared_bytes_per_clock / machine.clock_hz
                                 : 0;
  const double shared = kernel.shared_reads * shared_read;
  // An instruction with operands in shared memory lasts as long as their reads, which are then no work beside it.
  const double instructions = std::max(mma, kernel.operand_reads * shared_read);
  const double other_shared = (kernel.shared_reads - kernel.operand_reads) * shared_read;
  const double longest = std::max({instructions, exponentials, fp32, shared});
  const double others = std::max(0.0, instructions + exponentials + fp32 + other_shared - longest);
  const double by_units = longest + kernel.unhidden_crowded * others;
  const double chain = kernel.chain_clocks / machine.clock_hz;
  if (kernel.crowded_clocks > 0 || kernel.most_tokens > 0) {  // of what holds its items 0 where an SM has one CTA
    const double crowded = kernel.crowded_clocks / machine.clock_hz;
    return {crowded, std::max(crowded, chain)};
  }
  // No CTA takes more of its SM than all of it for as long as it takes alone.
  if (chain > 0) return {std::min(by_units, chain), chain};
  return {by_units, longest + kernel.unhidden_alone * others};
}

}  // namespace splitwave::simulator
