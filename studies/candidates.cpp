// SPDX-License-Identifier: Apache-2.0
#include "studies/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include "schedules/cut.h"
#include "schedules/head_pairs.h"
#include "schedules/rules/flashinfer.h"
#include "schedules/rules/lean.h"
#include "simulator/alternatives.h"

namespace splitwave::studies {
namespace {

using simulator::KernelProfile;
using workloads::Workload;

constexpr std::array kSplits = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128};
/// Even splits into more lists than so many times what is resident only add merges.
constexpr std::int64_t kMostWaves = 4;
/// Pieces of fixed size: so many to a resident worker, least and most. Measured best were 0.4 to 12 (docs/kernels.md).
constexpr double kLeastPieces = 0.3;
constexpr double kMostPieces = 16;

/// Kernels for so many rows end an item and merge in little time, so that it matters little who merges.
constexpr std::int32_t kFewRows = 8;

/// Contexts up to which what an item takes besides its tokens makes lists of several items worth a look.
constexpr std::int32_t kShortContext = 1024;

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

/// Tokens of pieces that hold every context, and those of batches that are taken for alike (studies/batch_bucket.h).
std::int64_t size_of_whole(const Facts& facts) {
  const auto padded = static_cast<std::uint64_t>(std::max(facts.padded, kCandidateTileTokens));
  return std::min<std::int64_t>(2 * static_cast<std::int64_t>(std::bit_ceil(padded)), 1 << 30);
}

/// Candidates of one kernel after the other.
class Collector {
 public:
  Collector(const Workload& workload, const simulator::Machine& machine, const std::vector<KernelProfile>& kernels,
            const simulator::SimulateOptions& options)
      : workload_(workload),
        machine_(machine),
        options_(options),
        facts_(facts_of(workload, machine, options.l2)),
        packs_splits_(facts_.uniform && facts_.single_query),
        whole_tokens_(size_of_whole(facts_)) {
    for (const KernelProfile& kernel : kernels) {
      if (kernel.warps_alone) rows_alone_.insert(kernel.most_rows);
      least_rows_ = least_rows_ == 0 ? kernel.most_rows : std::min(least_rows_, kernel.most_rows);
      most_rows_ = std::max(most_rows_, kernel.most_rows);
    }
    if (!facts_.single_query) {
      for (const std::int32_t splits : kSplits) {
        split_pieces_.push_back(pieces_of(workload, tokens_per_split(facts_, splits)));
      }
    }
    for (const std::int32_t size : packs_splits_ ? std::vector<std::int32_t>{} : piece_sizes(facts_)) {
      sizes_.push_back(pieces_of(workload, size));
    }
  }

  void add(const KernelProfile& kernel) {
    kernel_ = &kernel;
    KernelBounds bounds(workload_, facts_, machine_, kernel, options_);
    workers_ = bounds.workers();
    if (kernel.most_tokens > 0) {
      if (facts_.longest <= kernel.most_tokens) add_whole(bounds);
      if (simulator::takes_parts(kernel) && facts_.single_query) add_held_parts(bounds);
      return;
    }
    if (kernel.warps_alone && facts_.single_query) return add_long_lists(bounds);  // others have single-item kernels
    if (packs_splits_) {
      // Clusters are for few outputs: of 43 measured batches with more than 264 they were the best of one by 12 %, and
      // of the others by 1 % at most.
      if (kernel.cluster > 1 && facts_.outputs > workers_ * kernel.cluster) return;
      add_splits(facts_.outputs, bounds,
                 [&](std::size_t i, Merging merging) { return bounds.splits(kSplits[i], merging); });
    } else if (facts_.single_query) {
      add_whole(bounds);
    } else if (kernel.most_rows == least_rows_) {
      // Small tiles of a head each are worked on sooner than one tall tile, though each reads K and V.
      add_splits(facts_.outputs * facts_.group, bounds,
                 [&](std::size_t i, Merging merging) { return bounds.heads(split_pieces_[i], merging); });
    }
    // Fewer may be rows of none.
    const bool in_blocks = facts_.latent || (facts_.rows > most_rows_ && 2 * kernel.most_rows == most_rows_);
    if (kernel.most_rows < std::min(facts_.rows, most_rows_) && !packs_splits_ && !in_blocks) return;
    add_pieces(bounds);
    // Of 900 choices measured none was LeanAttention in clusters. Pairs have one item to a list.
    if (kernel.cluster > 1 || kernel.kv_heads > 1) return;
    // Of items with masks warps that share them may be the faster ones.
    const bool no_others = !rows_alone_.contains(kernel.most_rows);
    if (kernel.warps_alone || no_others || !facts_.single_query) add_long_lists(bounds);
    if (splits_do()) return;
    add_others(bounds);
  }

  std::vector<Candidate> take() && { return std::move(all_); }

