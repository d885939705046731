// SPDX-License-Identifier: Apache-2.0
#include "studies/split_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "schedules/cut.h"
#include "schedules/rules/fa2.h"
#include "schedules/schedules.h"
#include "studies/predict.h"

namespace splitwave::studies {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

/// Keeps the fastest, of equals the one with the least splits.
void keep(std::optional<Alternative>& best, const std::optional<Alternative>& tried) {
  if (!tried) return;
  const bool earlier = best && tried->seconds == best->seconds && tried->num_splits < best->num_splits;
  if (!best || tried->seconds < best->seconds || earlier) best = tried;
}

}  // namespace

std::optional<std::size_t> split_call_of(std::string_view schedule) {
  if (schedule == "fa2" || schedule == "fixed-split:fa2" || schedule == "fixed-split:fa2-2.5.6") return 0;
  if (schedule == "fa3" || schedule == "fixed-split:fa3" || schedule == "seq-aware") return 1;
  return std::nullopt;
}

std::vector<std::int32_t> distinct_splits(const SplitCall& call, const workloads::Workload& workload,
                                          const Target& target, std::int32_t most) {
  if (!call.pads) {
    const std::string name = fmt::format("{}:{}", call.schedule, call.most);
    const schedules::Plan plan = schedules::make_plan(name, workload, grid_for(workload, name, target));
    const std::vector<std::int32_t> asked = splits_per_request(workload, plan);
    // A bound of 2 launches the merge kernel even if nothing asks for a split; one of 1 does not.
    most = std::min(most, std::max(2, *std::max_element(asked.begin(), asked.end())));
    std::vector<std::int32_t> all(static_cast<std::size_t>(most));
    std::iota(all.begin(), all.end(), 1);
    return all;
  }
  std::vector<std::int32_t> counts;
  const std::int64_t tiles = schedules::ceil_div(schedules::padded_seqlen_k(workload),
                                                 schedules::fa2_split_block_n(workload.geometry.head_dim));
  std::int64_t longest = -1;  // tiles per split of the count before
  for (std::int32_t count = 1; count <= most; ++count) {
    const std::int64_t tiles_per_split = schedules::ceil_div(tiles, count);
    if (tiles_per_split != longest) counts.push_back(count);
    longest = tiles_per_split;
  }
  return counts;
}

std::optional<Alternative> alternative_within(double limit_seconds, const std::string& schedule,
                                              const workloads::Workload& workload, const Target& target) {
  try {
    const std::optional<Prediction> made = predict_within(limit_seconds, workload, schedule, target);
    if (!made) return std::nullopt;
    return Alternative{schedule, made->plan.num_splits, made->timeline.seconds};
  } catch (const base::InputError&) {
    return std::nullopt;
  }
}

// The count next to the library's own answer goes first, and what a bound shows to be far slower than the best so far
// is left out. Counts that give equally long splits differ in CTAs that find nothing to do, which move others to other
// SMs: by a few percent, either way. They are walked through from each count whose own time is near the best, until
// theirs is not.
std::optional<Alternative> best_split(const SplitCall& call, const workloads::Workload& workload, const Target& target,
                                      std::int32_t most) {
  constexpr double near = 1.12;
  const auto ruled = alternative_within(kUnlimited, std::string(call.rule), workload, target);
  if (!ruled) return std::nullopt;
  std::vector<std::int32_t> counts = distinct_splits(call, workload, target, most);
  const auto above = std::upper_bound(counts.begin(), counts.end(), ruled->num_splits);
  if (above != counts.begin()) std::rotate(counts.begin(), above - 1, above);
  std::optional<Alternative> best;
  const auto try_count = [&](std::int32_t count) {
    const double limit = best ? near * best->seconds : kUnlimited;
    auto tried = alternative_within(limit, fmt::format("{}:{}", call.schedule, count), workload, target);
    keep(best, tried);
    return tried && tried->seconds <= near * best->seconds;
  };
  for (const std::int32_t count : counts) {
    if (!try_count(count) || !call.pads) continue;
    for (std::int32_t next = count + 1; next <= most; ++next) {
      if (std::find(counts.begin(), counts.end(), next) != counts.end() || !try_count(next)) break;
    }
  }
  return best;
}

}  // namespace splitwave::studies
