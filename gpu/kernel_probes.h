// SPDX-License-Identifier: Apache-2.0
// What one worker of each compiled kernel takes, alone on the device, with K and V in L2 but for one kind: the
// microbenchmarks that the kernels' constants are made of (docs/measuring.md). No probe fills the device from DRAM.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gpu/kernel_config.h"
#include "gpu/kernel_resources.h"
#include "gpu/measure.h"
#include "workloads/workload.h"

namespace splitwave::gpu {

/// The kinds of probes. A round is as many tokens as a worker's warps take at a time, one chunk each.
enum class ProbeKind {
  empty,         ///< one item without tokens
  item,          ///< one item of `count` tokens: a round, one for each stage, and eight more
  items,         ///< one list of `count` items of a round each
  unhidden,      ///< masked: the same with a mask that hides nothing
  queries,       ///< masked: one item of a round whose rows are `count` queries of one head
  splits,        ///< one output in `count` parts of a round, merged by the last arriver, or as kernels without rings do
  host,          ///< the same, merged by the CTA of the first part
  kernel,        ///< outputs of `count` parts in kMergedLists lists, merged by a second kernel
  lone_kernel,   ///< one output of `count` parts, merged by a second kernel
  unmerged,      ///< `count` lists of a round each without merges
  queue,         ///< `count` lists of a round each that one worker takes from a queue
  short_items,   ///< one list of `count` items of 16 tokens
  crowd,         ///< such a list in each worker that is resident
  full,          ///< in each worker that is resident on kFullSms SMs an item of `count` tokens, K and V in L2
  full_queries,  ///< masked: there a list of kEdgeItems items, of which the rows are of `count` queries
  waves,         ///< `count` times as many lists of one item of few tokens as workers are resident, K and V in L2
  row_waves,     ///< waves of items of one row
  /// An item of `count` tokens, K and V in DRAM: of a round; in single CTAs with rings also of the first round of each
  /// stage and of kStreamedRounds more, all by the kernel that runs any plan, too; without rings also of a chunk for
  /// each CTA.
  cold,
  table,      ///< one of two items of different lengths, at most a round: items come from the table
  boxes,      ///< one item of `count` tokens and twice the rows, whose two CTAs take the same keys in boxes
  row_items,  ///< items of one row
  cold_items  ///< items with K and V in DRAM
};
inline constexpr ProbeKind kLastProbeKind = ProbeKind::cold_items;
/// The enumerator's own name, as files of points have it.
std::string to_string(ProbeKind kind);

/// Of the probes with items of few tokens: one warp's, and no other's.
inline constexpr std::int32_t kFewTokens = 16;
/// Of the probes of a ring that streams from DRAM: whole turns of two, three and four stages.
inline constexpr std::int32_t kStreamedRounds = 24;
/// Of the probes of SMs that hold as many CTAs as they can: so few that L2's bandwidth does not limit them.
inline constexpr std::int32_t kFullSms = 8;
/// Of the probes of edges on full SMs: items of a list, and chunks of each item that not all of its queries see.
inline constexpr std::int32_t kEdgeItems = 4;
inline constexpr std::int32_t kEdgeChunks = 2;
/// Of the probes of merge kernels: as in any batch, the slowest of many merges counts.
inline constexpr std::int32_t kMergedLists = 128;

/// One probe: what was launched, and how long it took.
struct KernelProbe {
  workloads::Geometry geometry;  ///< of the probe's workload
  bool paged = false;
  bool masked = false;
  KernelConfig config;
  bool any_plan = false;  ///< by the kernel that runs any plan, though the config has one for single items
  bool waits = false;     ///< by the one for CTAs that wait, which runs any such plan
  ProbeKind kind = ProbeKind::empty;
  std::int32_t count = 0;  ///< what the kind counts: tokens, items, queries, parts, lists or waves
  double seconds = 0;      ///< of one launch; the median of the replays
};

/// Tokens of a worker's round.
std::int32_t round_tokens(const KernelConfig& config);

/// Head dimension of the probes of MLA, with values of 512.
inline constexpr std::int32_t kLatentDim = 576;

/// Probes every config of one geometry: head_dim 64, 128, 256 or kLatentDim with as many query rows as its kernels
/// take, f16.
/// Throws as kernel_configs() and Decoder do.
void probe_kernels(std::int32_t head_dim, bool paged, bool masked, const MeasureOptions& options,
                   const std::function<void(const KernelProbe&)>& found);

/// Probes, on kFullSms SMs alone, every config without clusters of which an SM holds several CTAs. Throws as
/// probe_kernels() does; where the driver does not part the device so there are no probes.
void probe_full_sms(std::int32_t head_dim, bool paged, bool masked, const MeasureOptions& options,
                    const std::function<void(const KernelProbe&)>& found);

}  // namespace splitwave::gpu
