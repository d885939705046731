// SPDX-License-Identifier: Apache-2.0
#include "simulator/merge.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "simulator/alternatives.h"
#include "simulator/traffic.h"

namespace splitwave::simulator {
namespace {

using schedules::Merge;
using schedules::MergeKind;
using schedules::Plan;

/// Batches of partials that a merge of so many asks for after the first.
double further_batches(const KernelProfile& kernel, double splits) {
  return kernel.merge_batch_splits > 0 ? std::max(0.0, std::ceil(splits / kernel.merge_batch_splits) - 1) : 0;
}

/// Rows of a tile of which a kernel whose warps share its tiles writes all or none (gpu/kernels/group_finish.cuh).
constexpr std::int32_t kRowTile = 8;

/// Rows of a partial result of an output of so many: kernels whose warps share a tile write its row tiles that have
/// rows, whole.
std::int32_t written_rows(const KernelProfile& kernel, std::int32_t rows) {
  return kernel.shares_tiles ? (rows + kRowTile - 1) / kRowTile * kRowTile : rows;
}

/// Rows of all partial results.
double row_splits(const Plan& plan, const KernelProfile& kernel) {
  double rows = 0;
  for (const Merge& merge : plan.merges) {
    const double splits = merge.slot_end - merge.slot_begin;
    rows += splits * written_rows(kernel, plan.outputs[static_cast<std::size_t>(merge.output)].rows());
  }
  return rows;
}

/// Warps that share a fragment of so many partials: one, two, four, up to `most`.
std::int32_t sharing_warps(const KernelProfile& kernel, double splits, std::int32_t most) {
  if (kernel.merge_kernel_warp_splits == 0) return 1;
  std::int32_t warps = 1;
  while (2 * warps <= most && splits > kernel.merge_kernel_warp_splits * warps) warps *= 2;
  return warps;
}

/// Fragments of an output of so many rows, of all its row blocks.
std::int32_t fragments_of(const KernelProfile& kernel, std::int32_t rows) {
  const std::int32_t whole = kernel.merge_fragments * kernel.cluster;
  if (!kernel.shares_tiles || kernel.most_rows == 0) return whole;
  return std::max(1, whole * written_rows(kernel, rows) / kernel.most_rows);
}

/// Turns that the CTAs of a merge kernel take on the places that there are for them: of each output as many as its own
/// partials ask for, since those without work leave at once (gpu/kernels/merge.cu). `most`: partials of an output.
double merge_kernel_turns(const Plan& plan, const Machine& machine, const KernelProfile& kernel, std::int32_t most) {
  if (kernel.merge_kernel_warps == 0 || kernel.merge_fragments == 0) return 1;
  const double merges = static_cast<double>(plan.merges.size());
  const double held = static_cast<double>(machine.sms) * kernel.merge_kernel_ctas;
  const bool runs = sharing_warps(kernel, most, kernel.merge_kernel_most_warps) == 1 &&
                    merges * kernel.merge_fragments * kernel.cluster > held * kernel.merge_kernel_warps;
  std::int64_t ctas = 0;
  for (const Merge& merge : plan.merges) {
    const std::int32_t fragments = fragments_of(kernel, plan.outputs[static_cast<std::size_t>(merge.output)].rows());
    const std::int32_t sharing =
        sharing_warps(kernel, merge.slot_end - merge.slot_begin, kernel.merge_kernel_most_warps);
    const std::int32_t warps =
        runs ? (fragments + kernel.merge_kernel_run - 1) / kernel.merge_kernel_run : fragments * sharing;
    ctas += (warps + kernel.merge_kernel_warps - 1) / kernel.merge_kernel_warps;
  }
  return std::max(1.0, std::ceil(static_cast<double>(ctas) / held));
}

/// A kernel of its own: its launch, the longest serial chain of partials, and the bytes or arithmetic of all of them. A
/// CTA in the place of another reads what it is to merge, then partials.
double merge_kernel_seconds(const workloads::Workload& workload, const Plan& plan, const Machine& machine,
                            const KernelProfile& kernel) {
  std::int32_t most = 0;
  for (const Merge& merge : plan.merges) most = std::max(most, merge.slot_end - merge.slot_begin);
  const double rows = row_splits(plan, kernel);
  const double bytes = rows * static_cast<double>(partial_row_bytes(workload.geometry));
  const double rate =
      kernel.merge_kernel_bytes_per_second > 0 ? kernel.merge_kernel_bytes_per_second : machine.l2_bytes_per_second;
  const double traffic = rate > 0 ? bytes / rate : 0;
  const double work = rows * kernel.merge_seconds_per_row_split / machine.sms;
  const double per_split = kernel.merge_kernel_seconds_per_split < 0 ? kernel.merge_seconds_per_split
                                                                     : kernel.merge_kernel_seconds_per_split;
  const std::int32_t serial = splits_per_warp(kernel, most);
  const double turn = machine.l2_latency_seconds + kernel.merge_kernel_batch_seconds;
  return kernel.merge_launch_seconds + per_split * serial +
         kernel.merge_kernel_batch_seconds * further_batches(kernel, serial) +
         (merge_kernel_turns(plan, machine, kernel, most) - 1) * turn + std::max(traffic, work);
}

/// By which merges inside the kernel are later than if a CTA alone wrote its partial result: all CTAs end together, and
/// all partial results pass L2. The rate is that of writing and reading them, of which reading comes with each merge,
/// unless CTAs share merges: then all of them read at once what others have just written.
double passing_seconds(const workloads::Workload& workload, const Plan& plan, const KernelProfile& kernel) {
  if (kernel.merge_kernel_bytes_per_second <= 0) return 0;
  const double bytes = row_splits(plan, kernel) * static_cast<double>(partial_row_bytes(workload.geometry));
  return bytes / (2 * kernel.merge_kernel_bytes_per_second);
}

bool has_merge_kernel(const Plan& plan, const Machine& machine, const KernelProfile& kernel) {
  return plan.merge == MergeKind::kernel || kernel.always_merges || (machine.cpu && !plan.merges.empty());
}

/// Index of the item that wrote each slot.
std::vector<std::int32_t> find_items(const Plan& plan) {
  std::vector<std::int32_t> item_of_slot(static_cast<std::size_t>(plan.slots()), 0);
  for (std::size_t item = 0; item < plan.items.size(); ++item) {
    const std::int32_t slot = plan.items[item].slot;
    if (slot >= 0) item_of_slot[static_cast<std::size_t>(slot)] = static_cast<std::int32_t>(item);
  }
  return item_of_slot;
}

/// Seconds in which an SM loads the rows of one partial of the merge. The rows of a batch lie one behind
/// the other, and the tile is loaded whole: of later outputs' rows too, up to the last row of the batch.
double row_loads_seconds(const Plan& plan, const Merge& merge, const Machine& machine, const KernelProfile& kernel) {
  if (kernel.merge_row_clocks <= 0) return 0;
  std::int32_t rows = 0;
  for (auto output = static_cast<std::size_t>(merge.output); output < plan.outputs.size() && rows < kernel.merge_rows;
       ++output) {
    rows += plan.outputs[output].rows();
  }
  return std::min(rows, kernel.merge_rows) * kernel.merge_row_clocks / machine.clock_hz;
}

/// One merge inside the kernel: of whose item's CTA, when all partials are there, and how long it takes.
struct InKernel {
  std::int32_t item = 0;
  double last_arrival = 0;
  double seconds = 0;
  double ready = 0;  ///< its CTA could begin
  double begin = 0;
  double end() const { return begin + seconds; }
};

/// CTAs that share a merge of so many partials, of `mergers` that could: one where one is soon done.
std::int32_t sharing_ctas(const KernelProfile& kernel, double splits, std::int32_t mergers) {
  if (splits * merge_turns(kernel, kernel.merge_fragments) < kernel.merge_shared_turns) return 1;
  return std::max(1, std::min(mergers, kernel.merge_fragments));
}

/// mergers: CTAs that can share it.
InKernel one_merge(const Plan& plan, const Merge& merge, const Machine& machine, const KernelProfile& kernel,
                   const std::vector<std::int32_t>& item_of_slot, std::int32_t mergers, const EngineResult& result) {
  const bool waits = plan.merge == MergeKind::host_cta;
  const bool hosts = hosts_merge(plan, kernel);
  const double splits = merge.slot_end - merge.slot_begin;
  const bool alone = sharing_ctas(kernel, splits, mergers) == 1;
  InKernel one;
  one.item = item_of_slot[static_cast<std::size_t>(merge.slot_begin)];
  double last = 0;
  for (std::int32_t slot = merge.slot_begin; slot < merge.slot_end; ++slot) {
    const std::int32_t item = item_of_slot[static_cast<std::size_t>(slot)];
    const double end = result.item_end[static_cast<std::size_t>(item)];
    const bool keeps_its_own = hosts && alone && kernel.waiting_merge_seconds < 0;
    if (end > last && !(keeps_its_own && slot == merge.slot_begin)) {
      last = end;
      if (!waits) one.item = item;
    }
  }
  // A host that keeps its own partial reads one less; CTAs that share a merge read them all, as a last arriver does.
  const double read = hosts && kernel.merge_fragments == 0 ? splits - 1 : splits;
  one.last_arrival = last + machine.flag_seconds;
  one.seconds =
      in_kernel_seconds(kernel, read, waits ? mergers : 0,
                        fragments_with_rows(kernel, plan.outputs[static_cast<std::size_t>(merge.output)].rows()),
                        row_loads_seconds(plan, merge, machine, kernel));
  one.ready = result.item_end[static_cast<std::size_t>(one.item)];
  one.begin = std::max(one.ready, one.last_arrival);
  return one;
}

/// Puts off the merges to the ends of their CTAs' lists, where each CTA does its own one after the other; hosts wait
/// for all partials of theirs first.
void put_off(const Plan& plan, const EngineResult& result, std::vector<InKernel>& merges) {
  std::sort(merges.begin(), merges.end(), [](const InKernel& a, const InKernel& b) { return a.item < b.item; });
  std::int32_t list = 0;
  for (std::size_t first = 0; first < merges.size();) {
    while (plan.cta_begin[static_cast<std::size_t>(list) + 1] <= merges[first].item) ++list;
    const std::int32_t end_item = plan.cta_begin[static_cast<std::size_t>(list) + 1];
    double ready = result.item_end[static_cast<std::size_t>(end_item) - 1];
    double begin = ready;
    std::size_t end = first;
    for (; end < merges.size() && merges[end].item < end_item; ++end) begin = std::max(begin, merges[end].last_arrival);
    for (; first < end; ++first) {
      merges[first].ready = ready;
      merges[first].begin = begin;
      ready = begin = merges[first].end();
    }
  }
}

MergeCost in_kernel_cost(const workloads::Workload& workload, const Plan& plan, const Machine& machine,
                         const KernelProfile& kernel, EngineResult& result, bool spans) {
  const double written = passing_seconds(workload, plan, kernel);
  double read = 0;
  const std::vector<std::int32_t> item_of_slot = find_items(plan);
  std::vector<InKernel> merges;
  merges.reserve(plan.merges.size());
  const bool shares = plan.merge == MergeKind::host_cta && kernel.merge_fragments > 0;
  std::vector<std::int32_t> closing_parts;
  if (shares) schedules::find_closing_parts(plan, closing_parts);
  for (const Merge& merge : plan.merges) {
    const std::int32_t mergers = shares ? closing_parts[static_cast<std::size_t>(merge.output)] : 1;
    if (sharing_ctas(kernel, merge.slot_end - merge.slot_begin, mergers) > 1) read = written;
    merges.push_back(one_merge(plan, merge, machine, kernel, item_of_slot, mergers, result));
  }
  if (kernel.merges_after_list) put_off(plan, result, merges);
  std::vector<std::size_t> span_of_item(spans ? plan.items.size() : 0);
  for (std::size_t i = 0; spans && i < result.spans.size(); ++i) {
    span_of_item[static_cast<std::size_t>(result.spans[i].item)] = i;
  }
  MergeCost cost;
  double end = result.end_seconds;
  for (InKernel& one : merges) {
    one.seconds += read;
    end = std::max(end, written + one.end());
    cost.wait_slot_seconds += one.begin - one.ready;
    cost.merge_slot_seconds += one.seconds;
    if (!spans) continue;
    const schedules::Span span = result.spans[span_of_item[static_cast<std::size_t>(one.item)]];
    result.spans.push_back({span.cta, span.sm, span.slot, -1, written + one.begin, written + one.end()});
  }
  cost.seconds = end - result.end_seconds;
  return cost;
}

/// Partials of an output whose parts clusters hold, from which on more take no longer: each CTA adds up as much as it
/// has left itself, or has more warps for it (gpu/kernels/whole_latent_finish.cuh). As many as are probed.
constexpr double kPartialsOfHeldParts = 8;

/// Partials that a CTA's eight warps look for at a time there: of more they look again.
constexpr double kPartialsHeldPartsLookFor = 64;

/// Partials of a fragment that a warp of a CTA that waits looks for at a time (gpu/kernels/waiting.cuh, kAsked).
constexpr double kPartialsLookedFor = 16;

/// The same of a quarter of a fragment, by each eight of a warp's lanes (merge_quarters, kAhead).
constexpr double kPartialsOfAQuarterLookedFor = 4;

/// Quarters of a fragment, of all CTAs' or of a warp's lanes (gpu/kernels/params.h, kQuarters).
constexpr std::int32_t kQuarters = 4;

/// A merge of many partials by CTAs that wait: each has a quarter of a fragment where they are enough, else two, or all
/// four of one after the other.
double quarters_seconds(const KernelProfile& kernel, double splits, std::int32_t mergers) {
  const std::int32_t all = kQuarters * kernel.merge_fragments;
  const std::int32_t sharing = mergers >= all ? all : mergers >= all / 2 ? all / 2 : std::min(mergers, all / kQuarters);
  const std::int32_t together = std::min({all / sharing, kernel.merge_warps, kQuarters});
  const std::int32_t of_cta = (all + sharing - 1) / sharing;
  const std::int32_t turns = (of_cta + together - 1) / together;
  const double serial = std::ceil(splits * together / (kernel.merge_warps * kQuarters));
  const double looks = std::ceil(serial / kPartialsOfAQuarterLookedFor);
  return kernel.waiting_merge_seconds + turns * kernel.waiting_merge_seconds_per_split * serial +
         kernel.merge_batch_seconds * (turns * looks - 1);
}

}  // namespace

bool hosts_merge(const Plan& plan, const KernelProfile& kernel) {
  return plan.merge == MergeKind::host_cta && kernel.most_tokens == 0;
}

double in_kernel_seconds(const KernelProfile& kernel, double splits, std::int32_t mergers, std::int32_t fragments,
                         double more_per_split) {
  if (takes_any_heads(kernel)) {
    return kernel.merge_seconds * std::ceil(splits / kPartialsHeldPartsLookFor) +
           kernel.merge_seconds_per_split * std::min(splits, kPartialsOfHeldParts);
  }
  const std::int32_t sharing = sharing_ctas(kernel, splits, mergers);
  if (mergers > 0 && kernel.waiting_merge_seconds >= 0) {
    const bool many = kernel.merge_kernel_warp_splits > 0 && splits > kernel.merge_kernel_warp_splits;
    if (many && mergers > 1 && kernel.merge_fragments > 0) return quarters_seconds(kernel, splits, mergers);
    // A CTA alone has few partials, of all of its fragments at a time.
    const std::int32_t turns = sharing > 1 ? merge_turns(kernel, (fragments + sharing - 1) / sharing) : 1;
    return kernel.waiting_merge_seconds + kernel.waiting_merge_seconds_per_split * splits +
           kernel.merge_batch_seconds * (turns * std::ceil(splits / kPartialsLookedFor) - 1);
  }
  const std::int32_t warps = sharing > 1 ? sharing_warps(kernel, splits, kernel.merge_warps) : 1;
  double turns = 1;
  if (sharing > 1 || fragments < kernel.merge_fragments) {
    const std::int32_t of_cta = (fragments + sharing - 1) / sharing;
    turns = static_cast<double>(merge_turns(kernel, of_cta * warps)) / merge_turns(kernel, kernel.merge_fragments);
  }
  const double serial = std::ceil(splits / warps);
  const bool writes_less = sharing > 1 && kernel.merge_shared_seconds >= 0;
  const double always = writes_less ? kernel.merge_shared_seconds : kernel.merge_seconds;
  return always + turns * (kernel.merge_seconds - always + (kernel.merge_seconds_per_split + more_per_split) * serial +
                           kernel.merge_batch_seconds * further_batches(kernel, serial));
}

std::int32_t fragments_with_rows(const KernelProfile& kernel, std::int32_t rows) {
  return std::min(kernel.merge_fragments, fragments_of(kernel, rows));
}

std::int32_t merge_turns(const KernelProfile& kernel, std::int32_t fragments) {
  return std::max(1, (fragments + kernel.merge_warps - 1) / kernel.merge_warps);
}

std::int32_t splits_per_warp(const KernelProfile& kernel, std::int32_t splits) {
  const std::int32_t warps = sharing_warps(kernel, splits, kernel.merge_kernel_most_warps);
  return (splits + warps - 1) / warps;
}

double separate_merge_seconds(const workloads::Workload& workload, const Plan& plan, const Machine& machine,
                              const KernelProfile& kernel) {
  // A merge kernel is launched whenever the rule asks for splits, even if no output has more than one; so are resets.
  if (has_merge_kernel(plan, machine, kernel)) return merge_kernel_seconds(workload, plan, machine, kernel);
  if (plan.dispatch == schedules::Dispatch::queue) return kernel.queue_reset_seconds;
  return plan.num_splits > 1 ? kernel.flag_reset_seconds : 0;
}

MergeCost merge_cost(const workloads::Workload& workload, const Plan& plan, const Machine& machine,
                     const KernelProfile& kernel, std::int32_t slots, EngineResult& result, bool spans) {
  MergeCost cost;
  if (!plan.merges.empty() && !has_merge_kernel(plan, machine, kernel)) {
    cost = in_kernel_cost(workload, plan, machine, kernel, result, spans);
  }
  const double separate = separate_merge_seconds(workload, plan, machine, kernel);
  cost.seconds += separate;
  cost.merge_slot_seconds += slots * separate;
  return cost;
}

}  // namespace splitwave::simulator
