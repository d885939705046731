// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/plan.h"
#include "simulator/machine.h"
#include "workloads/workload.h"

namespace splitwave::simulator {

/// The profile of the project's own CUDA kernels, which on a machine may be another file (Machine::own_kernels).
inline constexpr std::string_view kOwnKernel = "splitwave";

/// The instruction that multiplies tiles, which fixes the rate that a kernel can reach. cuda_core: no tensor core.
enum class MmaInstruction { mma_sync, wgmma, cuda_core, tcgen05 };

/// Requests that the scheduler warp of a queue looks at together: a lane each, and one for their sum
/// (FlashAttention-3, hopper/tile_scheduler.hpp:597-690).
inline constexpr std::int32_t kQueueGroup = 31;

/// The resources and costs of the kernel that runs a plan: what one CTA takes and how it moves and computes a tile.
/// One variant of a file of simulator/kernels/, for one geometry.
struct KernelProfile {
  std::string name;
  std::int32_t threads = 128;
  std::int32_t registers_per_thread = 128;
  std::int64_t shared_bytes = 0;
  std::int64_t bytes_in_flight = 0;  ///< per CTA, while it streams
  double refill_seconds = 0;         ///< from a window's arrival to the request that takes its place
  MmaInstruction instruction = MmaInstruction::mma_sync;
  std::int32_t mma_rows = 16;  ///< query rows are padded to a multiple of this (1: no padding)
  double mma_efficiency = 1;   ///< share of the instruction's rate that its issue order allows
  double shared_reads = 0;     ///< times that each byte of K and V is read from shared memory
  double operand_reads = 0;    ///< those of them that matrix instructions do, which last as long as they read
  bool moves_rows = false;     ///< an item's rows of Q come, and those of its result go, at the rate of an SM or memory
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
  double queue_walk_seconds = 0;           ///< for a worker to pass kQueueGroup requests on its way to its next list
  double queue_reset_seconds = 0;          ///< launch that resets the queue's counter where no merge kernel does
  double epilogue_seconds = 0;             ///< of an item, from its last tile to its visible result
  double item_seconds = 0;                 ///< extra per further item of a CTA
  double empty_list_seconds = std::numeric_limits<double>::infinity();  ///< at most: of a CTA without items
  bool prefetches_items = false;    ///< loads of the next item start during the present one
  double exposed_latencies = 1;     ///< memory latencies at the start of a stream that nothing hides (lockstep phases)
  double first_tiles = 1;           ///< KV tiles that must be there before arithmetic starts, where it is the limit
  double drain_tiles = 0;           ///< KV tiles whose arithmetic follows the last byte's arrival
  std::int32_t tile_tokens = 128;   ///< KV tokens per tile of the kernel
  bool tile_of_plan = false;        ///< the library picks the tile per call: tile_tokens is the plan's tile_kv
  double merge_launch_seconds = 0;  ///< fixed cost of a separate merge kernel
  bool always_merges = false;       ///< the merge kernel is launched even if nothing is split
  double merge_seconds = 0;         ///< fixed cost of a merge inside the kernel (waiting CTA or last arriver)
  bool merges_after_list = false;   ///< ... at the end of its CTA's list, one after the other; else with the item
  double merge_seconds_per_split = 0;      ///< serial cost of one more partial in a merge
  double merge_row_clocks = 0;             ///< of an SM, for a waiting CTA to load one row of a partial (merge_rows)
  double flag_reset_seconds = 0;           ///< launch that zeroes the flags where an output may have several partials
  double merge_seconds_per_row_split = 0;  ///< work of merging one row of one partial, by one SM

