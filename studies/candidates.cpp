// SPDX-License-Identifier: Apache-2.0
#include "studies/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "schedules/cut.h"
#include "schedules/rules/lean.h"
#include "simulator/merge.h"
#include "simulator/simulate.h"

namespace splitwave::studies {
namespace {

using simulator::KernelProfile;
using workloads::Workload;

constexpr std::array kSplits = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128};
/// Rounding of residency and tiles that the bounds do not follow.
constexpr double kSlack = 0.99;
/// Even splits into more lists than so many times what is resident only add merges.
constexpr std::int64_t kMostWaves = 4;
/// Pieces of fixed size: so many to a resident worker, least and most. Measured best were 0.4 to 12 (docs/kernels.md).
constexpr double kLeastPieces = 0.3;
constexpr double kMostPieces = 16;

/// Kernels for so many rows end an item and merge in little time, so that it matters little who merges.
constexpr std::int32_t kFewRows = 8;

/// What a bound needs of a workload, once.
struct Facts {
  double read_seconds = 0;  ///< of K and V, at the machine's bandwidth
  double tokens = 0;        ///< of all KV heads
  std::int64_t outputs = 0;
  std::int64_t tiles = 0;  ///< of all outputs, where each has one row block and sees all of its context; else 0
  std::int32_t longest = 0;
  std::int32_t group = 1;
  std::int32_t rows = 1;  ///< most of a KV head
  bool uniform = false;
  bool single_query = false;
  bool latent = false;  ///< MLA, whose partial results are wide
};

Facts facts_of(const Workload& workload, const simulator::Machine& machine) {
  Facts facts;
  const auto bytes = static_cast<double>(workloads::kv_bytes(workload));
  facts.read_seconds = bytes / machine.dram_bytes_per_second;
  facts.tokens = bytes / static_cast<double>(workloads::kv_bytes_per_token(workload.geometry));
  facts.outputs = static_cast<std::int64_t>(workload.requests.size()) * workload.geometry.kv_heads;
  facts.longest = workloads::padded_context_len(workload);
  facts.group = workload.geometry.group();
  facts.rows = facts.group * std::max(1, workloads::max_query_len(workload));
  facts.single_query = workloads::max_query_len(workload) <= 1;
  facts.latent = workload.geometry.kind == workloads::AttentionKind::mla;
  if (facts.single_query && !workload.geometry.window) {
    for (const workloads::Request& request : workload.requests) {
      facts.tiles += schedules::ceil_div(request.context_len, kCandidateTileTokens);
    }
    facts.tiles *= workload.geometry.kv_heads;
  }
  facts.uniform = std::all_of(workload.requests.begin(), workload.requests.end(),
                              [&](const workloads::Request& r) { return r == workload.requests.front(); });
  return facts;
}

/// What a list costs its worker besides its tokens, and each token, at least.
struct ListCosts {
  double list = 0;
  double token = 0;
};

ListCosts list_costs(const KernelProfile& kernel, const simulator::Machine& machine) {
  const bool single = kernel.single_item_prologue_seconds > 0;
  double prologue = kernel.prologue_seconds;
  double chain = kernel.chain_clocks;
  if (single) {
    prologue = kernel.most_tokens > 0 ? kernel.single_item_prologue_seconds
                                      : std::min(prologue, kernel.single_item_prologue_seconds);
    chain = std::min(chain, kernel.single_item_chain_clocks);
  }
  // Kernels without rings wait for their first bytes in every list, and are then done with them at once.
  if (kernel.most_tokens > 0) {
    prologue += machine.l2_latency_seconds + (kernel.latency_scale - 1) * machine.dram_latency_seconds;
  }
  return {prologue + kernel.epilogue_seconds, chain / machine.clock_hz};
}

/// Of all K and V after the start of a list, at least.
double stream_bound(const Facts& facts, const ListCosts& costs) {
  return costs.list + facts.read_seconds;
}

enum class Merging { last_arriver, host_cta, kernel };

/// Merging so many parts, at least.
double merge_bound(const KernelProfile& kernel, const simulator::Machine& machine, std::int64_t parts,
                   Merging merging) {
  if (parts <= 1) return 0;
  if (merging == Merging::kernel) {
    const std::int32_t serial = simulator::splits_per_warp(kernel, static_cast<std::int32_t>(parts));
    const double further = kernel.merge_batch_splits > 0 ? (serial - 1) / kernel.merge_batch_splits : 0;
    return kernel.merge_launch_seconds + std::max(0.0, kernel.merge_kernel_seconds_per_split) * serial +
           kernel.merge_kernel_batch_seconds * further;
  }
  const auto mergers = static_cast<std::int32_t>(merging == Merging::host_cta ? parts : 1);
  return machine.flag_seconds + simulator::in_kernel_seconds(kernel, static_cast<double>(parts), mergers);
}

/// Of even splits of a uniform batch.
double split_bound(const Facts& facts, const KernelProfile& kernel, const simulator::Machine& machine,
                   std::int64_t workers, std::int32_t splits, Merging merging) {
  // Splits are whole tiles, so that there may be fewer than were asked for.
  const std::int32_t tiles = (facts.longest + kCandidateTileTokens - 1) / kCandidateTileTokens;
  const std::int32_t tiles_per_part = std::max(1, (tiles + splits - 1) / splits);
  const std::int64_t parts = std::max(1, (tiles + tiles_per_part - 1) / tiles_per_part);
  const std::int64_t lists = facts.outputs * parts;
  const std::int64_t waves = (lists + workers - 1) / workers;
  const ListCosts costs = list_costs(kernel, machine);
  const double list =
      costs.list + std::floor(static_cast<double>(facts.longest) / static_cast<double>(parts)) * costs.token;
  const double stream = stream_bound(facts, costs);
  return machine.launch_seconds + std::max(stream, static_cast<double>(waves) * list) +
         merge_bound(kernel, machine, parts, merging);
}

/// Of pieces of `size` tokens, one to a list.
double piece_bound(const Facts& facts, const KernelProfile& kernel, const simulator::Machine& machine,
                   std::int64_t workers, std::int64_t lists, std::int32_t size, Merging merging) {
  const ListCosts costs = list_costs(kernel, machine);
  const double work = (static_cast<double>(lists) * costs.list + facts.tokens * costs.token) /
                      static_cast<double>(std::min(workers, lists));
  const double stream = stream_bound(facts, costs);
  const std::int64_t parts = (facts.longest + size - 1) / size;
  const double longest = costs.list + std::min(size, facts.longest) * costs.token;
  return machine.launch_seconds + std::max({stream, work, longest}) + merge_bound(kernel, machine, parts, merging);
}

/// Of even splits in which every query head has tiles of its own, as FlashAttention-2 cuts several queries.
double heads_bound(const Facts& facts, const KernelProfile& kernel, const simulator::Machine& machine,
                   std::int64_t workers, std::int32_t splits, Merging merging) {
  const ListCosts costs = list_costs(kernel, machine);
  const std::int32_t parts = std::max(1, std::min(splits, facts.longest / kCandidateTileTokens));
  const auto lists = static_cast<double>(facts.outputs * facts.group);
  const double work = (lists * costs.list + facts.tokens * facts.group * costs.token) / static_cast<double>(workers);
  const double stream = stream_bound(facts, costs);
  const double longest = costs.list + static_cast<double>(facts.longest / splits) * costs.token;
  return machine.launch_seconds + std::max({stream, work, longest}) +
         (facts.uniform ? merge_bound(kernel, machine, parts, merging) : 0);
}

/// Parts into which LeanAttention's cut into tiles of candidates takes the longest output, at least.
std::int64_t lean_parts(const Facts& facts, const KernelProfile& kernel, std::int64_t workers) {
  if (facts.tiles == 0 || facts.group > kernel.most_rows) return 1;
  const std::int64_t lists = schedules::lean_grid(facts.tiles, facts.outputs, workers);
  return schedules::ceil_div(schedules::ceil_div(facts.longest, kCandidateTileTokens),
                             schedules::ceil_div(facts.tiles, lists));
}

/// Of LeanAttention's cut, whose lists are equally long, so that what is cut is merged after all of them.
double lean_bound(const Facts& facts, const KernelProfile& kernel, const simulator::Machine& machine,
                  std::int64_t workers, std::int64_t parts, Merging merging) {
  const double items = static_cast<double>(facts.outputs) / static_cast<double>(workers);
  const ListCosts costs = list_costs(kernel, machine);
  const double list = costs.list + std::max(0.0, items - 1) * (kernel.epilogue_seconds + kernel.item_seconds) +
                      facts.tokens / static_cast<double>(workers) * costs.token;
  return machine.launch_seconds + std::max(stream_bound(facts, costs), list) +
         merge_bound(kernel, machine, parts, merging);
}

/// Of any cut, if its lists come out equally long.
double even_bound(const Facts& facts, const KernelProfile& kernel, const simulator::Machine& machine,
                  std::int64_t workers) {
  const ListCosts costs = list_costs(kernel, machine);
  const double list = costs.list + facts.tokens / static_cast<double>(workers) * costs.token;
  return machine.launch_seconds + std::max(stream_bound(facts, costs), list);
}

/// Lists of a plan that cuts every output into pieces of `size` tokens.
std::int64_t pieces_of(const Workload& workload, std::int32_t size) {
  std::int64_t pieces = 0;
  for (const workloads::Request& request : workload.requests) pieces += (request.context_len + size - 1) / size;
  return pieces * workload.geometry.kv_heads;
}

/// Tokens of pieces worth considering: where all contexts are alike, even parts of them.
std::vector<std::int32_t> piece_sizes(const Facts& facts) {
  std::vector<std::int32_t> sizes;
  if (!facts.uniform) {
    for (std::int32_t size = 256; size <= (1 << 18); size *= 2) {
      sizes.push_back(size);
      if (size >= facts.longest) break;  // larger ones cut nothing either
    }
    return sizes;
  }
  for (const std::int32_t parts : kSplits) {
    const std::int32_t tiles = (facts.longest + parts * kCandidateTileTokens - 1) / (parts * kCandidateTileTokens);
    if (sizes.empty() || tiles * kCandidateTileTokens < sizes.back()) sizes.push_back(tiles * kCandidateTileTokens);
  }
  std::reverse(sizes.begin(), sizes.end());
  return sizes;
}

/// Pieces of one size, and lists of them.
struct Pieces {
  std::int32_t tokens = 0;
  std::int64_t lists = 0;
};

/// Candidates of one kernel after the other.
class Collector {
 public:
  Collector(const Workload& workload, const simulator::Machine& machine, const std::vector<KernelProfile>& kernels)
      : machine_(machine), facts_(facts_of(workload, machine)), packs_splits_(facts_.uniform && facts_.single_query) {
    for (const KernelProfile& kernel : kernels) {
      least_rows_ = least_rows_ == 0 ? kernel.most_rows : std::min(least_rows_, kernel.most_rows);
      most_rows_ = std::max(most_rows_, kernel.most_rows);
    }
    for (const std::int32_t size : packs_splits_ ? std::vector<std::int32_t>{} : piece_sizes(facts_)) {
      sizes_.push_back({size, pieces_of(workload, size)});
    }
  }

