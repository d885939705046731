// SPDX-License-Identifier: Apache-2.0
#include "studies/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "schedules/head_pairs.h"
#include "schedules/schedules.h"
#include "simulator/energy.h"
#include "simulator/work.h"
#include "studies/choose.h"
#include "studies/error_bands.h"
#include "studies/explain_limit.h"
#include "studies/predict.h"
#include "studies/traced_plan.h"

namespace splitwave::studies {

std::vector<Alternative> try_schedules(const workloads::Workload& workload, const Target& target,
                                       std::span<const std::string> schedules, const Begin& begin) {
  std::vector<Alternative> tried;
  for (const std::string& name : schedules) {
    if (begin) begin(name);
    if (name == kAuto) continue;
    try {
      const Prediction made = predict(workload, name, target);
      tried.push_back({name, made.plan.num_splits, made.timeline.seconds});
    } catch (const base::InputError&) {
      continue;  // it cannot serve the workload
    }
  }
  std::stable_sort(tried.begin(), tried.end(),
                   [](const Alternative& a, const Alternative& b) { return a.seconds < b.seconds; });
  return tried;
}

std::vector<std::string> alternative_schedules(const workloads::Workload& workload) {
  constexpr std::int32_t kDense = 16;
  constexpr std::int32_t kMostSplits = 128;
  constexpr std::int64_t kMostItems = 1'000'000;
  constexpr std::int32_t kTile = 128;  // tokens; a split shorter than a tile has no work of its own
  std::vector<std::string> names = schedules::default_names({&workload, 1});
  std::int32_t longest = 0;
  for (const workloads::Request& request : workload.requests) longest = std::max(longest, request.context_len);
  const auto outputs = static_cast<std::int64_t>(workload.requests.size()) * workload.geometry.kv_heads;
  const std::int32_t most = std::clamp((longest + kTile - 1) / kTile, 1, kMostSplits);
  for (std::int32_t splits = 1; splits <= most && (splits == 1 || splits * outputs <= kMostItems);
       splits += splits < kDense ? 1 : splits / 3) {
    names.push_back(fmt::format("fixed-split:{}", splits));
    names.push_back(fmt::format("fa3:{}", splits));
  }
  return names;
}

std::array<Part, 7> parts(const schedules::Breakdown& b) {
  return {{{"launch", b.launch},
           {"ramp", b.ramp},
           {"stream", b.stream},
           {"compute", b.compute},
           {"merge", b.merge},
           {"wait", b.wait},
           {"idle", b.idle}}};
}

Explanation explain(const std::string& schedule, const workloads::Workload& workload, const Target& target,
                    const Begin& begin) {
  if (begin) begin(schedule);
  PredictOptions options;
  options.spans = true;
  Prediction made = predict(workload, schedule, target, options);
  const simulator::Machine machine = machine_for(target, workload, made.plan);
  const std::string name = made.plan.schedule;
  Explanation e;
  e.workload = workload.name;
  e.machine = target.name;
  e.grid = made.grid;
  const auto pairs = made.kernel.kv_heads > 1 ? schedules::head_pairs(workload, made.plan) : std::nullopt;
  e.metrics = metrics(pairs ? pairs->plan : made.plan, made.grid);
  e.timeline = std::move(made.timeline);
  e.plan = std::move(made.plan);
  e.group = workload.geometry.group();
  e.lists_with_tokens = simulator::lists_with_tokens(e.plan);
  e.kernel = std::move(made.kernel);
  e.energy = simulator::energy(workload, e.plan, e.timeline, machine, e.kernel);
  e.bytes = workloads::minimal_bytes(workload);
  e.bytes_per_second = e.timeline.seconds > 0 ? static_cast<double>(e.bytes) / e.timeline.seconds : 0;
  e.bandwidth_share = e.bytes_per_second / machine.dram_bytes_per_second;
  e.idle_sm_seconds = e.timeline.breakdown.idle * e.grid.sms;
  e.idle = idle_causes(e);
  std::vector<std::string> others = alternative_schedules(workload);
  std::erase(others, name);
  e.alternatives = try_schedules(workload, target, others, begin);
  e.limit = limit_of(e);
  e.error_band = error_band(target, workload.geometry.kind, {judged_as(name)});
  return e;
}

std::vector<std::int64_t> rounded_to_sum(std::span<const double> numbers, double unit) {
  // Beyond the range of int64 a cast has no defined value.
  const auto units = [&](double number) {
    constexpr double kMost = 1e17;
    return std::isnan(number / unit) ? 0 : std::clamp(number / unit, -kMost, kMost);
  };
  std::vector<std::int64_t> rounded;
  std::vector<double> remainders;
  double sum = 0;
  for (const double number : numbers) {
    const double floor = std::floor(units(number));
    rounded.push_back(static_cast<std::int64_t>(floor));
    remainders.push_back(units(number) - floor);
    sum += units(number);
  }
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  std::int64_t missing = std::llround(sum) - std::accumulate(rounded.begin(), rounded.end(), std::int64_t{0});
  for (const std::size_t index : order) {
    if (missing-- <= 0) break;
    ++rounded[index];
  }
  return rounded;
}

reports::TracedRun traced_run(const Explanation& e, const workloads::Workload& workload) {
  const PictureRows rows = picture_rows(e.grid, e.kernel, e.timeline);
  return {fmt::format("simulator: {} on {}, {}", e.plan.schedule, e.machine, e.workload),
          &workload,
          &e.plan,
          &e.timeline,
          rows.sms,
          rows.slots_per_sm};
}

}  // namespace splitwave::studies
