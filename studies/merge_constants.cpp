// SPDX-License-Identifier: Apache-2.0
#include "studies/merge_constants.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "simulator/merge.h"
#include "simulator/traffic.h"

namespace splitwave::studies {
namespace {

using gpu::ProbeKind;
using Json = nlohmann::ordered_json;

std::int32_t fragments_of(const ProbedConfig& probed) {
  return probed.config.row_tiles * probed.geometry.value_dim / 16;
}

/// By how many nanoseconds an output in so many parts takes longer than an item; nothing if that was not probed. By
/// kernels that run any plan, or by those for lists of one item.
std::optional<double> more(const ProbeTimes& times, std::int32_t cluster, bool any_plan, std::int32_t parts) {
  const auto split = times.find(cluster, any_plan, ProbeKind::splits, parts);
  if (!split) return {};
  return *split - times.at(cluster, any_plan, ProbeKind::item, times.round(cluster));
}

/// The constants of single CTAs.
void add_last_arriver(const ProbeTimes& times, bool any_plan, double flag_ns, const std::string& prefix,
                      ConstantList& list) {
  const auto two = more(times, 1, any_plan, 2);
  if (!two) return;
  const double eight = more(times, 1, any_plan, 8).value();
  const double per_split = (eight - *two) / 6;
  list.add_ns(prefix + "merge", *two - 2 * per_split - flag_ns);
  list.add_ns(prefix + "merge_per_split", per_split);
  list.add_ns(prefix + "merge_batch", (more(times, 1, any_plan, 32).value() - eight - 24 * per_split) / 3);
}

/// Of kernels that run any plan, of those for lists of one item, and of these by the size of their clusters.
void add_last_arrivers(const ProbedConfig& probed, const ProbeTimes& times, double flag_ns, ConstantList& list) {
  add_last_arriver(times, true, flag_ns, "", list);
  // Masked, no plan has a kernel for lists of one item.
  if (!probed.resources.front().single_item) return;
  add_last_arriver(times, false, flag_ns, "single_item_", list);
  Json merge = Json::array();
  Json per_split = Json::array();
  for (const std::int32_t cluster : probed.clusters) {
    const auto two = more(times, cluster, false, 2);
    if (!two) return;  // points of before clusters were probed
    const double each = (more(times, cluster, false, 8).value() - *two) / 6;
    merge.push_back(rounded(std::max(0.0, *two - 2 * each - flag_ns)));
    per_split.push_back(rounded(std::max(0.0, each)));
  }
  list.add("cluster_merge", "ns", merge);
  list.add("cluster_merge_per_split", "ns", per_split);
}

/// What each of eight CTAs takes that share a merge of eight parts, besides its fragments.
void add_shared(const ProbedConfig& probed, const ProbeTimes& times, double flag_ns, double shared_turns,
                ConstantList& list) {
  simulator::KernelProfile kernel;
  kernel.merge_warps = probed.config.warps;
  const std::int32_t fragments = fragments_of(probed);
  const double all = simulator::merge_turns(kernel, fragments);
  const double turns = simulator::merge_turns(kernel, (fragments + 7) / 8) / all;
  if (8 * all < shared_turns || turns >= 1) return;
  const double one = times.at(1, true, ProbeKind::item, times.round(1));
  const double shared = times.at(1, true, ProbeKind::host, 8) - one;
  const double alone = times.at(1, true, ProbeKind::splits, 8) - one;
  list.add_ns("merge_shared", (shared - turns * alone) / (1 - turns) - flag_ns);
}

/// A kernel that merges: alone with one output, and with the partials of as many lists as the device has SMs, which are
/// written and read through L2.
void add_merge_kernel(const ProbedConfig& probed, const ProbeTimes& times, const ProbeBase& base, ConstantList& list) {
  const auto beyond = [&](ProbeKind kind, std::int32_t parts, std::int32_t lists) {
    return times.at(1, true, kind, parts) - times.at(1, true, ProbeKind::unmerged, lists);
  };
  const double lone_two = beyond(ProbeKind::lone_kernel, 2, 2);
  const double lone_eight = beyond(ProbeKind::lone_kernel, 8, 8);
  const double lone = (lone_two + lone_eight) / 2;
  const double per_split = std::max(0.0, (lone_eight - lone_two) / 6);
  list.add_ns("merge_launch", lone - 5 * per_split + base.launch_later_seconds * 1e9);
  list.add_ns("merge_kernel_per_split", per_split);
  const auto many = [&](std::int32_t parts) { return beyond(ProbeKind::kernel, parts, gpu::kMergedLists); };
  const double bytes = static_cast<double>(simulator::partial_row_bytes(probed.geometry)) *
                       (8 * probed.config.row_tiles * gpu::kMergedLists);
  const double traffic = (many(2) + many(8)) / 2 - lone;
  if (traffic > 0) list.add("merge_kernel_bandwidth", "GB/s", rounded(bytes / traffic));
  // Probes are replayable launches, whose merges have a warp for each fragment however many parts there are.
  list.add_ns("merge_kernel_batch", (many(32) - many(8) - 24 * per_split) / 3);
}

}  // namespace

void add_merge_constants(const ProbedConfig& probed, const ProbeTimes& times, const ProbeBase& base,
                         double shared_turns, ConstantList& list) {
  const double flag_ns = base.flag_seconds * 1e9;
  add_last_arrivers(probed, times, flag_ns, list);
  add_shared(probed, times, flag_ns, shared_turns, list);
  add_merge_kernel(probed, times, base, list);
  list.add("merge_fragments", "1", fragments_of(probed), "derived");
  list.add("merge_warps", "1", probed.config.warps, "derived");
}

}  // namespace splitwave::studies