 private:
  /// Whether even splits are as good as what gives workers several items, but for many short contexts.
  bool splits_do() const { return packs_splits_ && kernel_->most_rows <= kFewRows; }
  void add_candidate(const std::string& schedule, const Bound& seconds) {
    all_.push_back({schedule, kernel_, seconds, kCandidateTileTokens});
  }
  /// In which pieces begin, a list each: of unlike length the longest first, so that none of them is left to the end,
  /// and, where all are resident, none of the device's parts has more long ones than others. Not in clusters, which
  /// measured no faster so (docs/kernels.md).
  Order order_of_pieces() const {
    const bool single_rings = kernel_->most_tokens == 0 && kernel_->cluster == 1;
    return !facts_.uniform && single_rings ? Order::longest_first : Order::batch;
  }
  static std::string pieces_named(std::int64_t tokens, Order order) {
    return fmt::format("{}:{}", order == Order::longest_first ? "longest-first" : "fixed-size", tokens);
  }
  /// Where all pieces are whole the order of the batch may be the better one: long and short ones then share the
  /// memory.
  void add_whole(KernelBounds& bounds) {
    add_candidate(pieces_named(whole_tokens_, Order::batch), bounds.whole());
    const std::int64_t ctas = facts_.outputs * schedules::ceil_div(facts_.rows, kernel_->most_rows);
    if (order_of_pieces() == Order::batch || ctas <= workers_) return;
    add_candidate(pieces_named(whole_tokens_, Order::longest_first), bounds.whole(Order::longest_first));
  }
  void add_named(const std::string& schedule, const Bound& seconds) {
    add_candidate(schedule + "+last_arriver", seconds);
  }
  /// With tiles and merge of its own.
  void add_plain(const std::string& schedule, const Bound& seconds) { all_.push_back({schedule, kernel_, seconds, 0}); }
  /// parts: of the longest context. bound: by the way of merging. A kernel that merges, and CTAs that wait for one
  /// another if all `lists` are resident, are offered where they merge sooner, of many rows or parts.
  template <typename BoundOf>
  void add_merged(const std::string& schedule, std::int64_t lists, std::int64_t parts, KernelBounds& bounds,
                  const BoundOf& bound) {
    const double in_kernel = bounds.merge_seconds(parts, Merging::last_arriver);
    const double by_kernel = bounds.merge_seconds(parts, Merging::kernel);
    const double waiting = bounds.merge_seconds(parts, Merging::host_cta);
    add_named(schedule, bound(Merging::last_arriver));
    if (kernel_->kv_heads > 1) return;  // nobody else merges pairs
    if (by_kernel < in_kernel) add_candidate(schedule + "+kernel", bound(Merging::kernel));
    if (lists <= workers_ && waiting < std::min(in_kernel, by_kernel)) {
      add_candidate(schedule + "+host_cta", bound(Merging::host_cta));
    }
  }
  /// Schedules that give each worker several items, for which warps with lists of their own are the better ones.
  void add_long_lists(KernelBounds& bounds) {
    const Bound in_kernel = bounds.lean(kCandidateTileTokens, Merging::last_arriver);
    const Bound waiting = bounds.lean(kCandidateTileTokens, Merging::host_cta);
    add_named("lean", in_kernel);
    if (waiting.expected < in_kernel.expected) add_candidate("lean+host_cta", waiting);
    const bool many_short = facts_.outputs > workers_ && facts_.longest <= kShortContext;
    const std::int64_t holistic = schedules::flashinfer_holistic_ctas(workload_.geometry.head_dim, machine_.sms);
    if (holistic <= workers_ && (!splits_do() || many_short)) {
      add_plain("flashinfer-holistic", bounds.shares(Merging::last_arriver));
    }
    if (splits_do()) return;
    // Its own tiles may cut less.
    add_plain("lean", bounds.lean(schedules::lean_tile_tokens(workload_.geometry.head_dim), Merging::host_cta));
  }
  /// Rules that look at every request, and what is for latent attention alone.
  void add_others(KernelBounds& bounds) {
    if (!packs_splits_) add_plain("fixed-split:fa3", bounds.lists(Merging::kernel, true));
    if (facts_.latent) {
      for (const char* name : {"flashmla", "lean+kernel"}) add_plain(name, bounds.shares(Merging::kernel));
    }
    add_plain("flashinfer", bounds.lists(Merging::kernel, false));
    if (facts_.uniform) return;
    if (facts_.latent) {
      // One CTA's merge of many wide parts beside others that stream has come out a third too fast.
      return add_candidate("fa3+kernel", bounds.queue(Merging::kernel));
    }
    add_named("fa3", bounds.queue(Merging::last_arriver));
    if (kernel_->most_rows > kFewRows) add_plain("fa3", bounds.queue(Merging::kernel));
    add_named("flashinfer", bounds.lists(Merging::last_arriver, false));
  }
  /// Every number of splits that neither crowds the workers nor leaves a CTA without a tile.
  template <typename BoundOf>
  void add_splits(std::int64_t outputs, KernelBounds& bounds, const BoundOf& bound) {
    const std::int64_t tiles = schedules::ceil_div(facts_.padded, kCandidateTileTokens);
    for (std::size_t i = 0; i < kSplits.size(); ++i) {
      const std::int32_t splits = kSplits[i];
      const bool crowded = outputs * splits > kMostWaves * workers_;
      if (splits > 1 && (crowded || tiles < splits * kernel_->cluster)) break;
      if (splits == 1) {
        const std::string whole = packs_splits_ ? pieces_named(whole_tokens_, Order::batch) : "fixed-split:1";
        add_candidate(whole, bound(i, Merging::last_arriver));
        continue;
      }
      const std::int64_t parts = schedules::ceil_div(facts_.longest, tokens_per_split(facts_, splits));
      // Of a ragged batch some outputs have less to merge, or nothing.
      add_merged(fmt::format("fixed-split:{}", splits), outputs * splits, facts_.uniform ? parts : 1, bounds,
                 [&](Merging merging) { return bound(i, merging); });
    }
  }
  /// Parts that the kernel holds, as far as all are resident, among them the longest. Of windows no bound is known:
  /// those of rings, which share the memory, are above what such kernels take.
  void add_held_parts(KernelBounds& bounds) {
    if (facts_.windowed) return;
    const std::string merge = '+' + schedules::to_string(simulator::merge_of_parts(*kernel_));
    const std::int64_t blocks = schedules::ceil_div(facts_.rows, kernel_->most_rows);
    const auto fits = [&](std::int32_t tokens, std::int64_t lists) {
      return tokens <= kernel_->most_tokens && tokens < facts_.longest && lists * blocks <= workers_;
    };
    const auto add_held = [&](const Pieces& pieces) {
      if (!fits(pieces.tokens, pieces.lists)) return;
      add_candidate(fmt::format("fixed-size:{}{}", pieces.tokens, merge), bounds.pieces(pieces, Merging::last_arriver));
    };
    for (std::size_t i = 1; packs_splits_ && i < kSplits.size(); ++i) {
      const std::int32_t tokens = tokens_per_split(facts_, kSplits[i]);
      if (!fits(tokens, facts_.outputs * schedules::ceil_div(facts_.longest, tokens))) continue;
      add_candidate(fmt::format("fixed-split:{}{}", kSplits[i], merge),
                    bounds.splits(kSplits[i], Merging::last_arriver));
    }
    for (const Pieces& pieces : sizes_) add_held(pieces);
    const auto is_longest = [&](const Pieces& pieces) { return pieces.tokens == kernel_->most_tokens; };
    if (std::none_of(sizes_.begin(), sizes_.end(), is_longest)) add_held(pieces_of(workload_, kernel_->most_tokens));
  }
  void add_pieces(KernelBounds& bounds) {
    for (const Pieces& pieces : sizes_) {
      const double turns = facts_.tokens / pieces.tokens / static_cast<double>(workers_);
      if (turns > kMostPieces || (turns < kLeastPieces && pieces.tokens > sizes_.front().tokens)) continue;
      const Order order = order_of_pieces();
      add_merged(pieces_named(pieces.tokens, order), pieces.lists, schedules::ceil_div(facts_.longest, pieces.tokens),
                 bounds, [&](Merging merging) { return bounds.pieces(pieces, merging, order); });
    }
  }

