// SPDX-License-Identifier: Apache-2.0
// From a trace of requests to the ragged batches that a server decodes.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/import.h"
#include "workloads/workload.h"

namespace splitwave::workloads {

/// The server. A request waits in order of arrival until fewer than max_running others run; then it takes part in every
/// step and makes one token in each until its output is complete. Prefill takes no step of its own, and a step always
/// takes step_seconds, so that arrivals map to steps: a simple stand-in for a server's clock that keeps what a schedule
/// sees, the mix of context lengths.
struct ReplayOptions {
  std::int32_t max_running = 64;  ///< 1 to 1024
  double step_seconds = 0.03;     ///< at least 1e-6
};

/// One decode step: one ragged batch, requests in order of admission, query_len 1 and context_len the prompt plus the
/// tokens made so far, this step's included.
struct DecodeStep {
  std::int64_t step = 0;  ///< number of the step since the first arrival; idle steps count
  std::vector<Request> requests;
  bool operator==(const DecodeStep&) const = default;
};

/// Number of steps in which at least one request runs. Throws InputError if an option is out of its range.
std::int64_t count_decode_steps(const std::vector<TraceRequest>& trace, const ReplayOptions& options);

/// `count` of those steps (or all, if there are fewer), drawn without replacement by the seed, in order of time.
std::vector<DecodeStep> sample_decode_steps(const std::vector<TraceRequest>& trace, const ReplayOptions& options,
                                            std::int64_t count, std::uint64_t seed);

/// One workload per step: `base` with the step's requests and "/step=N" after its name (name_from() if that is long),
/// validated.
std::vector<Workload> workloads_of_steps(const Workload& base, const std::vector<DecodeStep>& steps);

}  // namespace splitwave::workloads
