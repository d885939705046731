// SPDX-License-Identifier: Apache-2.0
// A candidate of "auto" step by step: planned, bounded, and simulated if it may be the fastest.
#pragma once

#include <optional>

#include "simulator/simulation.h"
#include "studies/candidates.h"
#include "studies/predict.h"

namespace splitwave::studies {

class Trial {
 public:
  /// Plans the candidate. Throws InputError if it cannot serve the workload. Keeps references to its arguments.
  Trial(const workloads::Workload& workload, const Candidate& candidate, const Target& target,
        const PredictOptions& options);
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  /// Whether the candidate's kernel can run the plan; nothing else may be asked if not.
  bool runs() const { return simulation_.has_value(); }

  /// Of the candidate or of the plan, what is more. The prediction is likely to be no less (Simulation).
  const Bound& seconds() const { return seconds_; }

  /// Whether the other one is the same plan on the same kernel.
  bool is_same(const Trial& other) const;

  /// Simulates it. False if it was given up, as it takes more than `limit_seconds`; else prediction() is whole. To be
  /// called once.
  bool simulate(double limit_seconds);
  Prediction& prediction() { return made_; }

 private:
  const Candidate& candidate_;
  Prediction made_;
  std::optional<simulator::Simulation> simulation_;
  Bound seconds_;
};

}  // namespace splitwave::studies
