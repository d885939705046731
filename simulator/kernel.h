// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/plan.h"
#include "simulator/machine.h"
#include "workloads/workload.h"

namespace splitwave::simulator {

/// The instruction that multiplies tiles, which fixes the rate that a kernel can reach. cuda_core: no tensor core.
enum class MmaInstruction { mma_sync, wgmma, cuda_core };

/// The resources and costs of the kernel that runs a plan: what one CTA takes and how it moves and computes a tile.
/// One variant of a file of simulator/kernels/, for one geometry.
struct KernelProfile {
  std::string name;
  std::int32_t threads = 128;
  std::int32_t registers_per_thread = 128;
  std::int64_t shared_bytes = 0;
  std::int64_t bytes_in_flight = 0;  ///< per CTA, while it streams
  MmaInstruction instruction = MmaInstruction::mma_sync;
  std::int32_t mma_rows = 16;       ///< query rows are padded to a multiple of this (1: no padding)
  double mma_efficiency = 1;        ///< share of the instruction's rate that its issue order allows
  double shared_reads = 0;          ///< times that each byte of K and V is read from shared memory
  double clocks_per_token = 0;      ///< CUDA-core work of an SM per KV token of head dim 128, besides softmax
  double clocks_per_row_token = 0;  ///< the same per query row and KV token
  /// Share of the time of the less busy units (tensor cores, softmax, shared memory) that the busiest does not hide:
  /// with several CTAs on an SM, and with one.
  double unhidden_crowded = 0;
  double unhidden_alone = 0;
  bool programmatic_launch =
      false;  ///< from compute capability 9.0 on: starts beside the kernel before, waits for its end
  double overlapped_prologue_seconds = 0;  ///< of the prologue of such a kernel's first wave: over before that end
  double prologue_seconds = 0;             ///< of a CTA, before its first request to memory
  double cold_loads = 1;                   ///< dependent loads of the prologue, K included, that touch cold pages
  bool persistent = false;                 ///< where nothing is split, resident CTAs take the lists one after the other
  double queue_prologue_seconds = 0;       ///< more of it where lists come from a queue
  double queue_reset_seconds = 0;          ///< launch that resets the queue's counter where no merge kernel does
  double epilogue_seconds = 0;             ///< of an item, from its last tile to its visible result
  double item_seconds = 0;                 ///< extra per further item of a CTA
  bool prefetches_items = false;           ///< loads of the next item start during the present one
  double exposed_latencies = 1;     ///< memory latencies at the start of a stream that nothing hides (lockstep phases)
  double first_tiles = 1;           ///< KV tiles that must be there before arithmetic starts, where it is the limit
  double drain_tiles = 0;           ///< KV tiles whose arithmetic follows the last byte's arrival
  std::int32_t tile_tokens = 128;   ///< KV tokens per tile of the kernel
  bool tile_of_plan = false;        ///< the library picks the tile per call: tile_tokens is the plan's tile_kv
  double merge_launch_seconds = 0;  ///< fixed cost of a separate merge kernel
  bool always_merges = false;       ///< the merge kernel is launched even if nothing is split
  double merge_seconds = 0;         ///< fixed cost of a merge inside the kernel (waiting CTA or last arriver)
  double merge_seconds_per_split = 0;      ///< serial cost of one more partial in a merge
  double merge_contention_seconds = 0;     ///< per row, partial and doubling of the merges that go on at once
  double merge_seconds_per_row_split = 0;  ///< work of merging one row of one partial, by one SM
};

/// From the end of the kernel before to the start of this one's first CTA: the machine's launch, or, where CTAs already
/// wait on the device (programmatic_launch), the time in which they see that end.
double launch_seconds(const Machine& machine, const KernelProfile& kernel);

/// Prologue of the first wave's CTAs after that launch.
double first_prologue_seconds(const Machine& machine, const KernelProfile& kernel);

/// CTAs of the kernel that fit on one SM: the least of threads, registers (allocated per warp in units of 256), shared
/// memory (1 KB reserved per CTA on NVIDIA) and the CTA limit. 0 if even one does not fit.
std::int32_t ctas_per_sm(const Machine& machine, const KernelProfile& kernel);

/// One variant of a kernel file: a kernel and the geometries that it is for.
struct KernelVariant {
  KernelProfile kernel;
  std::int32_t head_dim_least = 0;
  std::int32_t head_dim_most = 0;
  std::int32_t group_least = 1;  ///< query heads per KV head
  std::int32_t group_most = 65536;
};

/// A kernel with its variants, in the order of its file.
struct KernelFamily {
  std::string name;
  std::vector<KernelVariant> variants;
};

/// A shipped kernel by name or a JSON file by path. Throws InputError with the nearest names, or with file, key, value
/// and what is allowed.
KernelFamily load_kernel(const std::string& name_or_file);

/// The same from text; `where` begins error messages.
KernelFamily parse_kernel(std::string_view text, const std::string& where);

/// What the kernel needs of hardware and dtype, for people: "f16 or bf16, compute capability 9.0".
std::string needs_of(const KernelFamily& family);

/// The family's kernel for the workload on the machine: of its variants the first that covers head dim and group and
/// fits on an SM, or else the first that covers them. Throws InputError with the reason if the kernel cannot exist:
/// no variant covers the geometry, tensor cores are asked for f32, or wgmma of a machine that is not of compute
/// capability 9.0.
KernelProfile kernel_for(const KernelFamily& family, const workloads::Workload& workload, const Machine& machine);

/// The kernel that the schedule's own library runs for the workload (schedules::KernelFunction); this computer's CPU
/// has one for all. Throws InputError with the reason and the schedules that can run instead if there is none.
KernelProfile native_kernel(std::string_view schedule, const workloads::Workload& workload, const Machine& machine);

/// The same, once the plan is known: FlashAttention-2 runs its standard kernel when its rule answers one split, and a
/// kernel whose library picks the tile per call takes the plan's.
KernelProfile native_kernel(const schedules::Plan& plan, const workloads::Workload& workload, const Machine& machine);

/// Names of the shipped kernel profiles, sorted.
std::vector<std::string> kernel_names();

/// cpu_reference's run_plan as a kernel. Throws std::logic_error if the machine is no CPU.
KernelProfile cpu_kernel(const Machine& machine);

/// Seconds per KV token of an output tile: of an SM that several CTAs share, and of a CTA alone on its SM.
struct TokenSeconds {
  double crowded = 0;
  double alone = 0;
};

/// Arithmetic of one KV token for an output tile of `rows` rows, at the machine's clock: tensor cores (with the rows
/// padded), softmax (an exponential and about five fp32 operations per score) and shared memory.
TokenSeconds seconds_per_token(const Machine& machine, const KernelProfile& kernel, const workloads::Geometry& geometry,
                               std::int32_t rows);

}  // namespace splitwave::simulator