  void add(const KernelProfile& kernel) {
    kernel_ = &kernel;
    workers_ = simulator::grid_of(machine_, kernel).resident();
    if (kernel.most_tokens > 0) {
      if (facts_.longest <= kernel.most_tokens) add_whole();
      return;
    }
    if (packs_splits_) {
      // Clusters are for few outputs: of 43 measured batches with more than 264 they were the best of one by 12 %, and
      // of the others by 1 % at most.
      if (kernel.cluster > 1 && facts_.outputs > workers_ * kernel.cluster) return;
      add_splits(facts_.outputs, split_bound);
    } else if (facts_.single_query) {
      add_whole();
    } else if (kernel.most_rows == least_rows_) {
      // Small tiles of a head each are worked on sooner than one tall tile, though each reads K and V.
      add_splits(facts_.outputs * facts_.group, heads_bound);
    }
    const bool in_blocks = facts_.rows > most_rows_ && 2 * kernel.most_rows == most_rows_;  // fewer may be rows of none
    if (kernel.most_rows < most_rows_ && !packs_splits_ && !in_blocks) return;
    add_pieces();
    if (kernel.cluster > 1) return;  // of 900 choices measured none was LeanAttention in clusters
    add_lean();
    if (packs_splits_ && kernel.most_rows <= kFewRows) return;  // even splits are as good
    const double even = even_bound(facts_, kernel, machine_, workers_);
    // Its own tiles may cut less.
    add_plain("lean", lean_bound(facts_, kernel, machine_, workers_, 1, Merging::last_arriver));
    add_plain("flashinfer-holistic", even);
    if (!packs_splits_) add_plain("fixed-split:fa3", even);
    if (facts_.latent) {
      for (const char* name : {"flashmla", "lean+kernel"}) add_plain(name, even);
    }
    if (facts_.uniform) return;
    for (const char* name : {"fa3", "flashinfer"}) add_named(name, even);
    add_plain("flashinfer", even);
  }

