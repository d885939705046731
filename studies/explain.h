// SPDX-License-Identifier: Apache-2.0
// Why a schedule takes the time that it takes, and what would be faster.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/trace.h"
#include "schedules/metrics.h"
#include "schedules/plan.h"
#include "schedules/timeline.h"
#include "simulator/kernel.h"
#include "studies/target.h"
#include "workloads/workload.h"

namespace splitwave::studies {

/// Told what is predicted next; may throw to end the study.
using Begin = std::function<void(const std::string&)>;

/// One schedule's predicted time on a workload.
struct Alternative {
  std::string schedule;
  std::int32_t num_splits = 1;
  double seconds = 0;
};

/// Predicts the schedules and returns those that can serve the workload, fastest first (the first given of equals).
/// `begin`, if given, is called before each with its name.
std::vector<Alternative> try_schedules(const workloads::Workload& workload, const Target& target,
                                       std::span<const std::string> schedules, const Begin& begin = {});

/// What `explain` tries beside the schedule it explains: the default schedules, and fixed-split:N and fa3:N for N of 1
/// to 16 and then in steps of at most a half, up to the number of KV tiles (at most 128), and as long as the KV heads
/// of all requests give a million splits or fewer: beyond, every CTA slot has work enough, and each costs a second.
std::vector<std::string> alternative_schedules(const workloads::Workload& workload);

/// The parts of a breakdown by name, in the order of schedules/timeline.h.
struct Part {
  std::string_view name;
  double seconds = 0;
};
std::array<Part, 7> parts(const schedules::Breakdown& breakdown);

/// Why CTA slots are idle: seconds averaged over the CTA slots, which add up to Breakdown::idle.
struct IdleCauses {
  double no_work = 0;  ///< slots that get no KV token at all, while others work
  double uneven = 0;   ///< slots that have worked, while others still do
  double merging = 0;  ///< slots without a merge, while a merge inside the kernel goes on after the last item
};

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
  std::int32_t group = 1;  ///< query heads that share a KV head
  schedules::Plan plan;
  schedules::Grid grid;
  schedules::Metrics metrics;
  std::int64_t lists_with_tokens = 0;  ///< lists of the plan with a KV token to read
  schedules::Timeline timeline;        ///< with spans
  IdleCauses idle;
  simulator::KernelProfile kernel;  ///< that runs the plan
  std::optional<schedules::Energy> energy;
  std::int64_t bytes = 0;                 ///< minimal bytes of the workload
  double bytes_per_second = 0;            ///< bytes over the predicted time
  double bandwidth_share = 0;             ///< of the bandwidth that a plain read of the machine reaches
  double idle_sm_seconds = 0;             ///< time of the breakdown's idle part summed over the SMs
  std::vector<Alternative> alternatives;  ///< fastest first
  Limit limit;
  std::string error_band;  ///< in words (studies/error_bands.h)
};

/// Explains one schedule, or with "auto" the default schedule that is fastest. `begin`, if given, is called with the
/// name of each schedule before it is predicted: the explained one, then `alternative_schedules` but for its own name.
/// Throws InputError as predict() does.
Explanation explain(const std::string& schedule, const workloads::Workload& workload, const Target& target,
                    const Begin& begin = {});

/// For pictures and traces; the workload and the explanation must outlive it.
reports::TracedRun traced_run(const Explanation& explanation, const workloads::Workload& workload);

/// The numbers as whole multiples of `unit` whose sum is the sum of the numbers, rounded: each is within one unit of
/// its own value (largest remainders first). For tables whose lines must add up. What is no number or beyond 10^17
/// units is 0 or 10^17 of them.
std::vector<std::int64_t> rounded_to_sum(std::span<const double> numbers, double unit);

/// The explanation for people.
std::string to_text(const Explanation& explanation);

/// The explanation as one line of JSON (docs/explain.md).
std::string to_json(const Explanation& explanation);

}  // namespace splitwave::studies
