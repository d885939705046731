// SPDX-License-Identifier: Apache-2.0
#include "studies/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "schedules/schedules.h"
#include "studies/choose.h"
#include "studies/predict.h"

namespace splitwave::studies {
namespace {

std::string plural(std::int64_t count, const char* one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

Limit limit_of_stream(const Explanation& e, std::int32_t resident) {
  constexpr double kNearPlateau = 0.8;
  if (e.bandwidth_share >= kNearPlateau) {
    return {"stream", 0, "memory: K and V are read at nearly all the bandwidth that this machine has",
            "fewer bytes (a smaller K/V type, fewer KV heads, a window) or faster memory; no schedule does better"};
  }
  if (e.plan.ctas() < resident) {
    return {"stream", 0,
            fmt::format("memory: only {} of {} CTA slots read, too few to fill the bandwidth", e.plan.ctas(), resident),
            "more splits, so that more CTAs read at once"};
  }
  return {"stream", 0, "memory: the CTAs read below the bandwidth of this machine while they wait for their latencies",
          "longer items, or a kernel with more bytes in flight"};
}

Limit limit_of(const Explanation& e, const simulator::Kernel& kernel) {
  const std::array<Part, 7> all = parts(e.timeline.breakdown);
  const Part largest =
      *std::max_element(all.begin(), all.end(), [](const Part& a, const Part& b) { return a.seconds < b.seconds; });
  const std::int32_t resident = e.grid.resident();
  Limit limit;
  if (largest.name == "launch") {
    limit = {"launch", 0, "starting the kernel and its CTAs takes longest: the work is small for this machine",
             "more requests per call, or a CUDA graph; another schedule hardly helps"};
  } else if (largest.name == "ramp") {
    limit = {"ramp", 0, "CTAs start up and wait for their first bytes longer than they read",
             "fewer splits: fewer, longer items"};
  } else if (largest.name == "stream") {
    limit = limit_of_stream(e, resident);
  } else if (largest.name == "compute") {
    const std::int32_t rows = e.plan.outputs.empty() ? 0 : e.plan.outputs.front().rows();
    limit = {"compute", 0,
             fmt::format("arithmetic: {} padded to {} by the instruction take longer than reading their tiles",
                         plural(rows, "query row"), kernel.mma_rows),
             "a kernel with smaller instruction tiles, or all query heads of a KV head in one tile"};
  } else if (largest.name == "merge") {
    limit = {
        "merge", 0,
        fmt::format("combining partial results: {} over {} slots", plural(e.metrics.merges, "merge"), e.plan.slots()),
        "fewer splits, or a merge inside the kernel"};
  } else if (largest.name == "wait") {
    limit = {"wait", 0, "CTAs that merge wait for the partial results of others",
             "items of more equal length, or a merge by the last CTA that arrives"};
  } else {
    limit = {
        "idle", 0,
        fmt::format("idle CTA slots: {:.2f} waves of CTAs leave part of the machine without work", e.metrics.waves),
        "a schedule that cuts the work evenly over all CTA slots (lean, fa3, flashinfer), or another split count"};
  }
  const double total = e.timeline.breakdown.total();
  limit.share = total > 0 ? largest.seconds / total : 0;
  return limit;
}

}  // namespace

std::vector<Choice> try_schedules(const workloads::Workload& workload, const Target& target,
                                  std::span<const std::string> schedules) {
  std::vector<Choice> choices;
  for (const std::string& name : schedules) {
    if (name == kAuto) continue;
    try {
      const Prediction made = predict(workload, name, target);
      choices.push_back({name, made.plan.num_splits, made.timeline.seconds});
    } catch (const base::InputError&) {
      continue;  // it cannot serve the workload: not a choice
    }
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.seconds < b.seconds; });
  return choices;
}

std::vector<std::string> alternative_schedules(const workloads::Workload& workload) {
  constexpr std::int32_t kDense = 16;
  constexpr std::int32_t kMostSplits = 128;
  constexpr std::int32_t kTile = 128;  // tokens; a split shorter than a tile has no work of its own
  std::vector<std::string> names = schedules::default_names({&workload, 1});
  std::int32_t longest = 0;
  for (const workloads::Request& request : workload.requests) longest = std::max(longest, request.context_len);
  const std::int32_t most = std::clamp((longest + kTile - 1) / kTile, 1, kMostSplits);
  for (std::int32_t splits = 1; splits <= most; splits += splits < kDense ? 1 : splits / 3) {
    const std::string name = fmt::format("fixed-split:{}", splits);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
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

Explanation explain(const std::string& schedule, const workloads::Workload& workload, const Target& target) {
  PredictOptions options;
  options.spans = true;
  Prediction made = predict(workload, schedule, target, options);
  const simulator::Machine machine = machine_for(target, workload, made.plan);
  const std::string name = made.plan.schedule;
  Explanation e;
  e.workload = workload.name;
  e.machine = target.name;
  e.grid = made.grid;
  e.metrics = metrics(made.plan, made.grid);
  e.timeline = std::move(made.timeline);
  e.plan = std::move(made.plan);
  e.kernel = made.kernel.name;
  e.bytes = workloads::minimal_bytes(workload);
  e.bytes_per_second = e.timeline.seconds > 0 ? static_cast<double>(e.bytes) / e.timeline.seconds : 0;
  e.bandwidth_share = e.bytes_per_second / machine.dram_bytes_per_second;
  e.idle_sm_seconds = e.timeline.breakdown.idle * e.grid.sms;
  e.limit = limit_of(e, made.kernel);
  std::vector<std::string> others = alternative_schedules(workload);
  std::erase(others, name);
  e.alternatives = try_schedules(workload, target, others);
  return e;
}

std::vector<std::int64_t> rounded_to_sum(std::span<const double> numbers, double unit) {
  std::vector<std::int64_t> rounded;
  std::vector<double> remainders;
  double sum = 0;
  for (const double number : numbers) {
    const double floor = std::floor(number / unit);
    rounded.push_back(static_cast<std::int64_t>(floor));
    remainders.push_back(number / unit - floor);
    sum += number;
  }
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  std::int64_t missing = std::llround(sum / unit) - std::accumulate(rounded.begin(), rounded.end(), std::int64_t{0});
  for (const std::size_t index : order) {
    if (missing-- <= 0) break;
    ++rounded[index];
  }
  return rounded;
}

}  // namespace splitwave::studies