  /// All, with the least bounds first.
  std::vector<Candidate> take() && {
    for (Candidate& candidate : all_) candidate.least_seconds *= kSlack;
    std::stable_sort(all_.begin(), all_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.least_seconds < b.least_seconds; });
    return std::move(all_);
  }

 private:
  void add_candidate(const std::string& schedule, double least_seconds) {
    all_.push_back({schedule, kernel_, least_seconds, kCandidateTileTokens});
  }
  void add_whole() {
    add_candidate("fixed-split:1", facts_.uniform
                                       ? split_bound(facts_, *kernel_, machine_, workers_, 1, Merging::last_arriver)
                                       : piece_bound(facts_, *kernel_, machine_, workers_, facts_.outputs,
                                                     facts_.longest, Merging::last_arriver));
  }
  void add_named(const std::string& schedule, double least_seconds) {
    add_candidate(schedule + "+last_arriver", least_seconds);
  }
  /// With tiles and merge of its own.
  void add_plain(const std::string& schedule, double least_seconds) {
    all_.push_back({schedule, kernel_, least_seconds, 0});
  }
  /// bound: by the way of merging. A kernel that merges, and CTAs that wait for one another if all `lists` are
  /// resident, are offered where they may be faster, of many rows or parts.
  template <typename Bound>
  void add_merged(const std::string& schedule, std::int64_t lists, const Bound& bound) {
    const double in_kernel = bound(Merging::last_arriver);
    const double by_kernel = bound(Merging::kernel);
    add_named(schedule, in_kernel);
    if (by_kernel < in_kernel) add_candidate(schedule + "+kernel", by_kernel);
    if (lists > workers_) return;
    const double waiting = bound(Merging::host_cta);
    if (waiting < std::min(in_kernel, by_kernel)) add_candidate(schedule + "+host_cta", waiting);
  }
  void add_lean() {
    const std::int64_t parts = lean_parts(facts_, *kernel_, workers_);
    const double in_kernel = lean_bound(facts_, *kernel_, machine_, workers_, parts, Merging::last_arriver);
    const double waiting = lean_bound(facts_, *kernel_, machine_, workers_, parts, Merging::host_cta);
    add_named("lean", in_kernel);
    if (waiting < in_kernel) add_candidate("lean+host_cta", waiting);
  }
  /// Every number of splits that neither crowds the workers nor leaves a list less than a tile for each CTA.
  template <typename Bound>
  void add_splits(std::int64_t outputs, const Bound& bound) {
    for (const std::int32_t splits : kSplits) {
      const bool crowded = outputs * splits > kMostWaves * workers_;
      if (splits > 1 && (crowded || facts_.longest < splits * kernel_->cluster * kCandidateTileTokens)) break;
      const auto bound_by = [&](Merging merging) {
        return bound(facts_, *kernel_, machine_, workers_, splits, merging);
      };
      if (splits == 1) {
        add_candidate("fixed-split:1", bound_by(Merging::last_arriver));
      } else {
        add_merged(fmt::format("fixed-split:{}", splits), outputs * splits, bound_by);
      }
    }
  }
  void add_pieces() {
    for (const Pieces& pieces : sizes_) {
      const double turns = facts_.tokens / pieces.tokens / static_cast<double>(workers_);
      if (turns > kMostPieces || (turns < kLeastPieces && pieces.tokens > sizes_.front().tokens)) continue;
      const auto bound_by = [&](Merging merging) {
        return piece_bound(facts_, *kernel_, machine_, workers_, pieces.lists, pieces.tokens, merging);
      };
      add_merged(fmt::format("fixed-size:{}", pieces.tokens), pieces.lists, bound_by);
    }
  }

  const simulator::Machine& machine_;
  Facts facts_;
  bool packs_splits_ = false;  ///< even splits pack the query heads of a group only for single queries
  std::int32_t least_rows_ = 0;
  std::int32_t most_rows_ = 0;
  std::vector<Pieces> sizes_;
  const KernelProfile* kernel_ = nullptr;
  std::int64_t workers_ = 0;
  std::vector<Candidate> all_;
};

}  // namespace

std::vector<Candidate> candidates(const Workload& workload, const simulator::Machine& machine,
                                  const std::vector<KernelProfile>& kernels) {
  Collector collector(workload, machine, kernels);
  for (const KernelProfile& kernel : kernels) collector.add(kernel);
  return std::move(collector).take();
}

}  // namespace splitwave::studies
