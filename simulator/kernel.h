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
struct Kernel {
  std::string name;
  std::int32_t threads = 128;
  std::int32_t registers_per_thread = 128;
  std::int64_t shared_bytes = 0;
  std::int64_t bytes_in_flight = 0;  ///< per CTA, while it streams
  MmaInstruction instruction = MmaInstruction::mma_sync;
  std::int32_t mma_rows = 16;       ///< query rows are padded to a multiple of this (1: no padding)
  double mma_efficiency = 1;        ///< share of the instruction's rate that the kernel sustains, softmax included
  double clocks_per_token = 0;      ///< CUDA-core work of an SM per KV token, besides the tensor cores
  double clocks_per_row_token = 0;  ///< the same per query row and KV token
  double lone_slowdown = 1;         ///< tile time of a CTA alone on its SM over its SM's tile time with many
  double prologue_seconds = 0;      ///< of a CTA, before its first request to memory
  double epilogue_seconds = 0;      ///< of an item, from its last tile to its visible result
  double item_seconds = 0;          ///< extra per further item of a CTA
  bool prefetches_items = false;    ///< loads of the next item start during the present one
  double exposed_latencies = 1;     ///< memory latencies at the start of a stream that nothing hides (lockstep phases)
  double drain_tiles = 0;           ///< KV tiles whose arithmetic follows the last byte's arrival
  std::int32_t tile_tokens = 128;   ///< KV tokens per tile of the kernel
  double merge_launch_seconds = 0;  ///< fixed cost of a separate merge kernel
  double merge_seconds = 0;         ///< fixed cost of a merge inside the kernel (waiting CTA or last arriver)
  double merge_seconds_per_split = 0;          ///< serial cost of one more partial in a merge
  double merge_seconds_per_split_squared = 0;  ///< contention of the partials' writers on one flag
  double merge_seconds_per_row_split = 0;      ///< work of merging one row of one partial, by one SM
  std::string source;
};

/// CTAs of the kernel that fit on one SM: the least of threads, registers (allocated per warp in units of 256), shared
/// memory (1 KB reserved per CTA on NVIDIA) and the CTA limit. 0 if even one does not fit.
std::int32_t ctas_per_sm(const Machine& machine, const Kernel& kernel);

/// Profile of the kernel that the schedule's own library runs for this geometry (docs/simulator.md lists them); the
/// CPU machine has one of its own. A geometry that the library does not have gets splitwave's own kernel.
Kernel native_kernel(std::string_view schedule, const workloads::Workload& workload, const Machine& machine);

/// The same, once the plan is known: FlashAttention-2 runs its standard kernel when its rule answers one split.
Kernel native_kernel(const schedules::Plan& plan, const workloads::Workload& workload, const Machine& machine);

/// A shipped profile by name for the geometry: of its variants the first that covers the head dim and fits the machine,
/// or else the first that covers the head dim. Throws InputError with the nearest names, or if no variant covers it.
Kernel load_kernel(std::string_view name, const workloads::Workload& workload, const Machine& machine);

/// Every variant of a kernel file, checked; `where` begins error messages. For tests and user's files.
std::vector<Kernel> parse_kernel(const std::string& text, const std::string& where);

/// Names of the shipped kernel profiles, sorted.
std::vector<std::string> kernel_names();

/// cpu_reference's run_plan as a kernel. Throws std::logic_error if the machine is no CPU.
Kernel cpu_kernel(const Machine& machine);

/// Seconds that an SM busy with this kernel takes per KV token for an output tile of `rows` rows.
double seconds_per_token(const Machine& machine, const Kernel& kernel, const workloads::Geometry& geometry,
                         std::int32_t rows);

}  // namespace splitwave::simulator
