// SPDX-License-Identifier: Apache-2.0
// What it costs to stream K and V from memory through the tile. Inside the folder only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "cpu_reference/made_up_run.h"
#include "cpu_reference/team_pace.h"
#include "workloads/workload.h"

namespace splitwave::cpu_reference {

/// Of one thread while all stream.
struct StreamCost {
  double seconds_per_kv_byte = 0;  ///< memory and arithmetic together
  double list_seconds = 0;         ///< before a list streams: of its first rows nothing was asked for ahead
  double item_seconds = 0;         ///< more of each further item of a list
};

/// The costs from the times of three runs over the same `bytes`: by one list with `few` items, by one list with `many`,
/// and by `many` lists with an item each. None of them is below 0.
StreamCost stream_cost(double bytes, int few, int many, double few_seconds, double many_seconds, double lists_seconds);

/// All threads at once, each with a made-up request of the workload's geometry and layout, out of caches.
class StreamProbe {
 public:
  StreamProbe(const workloads::Workload& like, std::int32_t rows, int threads);
  /// One round.
  void measure();
  /// From medians over the rounds, of threads that share their work in one way.
  StreamCost cost(double Pace::*of) const;

 private:
  std::vector<double> seconds_of(std::size_t kind);

  int threads_;
  std::optional<MadeUpRun> run_;  ///< plans by kind, of each one by thread
  double bytes_ = 0;              ///< of one thread
  int few_ = 0;
  int many_ = 0;
  std::array<TeamTimes, 3> seconds_;  ///< by kind of plan
};

}  // namespace splitwave::cpu_reference
