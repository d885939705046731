// SPDX-License-Identifier: Apache-2.0
// Why a schedule takes the time that it takes, and what would be faster.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/metrics.h"
#include "schedules/plan.h"
#include "schedules/timeline.h"
#include "simulator/kernel.h"
#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// One schedule's predicted time on a workload.
struct Choice {
  std::string schedule;
  std::int32_t num_splits = 1;
  double seconds = 0;
};

/// Predicts the schedules and returns those that can serve the workload, fastest first (the first given of equals).
std::vector<Choice> try_schedules(const workloads::Workload& workload, const Target& target,
                                  std::span<const std::string> schedules);

/// What `explain` tries beside the schedule it explains: the default schedules, and fixed-split:N for N of 1 to 16 and
/// then in steps of at most a half, up to the number of KV tiles (at most 128).
std::vector<std::string> alternative_schedules(const workloads::Workload& workload);

/// The parts of a breakdown by name, in the order of schedules/timeline.h.
struct Part {
  std::string_view name;
  double seconds = 0;
};
std::array<Part, 7> parts(const schedules::Breakdown& breakdown);

/// What the largest part is, why it is there and what would make it smaller.
struct Limit {
  std::string_view part;
  double share = 0;  ///< of the total, 0..1
  std::string why;
  std::string help;
};

struct Explanation {
  std::string workload;
  std::string machine;
  schedules::Plan plan;
  schedules::Grid grid;
  schedules::Metrics metrics;
  schedules::Timeline timeline;  ///< with spans
  std::string kernel;
  std::int64_t bytes = 0;       ///< minimal bytes of the workload
  double bytes_per_second = 0;  ///< bytes over the predicted time
  double bandwidth_share = 0;   ///< of the bandwidth that a plain read of the machine reaches
  double idle_sm_seconds = 0;   ///< time of the breakdown's idle part summed over the SMs
  Limit limit;
  std::vector<Choice> alternatives;  ///< fastest first
};

/// Explains one schedule, or with "auto" the default schedule that is fastest. Throws InputError as predict() does.
Explanation explain(const std::string& schedule, const workloads::Workload& workload, const Target& target);

/// The numbers as whole multiples of `unit` whose sum is the sum of the numbers, rounded: each is within one unit of
/// its own value (largest remainders first). For tables whose lines must add up.
std::vector<std::int64_t> rounded_to_sum(std::span<const double> numbers, double unit);

/// The explanation for people.
std::string to_text(const Explanation& explanation);

/// The explanation as one line of JSON (docs/explain.md).
std::string to_json(const Explanation& explanation);

}  // namespace splitwave::studies
