// SPDX-License-Identifier: Apache-2.0
// Which schedule and how many splits, for every batch size and context length of a range.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "studies/explain.h"
#include "studies/split_choice.h"
#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// What is asked. Every request of a batch has the same context length.
struct AdviseQuestion {
  workloads::Geometry geometry;
  workloads::KvStorage kv;
  std::int32_t query_len = 1;
  std::vector<std::int32_t> batches;   ///< ascending
  std::vector<std::int32_t> contexts;  ///< ascending, tokens
  /// Schedules that can be used: the best is one of them, or any count of the split calls of their libraries.
  std::vector<std::string> available;
  std::vector<std::string> rules;  ///< schedules that are set against the best
  /// Most num_splits of FlashAttention's calls, as vLLM's max_num_splits_for_cuda_graph; 0: what the libraries allow.
  std::int32_t max_splits = 0;
};

/// The answer for one batch size and context length. The times are predictions, in seconds.
struct AdvicePoint {
  std::int32_t batch = 0;
  std::int32_t context = 0;
  Alternative best;  ///< of all that is available
  /// Best count per call of kSplitCalls; none if its library is not available or cannot serve the point.
  std::array<std::optional<Alternative>, kSplitCalls.size()> splits;
  std::vector<std::optional<double>> available_seconds;  ///< per available schedule; none if it cannot serve the point
  std::vector<std::optional<double>> rule_seconds;       ///< the same per rule
  /// Time lost by following the rule: its time over the best time, minus 1. Negative if the rule is not available, or
  /// answers more than max_splits, and would be faster.
  std::optional<double> regret(std::size_t rule) const;
};

/// A step of one axis at which time grows by more than the work.
struct Cliff {
  std::string schedule;  ///< a rule, or "best"
  bool along_batch = true;
  std::int32_t batch = 0;
  std::int32_t context = 0;
  std::int32_t before = 0;  ///< the value of the axis just before
  double jump = 1;          ///< time per request (or per token of context) over the same before the step
};

/// A cliff is a step at which time per unit of work grows by more than this.
inline constexpr double kCliff = 1.05;

struct Advice {
  AdviseQuestion question;  ///< what serves no point is left out
  std::string machine;
  std::vector<std::size_t> calls;   ///< of kSplitCalls: those with an answer at some point
  std::vector<AdvicePoint> points;  ///< batches slowest, contexts fastest
  std::vector<Cliff> cliffs;        ///< largest jump first
  const AdvicePoint& at(std::size_t batch, std::size_t context) const {
    return points[batch * question.contexts.size() + context];
  }
};

/// Most points of one question.
inline constexpr std::size_t kMostAdvicePoints = 100'000;

/// Answers the question on `threads` threads; calls `done(n)` on the calling thread as points are finished. Throws
/// InputError if nothing that is available can serve a point.
Advice advise(const AdviseQuestion& question, const Target& target, int threads,
              const std::function<void(std::size_t)>& done);

}  // namespace splitwave::studies