  // Compiled configs of a family (KernelFamily::alternatives).
  std::string config;            ///< what it is compiled for and launched with, "r1w4s4t16c8"; empty: not such a one
  std::int32_t cluster = 1;      ///< CTAs that share each item: a worker of the plan is a cluster of so many
  std::int32_t kv_heads = 1;     ///< that a CTA reads as one: 2 in kernels for head pairs (schedules/head_pairs.h)
  std::int32_t most_rows = 0;    ///< rows that a CTA takes of an output tile; more take several CTAs. 0: any
  std::int32_t most_tokens = 0;  ///< of an item: a kernel without ring holds it whole. 0: any
  /// Of so many tokens, on their way to a lone worker that has asked for them all; negative: at the machine's rate.
  double held_transfer_seconds = -1;
  double early_clocks = 0;   ///< of its crowded_clocks, what a lone CTA has behind it when its last byte is there
  bool masked = false;       ///< takes tiles whose rows see different ranges, and only those
  double chain_clocks = 0;   ///< per KV token of a CTA alone on its SM: its warps' chains of instructions. 0: none
  double latency_scale = 1;  ///< its requests' latency over the machine's, which batches of register loads showed
  double queue_scale = 1;    ///< the same of what the latency grows by under load
  double first_round_seconds = 0;  ///< more of the first tile of each stage behind the first one than of later ones
  double ring_refill_seconds = 0;  ///< of a ring's turn, besides a latency and a tile's arithmetic
  double partial_tile = 1;         ///< share of a tile's arithmetic that a part of one takes however small it is
  bool refills_after_use = false;  ///< a tile is requested when the one in its place has been worked on
  bool shares_tiles = false;   ///< the warps multiply a tile together, and write all or none of each eight rows of it
  double item_stops = 0;       ///< turns of its window for which a CTA asks for nothing between two items
  bool warps_alone = false;    ///< each warp has a part of its CTA's list, and ends its items while the others go on
  double combine_seconds = 0;  ///< warps_alone: of its epilogue, for pieces of an item of which several warps have some
  double single_item_prologue_seconds = 0;  ///< in place of the prologue where each list has one item (single_item())
  double table_seconds = 0;                 ///< more of it where the item comes from a table
  double single_item_chain_clocks = 0;      ///< in place of chain_clocks there
  double single_item_first_round_seconds = 0;  ///< in place of first_round_seconds there
  double single_item_ring_refill_seconds = 0;  ///< in place of ring_refill_seconds there
  /// In place of registers_per_thread and shared_bytes there, if not 0.
  std::int32_t single_item_registers_per_thread = 0;
  std::int64_t single_item_shared_bytes = 0;
  /// In place of merge_seconds, merge_seconds_per_split and merge_batch_seconds there; the first negative: of none.
  double single_item_merge_seconds = -1;
  double single_item_merge_seconds_per_split = 0;
  double single_item_merge_batch_seconds = 0;
  double paged_chain_clocks = 0;  ///< in place of chain_clocks with paged K and V
  double paged_single_item_chain_clocks = 0;
  double box_chain_clocks = 0;    ///< in place of both where CTAs side by side take the same keys in boxes; 0: never
  double crowded_clocks = 0;      ///< of an SM per KV token where several CTAs are on it. 0: by the units' rates; of
                                  ///< a kernel that holds its items, in ClusterCosts, none: an SM has one CTA
  double fewer_rows_seconds = 0;  ///< of a kernel that holds its items: by which an SM takes less for one of a single
                                  ///< row than for one of all rows, which a lone CTA does not; as run, of its rows
  double item_fewer_rows_seconds = 0;  ///< of item_seconds and item_crowded_seconds: by which an item of one row takes
                                       ///< less than one of all rows
  double item_crowded_seconds = 0;     ///< in place of item_seconds with as many CTAs on an SM as fit
  double second_item_seconds = 0;      ///< more of a list's second item, which may be less than 0
  double crowd_start_seconds = 0;      ///< more of the first prologue if CTAs with tokens fill the device
  double spread_start_seconds = 0;  ///< more of the first prologue for each doubling of the CTAs that read: one of many
                                    ///< is far from its data
  double single_item_crowd_start_seconds = 0;  ///< in place of it where each list has one item
  /// More of the first prologue where its SM holds as many CTAs as fit, of fewer a share: with a window of tokens, and
  /// besides with any.
  double full_sm_seconds = 0;
  double full_sm_start_seconds = 0;
  double later_start_seconds = 0;  ///< more of the prologue in the place of a CTA that has ended, among others' ends
  double queue_list_seconds = 0;   ///< for a worker to take a list from a queue and begin anew
  bool reads_table = false;        ///< the first item is looked up in memory, which is cold if K and V are
  /// Masked: more of an item of which some rows see not all, for two queries in the rows that a CTA takes, and for each
  /// further one.
  double edge_seconds = 0;
  double edge_query_seconds = 0;
  /// What an SM, of all its CTAs, takes for each further query of each chunk of keys that has an edge. As run: both for
  /// all further queries of a tile.
  double edge_chunk_seconds = 0;
  double paged_seconds = 0;               ///< more of the prologue with paged K and V: the first look-up
  double paged_item_seconds = 0;          ///< more of item_seconds with paged K and V
  double paged_item_crowded_seconds = 0;  ///< more of item_crowded_seconds there
  double paged_crowded = 0;               ///< times crowded_clocks there. 0: as the chain
  double paged_full_sm_seconds = 0;       ///< in place of full_sm_seconds there
  std::int32_t merge_batch_splits = 0;    ///< partials that a merge asks for at a time; 0: all
  std::int32_t merge_rows = 0;     ///< of a partial that a waiting CTA loads, of its own tile or of those behind it
  double merge_batch_seconds = 0;  ///< of each further batch
  double merge_kernel_batch_seconds = 0;       ///< the same of a separate merge kernel
  double merge_kernel_bytes_per_second = 0;    ///< at which partials go to a merge kernel through L2; 0: L2's
  double merge_kernel_seconds_per_split = -1;  ///< of a separate merge kernel; negative: merge_seconds_per_split
  /// Splits that one warp of a merge kernel combines before two share them, then four, up to merge_kernel_most_warps;
  /// 0: one warp combines any number.
  std::int32_t merge_kernel_warp_splits = 0;
  std::int32_t merge_kernel_most_warps = 1;
  std::int32_t merge_kernel_warps = 0;  ///< of its CTAs, a fragment each. 0: all of its CTAs run at a time
  std::int32_t merge_kernel_ctas = 1;   ///< that an SM holds at a time
  std::int32_t merge_kernel_run = 1;    ///< fragments of a warp instead where CTAs with one each are more than are held
  std::int32_t merge_fragments = 0;     ///< that a CTA's warps take in turn to merge an output; 0: as one piece
  std::int32_t merge_warps = 1;         ///< warps of a CTA that merge
  /// In place of merge_seconds and merge_seconds_per_split where CTAs wait and look themselves whether partials are
  /// there, all of a warp's fragments at a time; the first negative: as a last arriver's.
  double waiting_merge_seconds = -1;
  double waiting_merge_seconds_per_split = 0;
  /// In place of prologue_seconds, item_seconds, item_crowded_seconds and chain_clocks where CTAs wait, if these have a
  /// kernel of their own; the first negative: they have none.
  double waiting_prologue_seconds = -1;
  double waiting_item_seconds = 0;
  double waiting_item_crowded_seconds = 0;
  double waiting_chain_clocks = 0;
  double merge_shared_seconds = -1;  ///< of merge_seconds, what CTAs that share a merge take each; negative: all of it
  double merge_shared_turns = 0;  ///< partials times turns of a CTA's warps from which on CTAs that wait share a merge
};

/// From the end of the kernel before to the start of this one's first CTA: the machine's launch, or, where CTAs already
/// wait on the device (programmatic_launch), the time in which they see that end.
double launch_seconds(const Machine& machine, const KernelProfile& kernel);

/// Prologue of the first wave's CTAs after that launch.
double first_prologue_seconds(const Machine& machine, const KernelProfile& kernel);

/// CTAs of the kernel that fit on one SM: the least of threads, registers (allocated per warp in units of 256), shared
/// memory (1 KB reserved per CTA on NVIDIA) and the CTA limit. 0 if even one does not fit.
std::int32_t ctas_per_sm(const Machine& machine, const KernelProfile& kernel);
/// The same of a CTA that takes so much.
std::int32_t ctas_per_sm(const Machine& machine, std::int32_t threads, std::int32_t registers_per_thread,
                         std::int64_t shared_bytes);

/// Costs of a compiled config that depend on the size of its clusters.
struct ClusterCosts {
  std::int32_t cluster = 1;
  double fixed_seconds = 0;              ///< prologue and epilogue of the kernel that runs any plan; 0: there is none
  double single_item_fixed_seconds = 0;  ///< of the one for lists of one item; 0: there is none
  double crowded_clocks = 0;             ///< KernelProfile::crowded_clocks, for a token of one CTA
  double later_start_seconds = 0;        ///< KernelProfile::later_start_seconds
  std::int32_t single_item_registers_per_thread = 0;  ///< KernelProfile's
  std::int64_t single_item_shared_bytes = 0;
  double single_item_merge_seconds = -1;  ///< KernelProfile's, as the next; negative: both are those of single CTAs
  double single_item_merge_seconds_per_split = 0;
  double held_transfer_seconds = -1;  ///< KernelProfile's
  double early_clocks = 0;            ///< KernelProfile's, for a token of one CTA
  double held_paged_seconds = -1;     ///< KernelProfile::paged_seconds; negative: that of all sizes
};

/// One variant of a kernel file: a kernel and the geometries that it is for.
struct KernelVariant {
  KernelProfile kernel;
  double waiting_fixed_seconds = -1;      ///< prologue and epilogue of a single CTA that waits; negative: as others
  std::vector<ClusterCosts> clusters;     ///< compiled configs only: one kernel each
  std::int64_t cluster_shared_bytes = 0;  ///< in place of shared_bytes in clusters
  std::int32_t head_dim_least = 0;
  std::int32_t head_dim_most = 0;
  std::int32_t value_dim = 0;    ///< of MLA, whose values lie in the keys; 0: not MLA. Compiled configs only
  std::int32_t group_least = 1;  ///< query heads per KV head
  std::int32_t group_most = 65536;
};

/// A kernel with its variants, in the order of its file. Variants with a config are alternatives: any of them can run a
/// plan, and whoever runs it takes the fastest.
struct KernelFamily {
  std::string name;
  std::vector<KernelVariant> variants;
};

/// A shipped kernel by name or a JSON file by path. Throws InputError with the nearest names, or with file, key, value
/// and what is allowed.
KernelFamily load_kernel(const std::string& name_or_file);

/// The profile that stands for kOwnKernel on the machine: the one that it names, or that.
std::string own_kernel(const Machine& machine);

/// The file of a shipped kernel. Throws InputError with the nearest names.
std::string kernel_text(const std::string& name);

/// The same from text; `where` begins error messages.
KernelFamily parse_kernel(std::string_view text, const std::string& where);

/// What the kernel needs of hardware and dtype, for people: "f16 or bf16, compute capability 9.0".
std::string needs_of(const KernelFamily& family);

/// The family's kernel for the workload on the machine: of its variants the first that covers head dim and group and
/// fits on an SM, or else the first that covers them. Throws InputError with the reason if the kernel cannot exist:
/// no variant covers the geometry, tensor cores are asked for f32, wgmma of a machine that is not of compute capability
/// 9.0, or tcgen05 of one that is not of 10 or 11.
KernelProfile kernel_for(const KernelFamily& family, const workloads::Workload& workload, const Machine& machine);

/// The kernel family that the schedule's own library runs for the workload on the machine. Throws InputError if the
/// machine names one that is not shipped.
const KernelFamily& family_of(std::string_view schedule, std::int32_t num_splits, const workloads::Workload& workload,
                              const Machine& machine);

/// The kernel that the schedule's own library runs for the workload (schedules::KernelFunction); this computer's CPU
/// has one for all. Throws InputError with the reason and the schedules that can run instead if there is none.
KernelProfile native_kernel(std::string_view schedule, const workloads::Workload& workload, const Machine& machine);

/// The same, once the plan is known: FlashAttention-2 runs its standard kernel when its rule answers one split, and a
/// kernel whose library picks the tile per call takes the plan's.
KernelProfile native_kernel(const schedules::Plan& plan, const workloads::Workload& workload, const Machine& machine);

/// The kernel as it runs the plan: with the plan's tile if its library picks the tile per call (tile_of_plan).
KernelProfile with_tile_of(const schedules::Plan& plan, KernelProfile kernel);

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
