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

/// What a last arriver's merge takes, in nanoseconds.
struct LastArriver {
  double merge = 0;
  double per_split = 0;
};

/// By kernels that run any plan, or by those for lists of one item; nothing if that was not probed.
std::optional<LastArriver> last_arriver(const ProbeTimes& times, std::int32_t cluster, bool any_plan, double flag_ns) {
  if (!times.find(cluster, any_plan, ProbeKind::splits, 2)) return {};
  const double one = times.at(cluster, any_plan, ProbeKind::item, times.round(cluster));
  const auto more = [&](std::int32_t parts) { return times.at(cluster, any_plan, ProbeKind::splits, parts) - one; };
  const double per_split = std::max(0.0, (more(8) - more(2)) / 6);
  return LastArriver{more(8) - 8 * per_split - flag_ns, per_split};
}

/// The constants of single CTAs.
void add_last_arriver(const ProbeTimes& times, bool any_plan, double flag_ns, const std::string& prefix,
                      ConstantList& list) {
  const auto found = last_arriver(times, 1, any_plan, flag_ns);
  if (!found) return;
  list.add_ns(prefix + "merge", found->merge);
  list.add_ns(prefix + "merge_per_split", found->per_split);
  const double further = times.at(1, any_plan, ProbeKind::splits, 32) - times.at(1, any_plan, ProbeKind::splits, 8);
  list.add_ns(prefix + "merge_batch", (further - 24 * found->per_split) / 3);
}

/// By the size of clusters, of those of `least` CTAs and more: others take no outputs in parts. Nothing of points of
/// before they were probed.
void add_by_cluster(const ProbedConfig& probed, const ProbeTimes& times, std::int32_t least, double flag_ns,
                    ConstantList& list) {
  Json merge = Json::array();
  Json per_split = Json::array();
  for (const std::int32_t cluster : probed.clusters) {
    const std::optional<LastArriver> found =
        cluster < least ? LastArriver{} : last_arriver(times, cluster, false, flag_ns);
    if (!found) return;
    merge.push_back(rounded(std::max(0.0, found->merge)));
    per_split.push_back(rounded(std::max(0.0, found->per_split)));
  }
  list.add("cluster_merge", "ns", merge);
  list.add("cluster_merge_per_split", "ns", per_split);
  if (probed.config.stages == 1) list.add("parts_from", "CTA", least, "derived");
}

/// Of kernels that run any plan, of those for lists of one item, and of these by the size of their clusters.
void add_last_arrivers(const ProbedConfig& probed, const ProbeTimes& times, double flag_ns, ConstantList& list) {
  add_last_arriver(times, true, flag_ns, "", list);
  // Masked, no plan has a kernel for lists of one item.
  if (!probed.resources.front().single_item) return;
  add_last_arriver(times, false, flag_ns, "single_item_", list);
  if (probed.clusters.size() < 2) return;  // single CTAs' say it all
  add_by_cluster(probed, times, 1, flag_ns, list);
}

/// What CTAs that wait take by packets, which is little more for eight parts, of which eight CTAs may have a fragment
/// each, than for two.
void add_waiting(const ProbeTimes& times, const ProbeTimes& waiting, double flag_ns, ConstantList& list) {
  // Of points without probes of the kernel that such CTAs have against the other one's.
  const double one = waiting.find(1, true, ProbeKind::item, times.round(1))
                         .value_or(times.at(1, true, ProbeKind::item, times.round(1)));
  const double two = times.at(1, true, ProbeKind::host, 2) - one;
  const double eight = times.at(1, true, ProbeKind::host, 8) - one;
  const double per_split = std::max(0.0, (eight - two) / 6);
  list.add_ns("waiting_merge", std::max(0.0, two - 2 * per_split - flag_ns));
  list.add_ns("waiting_merge_per_split", per_split);
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
  const auto more = [&](ProbeKind kind, std::int32_t parts, std::int32_t lists) {
    return times.at(1, true, kind, parts) - times.at(1, true, ProbeKind::unmerged, lists);
  };
  const double lone_two = more(ProbeKind::lone_kernel, 2, 2);
  const double lone_eight = more(ProbeKind::lone_kernel, 8, 8);
  const double lone = (lone_two + lone_eight) / 2;
  const double per_split = std::max(0.0, (lone_eight - lone_two) / 6);
  list.add_ns("merge_launch", lone - 5 * per_split + base.launch_later_seconds * 1e9);
  list.add_ns("merge_kernel_per_split", per_split);
  const auto many = [&](std::int32_t parts) { return more(ProbeKind::kernel, parts, gpu::kMergedLists); };
  const double bytes = static_cast<double>(simulator::partial_row_bytes(probed.geometry)) *
                       (8 * probed.config.row_tiles * gpu::kMergedLists);
  const double traffic = (many(2) + many(8)) / 2 - lone;
  if (traffic > 0) list.add("merge_kernel_bandwidth", "GB/s", rounded(bytes / traffic));
  // Probes are replayable launches, whose merges have a warp for each fragment however many parts there are.
  list.add_ns("merge_kernel_batch", (many(32) - many(8) - 24 * per_split) / 3);
}

}  // namespace

void add_part_merges(const ProbedConfig& probed, const ProbeTimes& times, const ProbeBase& base, ConstantList& list) {
  add_by_cluster(probed, times, probed.config.least_cluster_of_parts(), base.flag_seconds * 1e9, list);
}

void add_merge_constants(const ProbedConfig& probed, const ProbedConfig& merging, const ProbeBase& base,
                         double shared_turns, ConstantList& list) {
  const double flag_ns = base.flag_seconds * 1e9;
  const ProbeTimes times(merging);
  add_last_arrivers(probed, times, flag_ns, list);
  if (probed.config.team == gpu::Team::warps || probed.config.team == gpu::Team::alone) {
    add_waiting(times, ProbeTimes(merging, true), flag_ns, list);
  } else {
    add_shared(probed, times, flag_ns, shared_turns, list);
  }
  add_merge_kernel(probed, times, base, list);
  list.add("merge_fragments", "1", fragments_of(probed), "derived");
  list.add("merge_warps", "1", probed.config.warps, "derived");
}

}  // namespace splitwave::studies
