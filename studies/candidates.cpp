// SPDX-License-Identifier: Apache-2.0
#include "studies/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/simulate.h"

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

/// What a bound needs of a workload, once.
struct Facts {
  double bytes = 0;
  double tokens = 0;  ///< of all KV heads
  std::int64_t outputs = 0;
  std::int32_t longest = 0;
  bool uniform = false;
};

Facts facts_of(const Workload& workload) {
  Facts facts;
  facts.bytes = static_cast<double>(workloads::kv_bytes(workload));
  facts.tokens = facts.bytes / static_cast<double>(workloads::kv_bytes_per_token(workload.geometry));
  facts.outputs = static_cast<std::int64_t>(workload.requests.size()) * workload.geometry.kv_heads;
  facts.longest = workloads::padded_context_len(workload);
  facts.uniform = std::all_of(workload.requests.begin(), workload.requests.end(),
                              [&](const workloads::Request& r) { return r == workload.requests.front(); });
  return facts;
}

/// Seconds of the shortest list that has so many tokens, without what depends on other CTAs.
double list_seconds(const KernelProfile& kernel, const simulator::Machine& machine, double tokens) {
  const double prologue = kernel.single_item_prologue_seconds > 0
                              ? std::min(kernel.single_item_prologue_seconds, kernel.prologue_seconds)
                              : kernel.prologue_seconds;
  const double chain = kernel.single_item_chain_clocks > 0 ? std::min(kernel.single_item_chain_clocks, kernel.chain_clocks)
                                                           : kernel.chain_clocks;
  return (kernel.most_tokens > 0 ? kernel.single_item_prologue_seconds : prologue) + kernel.epilogue_seconds +
         tokens * chain / machine.clock_hz;
}

double split_bound(const Facts& facts, const KernelProfile& kernel, const simulator::Machine& machine,
                   std::int64_t workers, std::int32_t splits) {
  const std::int64_t lists = facts.outputs * splits;
  const std::int64_t waves = (lists + workers - 1) / workers;
  const double list = list_seconds(kernel, machine, std::floor(static_cast<double>(facts.longest) / splits));
  double merge = 0;
  if (splits > 1) {
    merge = machine.flag_seconds + kernel.merge_seconds + kernel.merge_seconds_per_split * splits;
    if (kernel.merge_batch_splits > 0) merge += kernel.merge_batch_seconds * ((splits - 1) / kernel.merge_batch_splits);
  }
  const double stream = facts.bytes / machine.dram_bytes_per_second;
  return machine.launch_seconds + std::max(stream, static_cast<double>(waves) * list) + merge;
}

}  // namespace

std::vector<Candidate> candidates(const Workload& workload, const simulator::Machine& machine,
                                  const std::vector<KernelProfile>& kernels) {
  const Facts facts = facts_of(workload);
  std::vector<Candidate> all;
  for (const KernelProfile& kernel : kernels) {
    const std::int64_t workers = simulator::grid_of(machine, kernel).resident();
    const auto add_split = [&](std::int32_t splits) {
      const char* merge = splits == 1 ? "" : "+last_arriver";
      const double bound = facts.uniform ? split_bound(facts, kernel, machine, workers, splits)
                                         : facts.bytes / machine.dram_bytes_per_second;
      all.push_back({fmt::format("fixed-split:{}{}", splits, merge), &kernel, bound});
    };
    if (kernel.most_tokens > 0) {
      if (facts.longest <= kernel.most_tokens) add_split(1);
      continue;
    }
    if (facts.uniform && workloads::max_query_len(workload) <= 1) {  // splits do not pack the heads of several queries
      for (const std::int32_t splits : kSplits) {
        const bool crowded = facts.outputs * splits > kMostWaves * workers;
        if (splits > 1 && (crowded || facts.longest < splits * kernel.cluster * kCandidateTileTokens)) break;
        add_split(splits);
      }
    } else {
      for (std::int32_t size = 256; size <= (1 << 18); size *= 2) {
        const double pieces = facts.tokens / size / static_cast<double>(workers);
        if (pieces < kLeastPieces && size > 256) break;
        if (pieces > kMostPieces) continue;
        all.push_back({fmt::format("fixed-size:{}+last_arriver", size), &kernel,
                       facts.bytes / machine.dram_bytes_per_second});
      }
    }
    all.push_back({"lean+last_arriver", &kernel, facts.bytes / machine.dram_bytes_per_second});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& a, const Candidate& b) { return a.least_seconds < b.least_seconds; });
  return all;
}

}  // namespace splitwave::studies
