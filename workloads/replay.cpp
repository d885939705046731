// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "workloads/name.h"
#include "workloads/random.h"

namespace splitwave::workloads {

namespace {

constexpr std::uint64_t kStepChoice = 0x73746570;  // purpose of the random stream

struct Running {
  std::int32_t prompt_tokens;
  std::int64_t first_step;
  std::int64_t end_step;
};

void check(const ReplayOptions& options) {
  if (options.max_running < 1 || options.max_running > 1024) {
    throw base::InputError(fmt::format("max_running is {}; allowed: an integer from 1 to 1024", options.max_running));
  }
  if (!(options.step_seconds >= 1e-6 && options.step_seconds <= 1e6)) {
    throw base::InputError(fmt::format("step_seconds is {}; allowed: a number from 1e-6 to 1e6", options.step_seconds));
  }
}

// Calls visit(first step, end step, running requests) for every stretch of steps with the same requests. The cost
// grows with the requests, not with the tokens they make.
template <typename Visit>
void replay(const std::vector<TraceRequest>& trace, const ReplayOptions& options, Visit visit) {
  const auto arrival_step = [&](std::size_t i) {
    return static_cast<std::int64_t>(std::ceil(trace[i].arrival_seconds / options.step_seconds));
  };
  std::vector<Running> running;
  std::size_t next = 0;
  std::int64_t now = 0;
  while (true) {
    while (next < trace.size() && static_cast<std::int32_t>(running.size()) < options.max_running &&
           arrival_step(next) <= now) {
      const TraceRequest& request = trace[next++];
      // A request without output never decodes.
      if (request.output_tokens > 0) running.push_back({request.prompt_tokens, now, now + request.output_tokens});
    }
    if (running.empty()) {
      if (next == trace.size()) return;
      now = std::max(now, arrival_step(next));
      continue;
    }
    std::int64_t end = running.front().end_step;
    for (const Running& request : running) end = std::min(end, request.end_step);
    const bool free_slot = static_cast<std::int32_t>(running.size()) < options.max_running;
    if (next < trace.size() && free_slot) end = std::min(end, arrival_step(next));
    visit(now, end, running);
    now = end;
    std::erase_if(running, [&](const Running& request) { return request.end_step == now; });
  }
}

// `count` different numbers below `total`, ascending (Floyd's method).
std::set<std::int64_t> choose(std::int64_t total, std::int64_t count, std::uint64_t seed) {
  RandomStream random(seed, kStepChoice);
  std::set<std::int64_t> chosen;
  for (std::int64_t last = total - std::min(count, total); last < total; ++last) {
    const auto pick = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(last) + 1));
    if (!chosen.insert(pick).second) chosen.insert(last);
  }
  return chosen;
}

}  // namespace

std::int64_t count_decode_steps(const std::vector<TraceRequest>& trace, const ReplayOptions& options) {
  check(options);
  std::int64_t steps = 0;
  replay(trace, options,
         [&](std::int64_t begin, std::int64_t end, const std::vector<Running>&) { steps += end - begin; });
  return steps;
}

std::vector<DecodeStep> sample_decode_steps(const std::vector<TraceRequest>& trace, const ReplayOptions& options,
                                            std::int64_t count, std::uint64_t seed) {
  const std::set<std::int64_t> chosen = choose(count_decode_steps(trace, options), count, seed);
  std::vector<DecodeStep> samples;
  auto wanted = chosen.begin();
  std::int64_t passed = 0;  // steps with work before the stretch
  replay(trace, options, [&](std::int64_t begin, std::int64_t end, const std::vector<Running>& running) {
    for (; wanted != chosen.end() && *wanted < passed + end - begin; ++wanted) {
      DecodeStep& sample = samples.emplace_back();
      sample.step = begin + *wanted - passed;
      for (const Running& request : running) {
        const std::int64_t made = sample.step - request.first_step + 1;
        sample.requests.push_back({1, static_cast<std::int32_t>(request.prompt_tokens + made)});
      }
    }
    passed += end - begin;
  });
  return samples;
}

std::vector<Workload> workloads_of_steps(const Workload& base, const std::vector<DecodeStep>& steps) {
  std::vector<Workload> workloads;
  for (const DecodeStep& step : steps) {
    Workload& workload = workloads.emplace_back(base);
    workload.name = name_from(fmt::format("{}/step={}", base.name, step.step), step.requests.size());
    workload.requests = step.requests;
    validate(workload);
  }
  return workloads;
}

}  // namespace splitwave::workloads
