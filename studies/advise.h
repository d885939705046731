// SPDX-License-Identifier: Apache-2.0
// Which schedule and how many splits, for every batch size and context length of a range.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "studies/explain.h"
#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// What is asked. Every request of a batch has the same context length.
struct AdviseQuestion {
  workloads::Geometry geometry;
  std::int32_t query_len = 1;
  std::vector<std::int32_t> batches;   ///< ascending
  std::vector<std::int32_t> contexts;  ///< ascending, tokens
  /// Libraries' own rules, by schedule name, that the best choice is set against.
  std::vector<std::string> rules;
};

/// The rules of the libraries that decide by themselves how to split such a geometry. Not each of them serves every
/// point.
std::vector<std::string> library_rules(const workloads::Geometry& geometry);

/// Counts of splits that FlashDecoding with FlashAttention-2's kernel can tell apart: of counts that give equally long
/// splits only the smallest, up to FlashAttention's limit of 128.
std::vector<std::int32_t> distinct_splits(const workloads::Geometry& geometry, std::int32_t context);

/// The answer for one batch size and context length. The times are predictions, in seconds.
struct AdvicePoint {
  std::int32_t batch = 0;
  std::int32_t context = 0;
  Choice best;                                      ///< of all rules and all split counts
  std::optional<Choice> split;                      ///< best fixed-split:N; none if it cannot serve the geometry
  std::vector<std::optional<double>> rule_seconds;  ///< per rule; none if it cannot serve the point
  /// Time lost by following the rule: its time over the best time, minus 1.
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
  AdviseQuestion question;  ///< the rules that serve no point are left out
  std::string machine;
  std::vector<AdvicePoint> points;  ///< batches slowest, contexts fastest
  std::vector<Cliff> cliffs;        ///< largest jump first
  const AdvicePoint& at(std::size_t batch, std::size_t context) const {
    return points[batch * question.contexts.size() + context];
  }
};

/// Most points of one question.
inline constexpr std::size_t kMostAdvicePoints = 100'000;

/// Answers the question on `threads` threads; calls `done(n)` on the calling thread as points are finished. Throws
/// InputError if nothing can serve a point.
Advice advise(const AdviseQuestion& question, const Target& target, int threads,
              const std::function<void(std::size_t)>& done);

}  // namespace splitwave::studies
