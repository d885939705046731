// SPDX-License-Identifier: Apache-2.0
#include "simulator/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "simulator/alternatives.h"
#include "simulator/clusters.h"
#include "simulator/energy.h"
#include "simulator/engine.h"
#include "simulator/merge.h"
#include "simulator/placement.h"
#include "simulator/simulation.h"
#include "simulator/traffic.h"

namespace splitwave::simulator {
namespace {

using schedules::Breakdown;
using schedules::Timeline;

std::int32_t resident_per_sm(const Machine& machine, const KernelProfile& kernel, std::int32_t asked) {
  const std::int32_t fit = ctas_per_sm(machine, kernel);
  if (fit == 0) {
    throw base::InputError(
        fmt::format("kernel: {} does not fit on an SM of {}: {} threads, {} registers per thread, {} bytes of shared "
                    "memory; allowed: {} threads, {} registers, {} bytes per CTA",
                    kernel.name, machine.name, kernel.threads, kernel.registers_per_thread, kernel.shared_bytes,
                    machine.threads_per_sm, machine.registers_per_sm, machine.shared_bytes_per_cta));
  }
  if (asked < 0 || asked > fit) {
    throw base::InputError(fmt::format("ctas_per_sm: {} is too many for {} on {}; allowed: 1 to {}", asked, kernel.name,
                                       machine.name, fit));
  }
  return asked == 0 ? fit : asked;
}

/// Scales slot-seconds to seconds of the average slot; idle is the rest. All parts are multiples of the total's last
/// bit, so that they add up to it exactly, in any order.
Breakdown finish_breakdown(const Breakdown& slot_seconds, const MergeCost& merge, double slots, double total) {
  Breakdown parts;
  if (total <= 0) return parts;
  const double last_bit = std::ldexp(1.0, std::ilogb(total) - 52);
  double left = total;
  const auto part = [&](double in_slot_seconds) {
    const double seconds = std::floor(in_slot_seconds / slots / last_bit) * last_bit;
    const double taken = std::clamp(seconds, 0.0, left);
    left -= taken;
    return taken;
  };
  parts.launch = part(slot_seconds.launch);
  parts.ramp = part(slot_seconds.ramp);
  parts.stream = part(slot_seconds.stream);
  parts.compute = part(slot_seconds.compute);
  parts.merge = part(merge.merge_slot_seconds);
  parts.wait = part(merge.wait_slot_seconds);
  parts.idle = left;
  return parts;
}

/// A slower clock is not looked at where a plan is expected to take longer by less than this share: to run a plan a
/// second time takes as long as the first, and the order in which CTAs end, which no prediction knows, changes as much.
constexpr double kSameClock = 0.002;

/// Time of what DRAM must move at its peak: K and V as counted, Q and the output once. Beside long queries Q and the
/// output are as much as K and V, and no stream carries them.
double least_dram_seconds(const workloads::Workload& workload, const Machine& machine, const Work& work,
                          const schedules::Traffic& traffic, L2State l2) {
  if (machine.cpu || l2 == L2State::warm) return 0;
  const std::int64_t q =
      work.output_rows * workload.geometry.head_dim * workloads::bytes_per_element(workload.geometry.dtype);
  return static_cast<double>(traffic.kv_dram_read + q + traffic.output_written) / machine.dram_peak_bytes_per_second;
}

}  // namespace

schedules::Grid grid_of(const Machine& machine, const KernelProfile& kernel, std::int32_t ctas_per_sm) {
  schedules::Grid grid;
  grid.sms = machine.sms;
  grid.ctas_per_sm = resident_per_sm(machine, kernel, ctas_per_sm);
  if (kernel.cluster > 1) {
    grid.sms = resident_workers(machine, kernel.cluster, grid.ctas_per_sm);
    grid.ctas_per_sm = 1;
  }
  grid.shared_bytes_per_sm = machine.shared_bytes_per_sm;
  return grid;
}

namespace {

/// For a worker of a queue to find its next list: it passes all requests that the lists of the others belong to, in
/// groups, and all of the batch over all its lists.
double walk_seconds(const workloads::Workload& workload, const schedules::Plan& plan, const KernelProfile& kernel) {
  const auto requests = static_cast<std::int32_t>(workload.requests.size());
  if (plan.lists() == 0 || requests == 0) return 0;
  const double groups = (requests - 1) / kQueueGroup;
  return kernel.queue_walk_seconds * groups * std::min(1.0, static_cast<double>(plan.workers) / plan.lists());
}

/// CTAs of a plan that must all be resident. A CPU's threads merge when all have ended, so that there nothing waits.
void check_resident(const schedules::Plan& plan, const Machine& machine, std::int32_t per_sm) {
  const std::int64_t slots = static_cast<std::int64_t>(machine.sms) * per_sm;
  if (plan.dispatch != schedules::Dispatch::fixed || plan.ctas() <= slots || machine.cpu) return;
  throw base::InputError(
      fmt::format("plan: {} has {} CTAs that must all be resident; allowed: at most {} on {}: {} SMs with {} each",
                  plan.schedule, plan.ctas(), slots, machine.name, machine.sms, per_sm));
}

}  // namespace

Simulation::Simulation(const workloads::Workload& workload, const schedules::Plan& plan, const Machine& machine,
                       const KernelProfile& kernel, const SimulateOptions& options)
    : workload_(workload),
      plan_(plan),
      machine_(machine),
      kernel_(kernel),
      options_(options),
      per_sm_(resident_per_sm(machine, kernel, options.ctas_per_sm)) {
  if (kernel.kv_heads > 1) {
    pairs_ = schedules::head_pairs(workload, plan);
    if (!pairs_)
      throw base::InputError(fmt::format("plan {}: no pairs of KV heads for {}", plan.schedule, kernel.config));
  }
  if (!kernel.config.empty()) {
    if (most_rows(whole_plan()) > kernel.most_rows) in_blocks_ = in_row_blocks(whole_plan(), kernel.most_rows);
    if (kernel.cluster > 1) clusters_ = clustered(machine, kernel.cluster, per_sm_);
  }
  check_resident(this->plan(), this->machine(), per_sm_);
  const std::int32_t resident = this->machine().sms * per_sm_;
  work_ = make_work(this->workload(), this->plan(), this->machine(), kernel, options, resident);
}

EngineOptions Simulation::engine_options(double limit_seconds) {
  EngineOptions engine;
  engine.ctas_per_sm = per_sm_;
  if (plan().dispatch == schedules::Dispatch::queue) {
    engine.workers = plan().workers;
    const double walk = walk_seconds(workload(), plan(), kernel_);
    engine.worker_prologue_seconds = kernel_.queue_prologue_seconds + walk;
    engine.next_list_seconds = walk + (kernel_.prefetches_items ? 0 : machine().flag_seconds);
    if (!kernel_.config.empty()) engine.next_list_seconds = kernel_.queue_list_seconds;
  } else if (kernel_.persistent && plan().merge == schedules::MergeKind::none) {
    engine.workers = machine().sms * per_sm_;
  }
  engine.spans = options_.spans;
  if (std::isfinite(limit_seconds) && least().bytes_per_second > 0) {
    engine.limit_seconds = limit_seconds - least().after_streams;
    engine.most_bytes_per_second = least().bytes_per_second;
  }
  return engine;
}

/// Byte/s that the CTAs of an SM ask for at most.
double Simulation::most_of_sm() const {
  double rate = work_.law.lone_rate();
  const auto alone = [](const TokenSeconds& a, const TokenSeconds& b) { return a.alone < b.alone; };
  const auto least = std::min_element(work_.seconds_per_byte.begin(), work_.seconds_per_byte.end(), alone);
  if (least != work_.seconds_per_byte.end() && least->alone > 0) rate = std::min(rate, 1 / least->alone);
  return std::min(per_sm_ * rate, work_.sm_bytes_per_second);
}

/// A launch begins with another GPC than the one before, by what ran in between: the middle one of three, a third of
/// the GPCs apart, stands for all.
std::optional<Timeline> Simulation::run(double limit_seconds) {
  const std::int32_t ctas = std::min(plan().lists(), resident_ctas(plan(), machine().sms * per_sm_));
  if (!crowds_gpcs(machine(), plan(), ctas, work_.bytes_per_token, most_of_sm())) return run_from(-1, limit_seconds);
  std::vector<std::optional<Timeline>> runs;
  for (const std::int32_t first_gpc : first_gpcs(machine())) runs.push_back(run_from(first_gpc, limit_seconds));
  const auto seconds = [](const std::optional<Timeline>& one) {
    return one ? one->seconds : std::numeric_limits<double>::infinity();
  };
  std::sort(runs.begin(), runs.end(), [&](const auto& a, const auto& b) { return seconds(a) < seconds(b); });
  // One that was given up may be the middle one.
  if (!runs[2] && seconds(runs[1]) > limit_seconds) return std::nullopt;
  return runs[1];
}

std::optional<Timeline> Simulation::run_from(std::int32_t first_gpc, double limit_seconds) {
  static thread_local EngineResult result;
  const std::int32_t slots = machine().sms * per_sm_;
  const bool in_kernel = !plan().merges.empty() && plan().merge != schedules::MergeKind::kernel && !machine().cpu;
  EngineOptions engine = engine_options(limit_seconds);
  engine.item_ends = in_kernel;
  engine.first_gpc = first_gpc;
  if (!run_lists(plan(), machine(), kernel_, work_, engine, result)) return std::nullopt;
  const MergeCost merge = merge_cost(workload(), plan(), machine(), kernel_, slots, result, options_.spans);
  Timeline timeline;
  timeline.seconds = result.end_seconds + merge.seconds;
  const double all = slots;
  timeline.occupancy = result.end_seconds > 0 ? result.busy_slot_seconds / (all * result.end_seconds) : 0;
  timeline.waves = plan().ctas() / all;
  timeline.sm_seconds = result.busy_sm_seconds * kernel_.cluster;
  timeline.traffic = count_traffic(workload(), plan(), work_, result, in_kernel && hosts_merge(plan(), kernel_));
  timeline.traffic.q_read /= kernel_.kv_heads;  // of pairs only K, V and partial results are as wide as both
  timeline.traffic.output_written /= kernel_.kv_heads;
  const double least = least_dram_seconds(workload_, machine(), work_, timeline.traffic, options_.l2);
  if (least > timeline.seconds) {
    result.slot_seconds.stream += (least - timeline.seconds) * all;
    timeline.seconds = least;
  }
  timeline.breakdown = finish_breakdown(result.slot_seconds, merge, all, timeline.seconds);
  const double clock = clock_share(workload_, plan_, timeline, machine_, kernel_);
  if (1 - clock > kSameClock) {
    const Machine slower = with_overrides(machine_, {.clock_hz = clock * machine_.clock_hz});
    Simulation at_clock(workload_, plan_, slower, kernel_, options_);
    const bool differs = at_clock.expected_seconds() > (1 + kSameClock) * expected_seconds();
    if (differs) return at_clock.run_from(first_gpc, limit_seconds);
  }
  if (options_.spans) timeline.spans = result.spans;
  for (schedules::Span& span : timeline.spans) {
    if (span.item < 0) continue;
    if (in_blocks_) span.item = in_blocks_->item[static_cast<std::size_t>(span.item)];
    if (pairs_) span.item = pairs_->first_item[static_cast<std::size_t>(span.item)];
  }
  return timeline;
}

Timeline simulate(const workloads::Workload& workload, const schedules::Plan& plan, const Machine& machine,
                  const KernelProfile& kernel, const SimulateOptions& options) {
  return *Simulation(workload, plan, machine, kernel, options).run();
}

bool keeps_kv_in_l2(const workloads::Workload& workload, const schedules::Plan& plan, const Machine& machine,
                    const KernelProfile& kernel, const SimulateOptions& options) {
  return Simulation(workload, plan, machine, kernel, options).keeps_kv_in_l2();
}

}  // namespace splitwave::simulator