  const Workload& workload_;
  const simulator::Machine& machine_;
  const simulator::SimulateOptions& options_;
  Facts facts_;
  bool packs_splits_ = false;  ///< even splits pack the query heads of a group only for single queries
  /// The size of pieces that nothing cuts, a request's KV heads side by side: on an H100 their plans take 0.88 to 1.0
  /// of the time of those whose requests lie side by side (fixed-split:1), since neighbours read whole rows of the
  /// cache.
  std::int64_t whole_tokens_ = 0;
  std::set<std::int32_t> rows_alone_;  ///< of kernels whose warps have lists of their own
  std::int32_t least_rows_ = 0;
  std::int32_t most_rows_ = 0;
  std::vector<Pieces> sizes_;
  std::vector<Pieces> split_pieces_;  ///< of kSplits, which are cut like pieces where several queries are
  const KernelProfile* kernel_ = nullptr;
  std::int64_t workers_ = 0;
  std::vector<Candidate> all_;
};

}  // namespace

std::vector<Candidate> candidates(const Workload& workload, const simulator::Machine& machine,
                                  const std::vector<KernelProfile>& kernels,
                                  const simulator::SimulateOptions& options) {
  std::vector<Candidate> all;
  const auto collect = [&](const Workload& seen, std::int32_t kv_heads) {
    Collector collector(seen, machine, kernels, options);
    for (const KernelProfile& kernel : kernels) {
      if (kernel.kv_heads == kv_heads) collector.add(kernel);
    }
    for (Candidate& candidate : std::move(collector).take()) all.push_back(std::move(candidate));
  };
  collect(workload, 1);
  const bool for_pairs =
      std::any_of(kernels.begin(), kernels.end(), [](const KernelProfile& kernel) { return kernel.kv_heads > 1; });
  // The same cuts, of half as many outputs.
  if (for_pairs) collect(schedules::with_head_pairs(workload), schedules::kHeadsOfPair);
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.seconds.expected < b.seconds.expected; });
  return all;
}

}  // namespace splitwave::studies
