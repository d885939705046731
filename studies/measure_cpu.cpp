// SPDX-License-Identifier: Apache-2.0
// Plans on this CPU: timed in rounds, with the probes that predict them in between, and checked.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/quantile.h"
#include "cpu_reference/compare.h"
#include "cpu_reference/measure.h"
#include "cpu_reference/oracle.h"
#include "cpu_reference/probes.h"
#include "studies/measure.h"
#include "studies/predict.h"
#include "studies/records.h"
#include "studies/repeat.h"
#include "workloads/tensors.h"

namespace splitwave::studies {
namespace {

using workloads::Workload;

constexpr const char* kCpuExecutor = "cpu";
/// The time of one timed schedule in plain reads of K and V, warm-up, probes and cache flushes included.
constexpr double kTimingReads = 20;

/// Fewest rounds of a plan that takes longer than it may.
constexpr std::int64_t kLeastRounds = 3;

/// A schedule's plan, and how it fared; or why it cannot serve the workload.
struct Contender {
  std::string schedule;
  std::string failure;
  Prediction planned;
  std::unique_ptr<cpu_reference::TimedPlan> timed;
  std::vector<double> seconds;    ///< of its runs
  std::vector<double> speed_ups;  ///< over the baseline, by pair
};

std::vector<std::unique_ptr<Contender>> plan_all(const Workload& workload, const std::vector<std::string>& schedules,
                                                 const Target& cpu) {
  std::vector<std::unique_ptr<Contender>> contenders;
  for (const std::string& schedule : schedules) {
    auto& one = contenders.emplace_back(std::make_unique<Contender>());
    one->schedule = schedule;
    try {
      one->planned = predict(workload, schedule, cpu);
    } catch (const base::InputError& error) {
      one->failure = error.what();
    }
  }
  return contenders;
}

/// The contenders that have a plan, each run once: the baseline is the first, where it has a plan.
std::vector<Contender*> start(const std::vector<std::unique_ptr<Contender>>& contenders, const std::string& baseline,
                              const Workload& workload, const workloads::Tensors& tensors, std::int32_t threads) {
  std::vector<Contender*> ready;
  for (const std::unique_ptr<Contender>& one : contenders) {
    if (!one->failure.empty()) continue;
    one->timed = std::make_unique<cpu_reference::TimedPlan>(workload, tensors, one->planned.plan, threads);
    ready.insert(one->schedule == baseline ? ready.begin() : ready.end(), one.get());
  }
  return ready;
}

/// Query rows of the outputs of all plans.
std::vector<std::int32_t> output_rows(const std::vector<Contender*>& ready) {
  std::set<std::int32_t> rows;
  for (const Contender* one : ready) {
    for (const schedules::OutputTile& output : one->planned.plan.outputs) rows.insert(output.rows());
  }
  return {rows.begin(), rows.end()};
}

void run_once(Contender& one) {
  one.seconds.push_back(one.timed->sample());
}

/// One run of each, and of the baseline one beside each other's, first and second in turns: what drifts cancels.
void run_in_pairs(const std::vector<Contender*>& ready, std::int64_t round) {
  Contender& baseline = *ready.front();
  if (ready.size() == 1) run_once(baseline);
  for (std::size_t i = 1; i < ready.size(); ++i) {
    const bool baseline_first = (static_cast<std::size_t>(round) + i) % 2 == 0;
    run_once(baseline_first ? baseline : *ready[i]);
    run_once(baseline_first ? *ready[i] : baseline);
    ready[i]->speed_ups.push_back(baseline.seconds.back() / ready[i]->seconds.back());
  }
}

/// Rounds until the budget is reached; with the probes first in each, if there are any.
void run_rounds(const std::vector<Contender*>& ready, bool pairs, cpu_reference::Probes* probes,
                const TimingBudget& budget, const std::string& label, const Watcher& watcher) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto spent = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const auto plans = static_cast<double>(ready.size());
  const auto goes_on = [&](std::int64_t rounds) {
    if (rounds >= kLeastRounds && spent() >= budget.most_seconds * plans) return false;
    return rounds < budget.samples || spent() < budget.seconds * plans;
  };
  for (std::int64_t round = 0; goes_on(round); ++round) {
    watcher.begin(label);
    if (probes != nullptr) probes->measure();
    if (pairs) {
      run_in_pairs(ready, round);
    } else {
      for (Contender* one : ready) run_once(*one);
    }
  }
}

reports::RecordProbes record_probes(const simulator::CpuFigures& figures, const cpu_reference::ProbedCpu& probed) {
  reports::RecordProbes record;
  record.read_by_one = figures.read_bytes_per_second.front();
  record.read_by_all = figures.read_bytes_per_second.back();
  record.seconds_per_kv_byte = figures.seconds_per_kv_byte;
  record.fork_seconds = figures.fork_seconds;
  record.item_seconds = figures.item_seconds;
  record.merge_seconds_per_row_split = figures.merge_seconds_per_row_split;
  record.read_spread = probed.read_spread;
  record.tile_spread = probed.tile_spread;
  record.rounds = probed.rounds;
  record.overlap = figures.overlap;
  record.list_seconds = figures.list_seconds;
  return record;
}

/// The plan's prediction from what was probed between its runs.
reports::Record predicted_again(Contender& one, const Workload& workload, const Target& probed) {
  Simulated simulated = simulate_plan(workload, one.planned.plan, probed);
  one.planned.kernel = std::move(simulated.kernel);
  one.planned.timeline = std::move(simulated.timeline);
  reports::Record record = record_of(one.planned, workload, probed);
  record.probes = record_probes(*machine_for(probed, workload, one.planned.plan).cpu, *probed.probed);
  return record;
}

reports::Record measured_record(const Contender& one, const Workload& workload, const Target& cpu,
                                const std::string& baseline, const cpu_reference::Errors& errors) {
  reports::Record record = plan_record(workload, one.planned.plan, one.planned.grid, cpu.name, one.planned.by_auto);
  record.executor = kCpuExecutor;
  const cpu_reference::Timing timing = cpu_reference::timing_of(one.seconds);
  set_times(record, timing.median, timing.p20, timing.p80, timing.samples);
  record.interrupted = one.timed->interrupted();
  if (!one.speed_ups.empty()) {
    const base::Interval interval = base::median_interval(one.speed_ups);
    record.speed_up = {baseline, base::quantile(one.speed_ups, 0.5), interval.low, interval.high,
                       static_cast<std::int64_t>(one.speed_ups.size())};
  }
  record.error = record_error(errors);
  return record;
}

/// The plan again and again, each time on poisoned memory.
reports::RecordRepeat repeat_plan(const Contender& one, const Workload& workload, const workloads::Tensors& tensors,
                                  std::int32_t threads, std::int32_t repeats) {
  const schedules::Plan& plan = one.planned.plan;
  const cpu_reference::WorkspacePtr workspace = cpu_reference::make_workspace(workload, plan, threads);
  return repeat_runs(workload, repeats, [&](std::int32_t index) {
    cpu_reference::Result<float> result = poisoned_result(workload, index);
    cpu_reference::poison(*workspace);
    cpu_reference::run_plan(workload, tensors, plan, *workspace, threads, result);
    return result;
  });
}

/// The plan's timelines, predicted from what is known of the CPU and of one more run.
void trace_plan(Contender& one, const Workload& workload, const Target& cpu, std::vector<TracedPlan>& traces) {
  PredictOptions options;
  options.spans = true;
  one.planned.timeline = simulate_plan(workload, one.planned.plan, cpu, options).timeline;
  traces.push_back(predicted_trace(one.planned, workload, cpu.name));
  traces.push_back(measured_trace(one.timed->record(), one.planned, workload, cpu.name, cpu.machine.sms));
}

double cpu_work(const Workload& workload, std::size_t schedules) {
  return static_cast<double>(workloads::minimal_bytes(workload)) *
         (kOracleReads + kTimingReads * static_cast<double>(schedules));
}

void measure_on_cpu(const Workload& workload, const std::vector<std::string>& schedules, const Target& cpu,
                    const TimingBudget& budget, bool predicted, const MeasureOutput& output) {
  const auto bytes = static_cast<double>(workloads::minimal_bytes(workload));
  output.watcher.begin("oracle of " + workload.name);
  const workloads::Tensors tensors = workloads::make_tensors(workload, tensor_memory_bytes());
  const cpu_reference::Result<double> exact = cpu_reference::attend(workload, tensors);
  output.watcher.done(bytes * kOracleReads);
  const std::string baseline = baseline_of(schedules);
  const auto contenders = plan_all(workload, schedules, cpu);
  const std::vector<Contender*> ready = start(contenders, baseline, workload, tensors, cpu.machine.sms);
  Target probed = cpu;
  if (!ready.empty()) {
    std::optional<cpu_reference::Probes> probes;
    if (predicted) probes.emplace(workload, tensors, output_rows(ready), cpu.machine.sms);
    const bool pairs = predicted && ready.front()->schedule == baseline;
    run_rounds(ready, pairs, probes ? &*probes : nullptr, budget, workload.name, output.watcher);
    if (probes) probed.probed = probes->result();
  }
  for (const std::unique_ptr<Contender>& one : contenders) {
    if (!one->failure.empty()) {
      output.watcher.record(failed_record(workload.name, one->schedule, kCpuExecutor, cpu.name, one->failure));
    } else {
      if (predicted) output.watcher.record(predicted_again(*one, workload, probed));
      const cpu_reference::Errors errors = cpu_reference::compare(one->timed->result(), exact);
      if (output.traces != nullptr) trace_plan(*one, workload, cpu, *output.traces);
      reports::Record record = measured_record(*one, workload, cpu, baseline, errors);
      output.checks.add(record, errors, cpu_reference::tolerance(workload.geometry.dtype));
      if (budget.repeats > 1) {
        record.repeat = repeat_plan(*one, workload, tensors, cpu.machine.sms, budget.repeats);
        output.checks.add_repeat(record);
      }
      output.watcher.record(std::move(record));
    }
    output.watcher.done(bytes * kTimingReads);
  }
}

}  // namespace

Executor cpu_executor(std::int32_t threads, bool measure_cpu, const TimingBudget& budget) {
  Executor cpu;
  cpu.target = this_cpu(threads, measure_cpu);
  cpu.environment = {
      {"CPU", cpu.target.name},
      {"Timing", fmt::format("cold caches, at least {} runs and {} s of each plan; median, p20, p80 in records.jsonl",
                             budget.samples, budget.seconds)},
      {"Plans on the CPU", "one CTA per thread, each schedule's own tile sizes"},
      {"CPU prediction",
       "from probes between the runs of each workload: plain reads of its K and V, tile time in cache, streams of "
       "made-up K and V, fork; no attention over the workload is timed for it (docs/performance.md)"}};
  cpu.work = cpu_work;
  cpu.measure = measure_on_cpu;
  return cpu;
}

}  // namespace splitwave::studies
