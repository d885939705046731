// SPDX-License-Identifier: Apache-2.0
// From points to lines of output, on several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "studies/sweep_space.h"

namespace splitwave::studies {

/// Evaluates stretches of a space by simulation. The lines depend on the points alone, not on the threads, the
/// stretches or what was evaluated before.
class SweepEvaluator {
 public:
  /// `space` must outlive the evaluator. commit and version go into every line.
  SweepEvaluator(const SweepSpace& space, int threads, const std::string& commit, const std::string& version);
  ~SweepEvaluator();
  SweepEvaluator(const SweepEvaluator&) = delete;
  SweepEvaluator& operator=(const SweepEvaluator&) = delete;

  /// Lines of the points [begin, end), in order. A point that cannot run has its reason in its line.
  std::string lines(std::int64_t begin, std::int64_t end);

 private:
  class Worker;
  class Team;
  std::unique_ptr<Team> team_;
};

}  // namespace splitwave::studies
