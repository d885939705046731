// SPDX-License-Identifier: Apache-2.0
#include "simulator/bound.h"

#include <algorithm>
#include <limits>

#include "simulator/alike.h"
#include "simulator/least_time.h"
#include "simulator/merge.h"
#include "simulator/simulation.h"

namespace splitwave::simulator {
namespace {

/// What of a plan follows its last item, at least.
struct LeastMerge {
  double surely = 0;
  double likely = 0;    ///< more, if the output of most parts is among the last to end where all lists start at once
  double expected = 0;  ///< more, if it is in any plan
};

/// together: all lists start at once, and end so where they share the memory.
LeastMerge least_merge(const workloads::Workload& workload, const schedules::Plan& plan, const Machine& machine,
                       const KernelProfile& kernel, bool together) {
  LeastMerge result;
  result.surely = separate_merge_seconds(workload, plan, machine, kernel);
  const bool hosts = hosts_merge(plan, kernel);
  const bool in_kernel =
      plan.merge == schedules::MergeKind::host_cta || plan.merge == schedules::MergeKind::last_arriver;
  if (plan.merges.empty() || !in_kernel || kernel.always_merges) return result;
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  std::int32_t most = 0;
  std::int32_t rows = std::numeric_limits<std::int32_t>::max();
  for (const schedules::Merge& merge : plan.merges) {
    rows = std::min(rows, plan.outputs[static_cast<std::size_t>(merge.output)].rows());
    least = std::min(least, merge.slot_end - merge.slot_begin);
    most = std::max(most, merge.slot_end - merge.slot_begin);
  }
  const std::int32_t fragments = fragments_with_rows(kernel, rows);
  const auto seconds = [&](std::int32_t parts) {
    return machine.flag_seconds + in_kernel_seconds(kernel, parts, hosts ? parts : 0, fragments);
  };
  // Hosts that share a merge are done with more parts sooner, so that nothing is sure of them.
  const double always = !hosts && plan.merges.size() == plan.outputs.size() ? seconds(least) : 0;
  result.surely += always;
  // A queue begins with the outputs of most parts.
  if (plan.dispatch != schedules::Dispatch::queue) result.expected = seconds(most) - always;
  if (together) result.likely = seconds(most) - always;
  return result;
}

/// Of a list in the place of one that has ended, before its first requests.
double further_start_seconds(const schedules::Plan& plan, const KernelProfile& kernel) {
  if (plan.dispatch == schedules::Dispatch::queue) {
    return kernel.config.empty() ? 0 : kernel.queue_list_seconds + kernel.item_seconds;
  }
  return kernel.persistent ? 0 : kernel.prologue_seconds;
}

}  // namespace

const LeastSeconds& Simulation::least() {
  if (least_) return *least_;
  least_.emplace();
  if (machine().cpu || plan().lists() == 0) return *least_;
  const std::int32_t slots = std::max(1, machine().sms * per_sm_);
  const std::int32_t resident = resident_ctas(plan(), slots);
  LeastTime time(machine(), kernel_, work_, per_sm_, resident);
  std::int32_t with_items = 0;
  for (std::int32_t list = 0, next = 0; list < plan().lists(); list = next) {
    next = list + 1;
    while (next < plan().lists() && alike(plan(), work_, list, next)) ++next;
    time.add(plan().list(list), next - list);
    if (!plan().list(list).empty()) with_items = next;
  }
  const bool together = plan().lists() <= resident;
  const LeastMerge merge = least_merge(workload(), plan(), machine(), kernel_, together);
  LeastParts parts = time.parts(with_items, further_start_seconds(plan(), kernel_));
  const bool waits = parts.ends != LeastParts::Ends::together;
  if (waits && plan().dispatch == schedules::Dispatch::queue) parts.ends = LeastParts::Ends::longest_first;
  least_->surely = kBoundSlack * (parts.least() + merge.surely);
  least_->likely = std::max(least_->surely, kBoundSlack * (parts.least(merge.likely) + merge.surely));
  least_->expected = parts.expected(merge.surely + merge.expected);
  least_->after_streams = time.end_seconds() + merge.surely;
  least_->bytes_per_second = time.most_bytes_per_second();
  return *least_;
}

double least_seconds(const workloads::Workload& workload, const schedules::Plan& plan, const Machine& machine,
                     const KernelProfile& kernel, const SimulateOptions& options) {
  return Simulation(workload, plan, machine, kernel, options).least_seconds();
}

}  // namespace splitwave::simulator
