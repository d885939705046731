// SPDX-License-Identifier: Apache-2.0
// What the probes of one kernel config took, and differences of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "studies/kernel_constants.h"

namespace splitwave::studies {

/// Medians of the probes in nanoseconds.
class ProbeTimes {
 public:
  /// waits: of the kernel for CTAs that wait, which has few.
  explicit ProbeTimes(const ProbedConfig& probed, bool waits = false) : probed_(probed), waits_(waits) {}

  /// Nothing if the probe was not made.
  std::optional<double> find(std::int32_t cluster, bool any_plan, gpu::ProbeKind kind, std::int32_t count,
                             bool paged = false) const {
    for (const gpu::KernelProbe& probe : probed_.probes) {
      if (probe.config.cluster == cluster && probe.any_plan == any_plan && probe.waits == waits_ &&
          probe.kind == kind && probe.count == count && probe.paged == paged) {
        return probe.seconds * 1e9;
      }
    }
    return std::nullopt;
  }
  double at(std::int32_t cluster, bool any_plan, gpu::ProbeKind kind, std::int32_t count, bool paged = false) const {
    return find(cluster, any_plan, kind, count, paged).value();
  }
  /// What one more takes, from 2 and 6.
  double each(std::int32_t cluster, bool any_plan, gpu::ProbeKind kind, bool paged = false) const {
    return (at(cluster, any_plan, kind, 6, paged) - at(cluster, any_plan, kind, 2, paged)) / 4;
  }
  /// What the first of several takes. Unlike the probes of one item, rows share queries in pairs.
  double first(std::int32_t cluster, bool any_plan, gpu::ProbeKind kind, bool paged = false) const {
    return at(cluster, any_plan, kind, 2, paged) - each(cluster, any_plan, kind, paged);
  }
  std::int32_t round(std::int32_t cluster) const {
    gpu::KernelConfig config = probed_.config;
    config.cluster = cluster;
    return gpu::round_tokens(config);
  }
  /// A round's arithmetic, of the eight after each stage's first one. What comes from DRAM may take less than what
  /// comes from L2, all of whose warps ask at the same time.
  double chain(std::int32_t cluster, bool any_plan, bool paged = false,
               gpu::ProbeKind kind = gpu::ProbeKind::item) const {
    const std::optional<double> streamed = streamed_round(any_plan);
    const double sooner = streamed ? std::max(0.0, chain_in_l2(1, any_plan, false, kind) - *streamed) : 0;
    return chain_in_l2(cluster, any_plan, paged, kind) - sooner;
  }
  /// A round of a lone worker that streams from DRAM. Nothing of points without such probes.
  std::optional<double> streamed_round(bool any_plan) const {
    const std::int32_t before = probed_.config.stages * round(1);
    const std::int32_t after = before + gpu::kStreamedRounds * round(1);
    const std::optional<double> less = find(1, any_plan, gpu::ProbeKind::cold, before);
    const std::optional<double> more = find(1, any_plan, gpu::ProbeKind::cold, after);
    if (!less || !more) return std::nullopt;
    return (*more - *less) / gpu::kStreamedRounds;
  }
  /// The same with keys in boxes. Nothing of points without such probes.
  std::optional<double> box_chain() const {
    if (!find(1, true, gpu::ProbeKind::boxes, probed_.config.stages * round(1))) return std::nullopt;
    return chain(1, true, false, gpu::ProbeKind::boxes);
  }
  /// What the first rounds of the stages behind the first one take longer, each: with K and V in DRAM, where they wait
  /// less for their own loads to be sent. Of points without such probes in L2, not below 0.
  double first_rounds(bool any_plan) const {
    const std::int32_t all = probed_.config.stages * round(1);
    const std::int32_t further = probed_.config.stages - 1;
    const std::optional<double> one = find(1, any_plan, gpu::ProbeKind::cold, round(1));
    const std::optional<double> cold = find(1, any_plan, gpu::ProbeKind::cold, all);
    if (one && cold) return (*cold - *one) / further - chain(1, any_plan);
    const double rounds = at(1, any_plan, gpu::ProbeKind::item, all) - at(1, any_plan, gpu::ProbeKind::item, round(1));
    return std::max(0.0, rounds / further - chain(1, any_plan));
  }
  /// What a further item takes longer with K and V in DRAM. Nothing of points without such probes.
  double farther_item() const {
    if (!find(1, true, gpu::ProbeKind::cold_items, 2)) return 0;
    return each(1, true, gpu::ProbeKind::cold_items) - each(1, true, gpu::ProbeKind::items);
  }
  /// What a list's second item takes longer than later ones, with K and V in DRAM, or less: what of it the first one
  /// hides. Nothing of points without such probes; warps with lists of their own take a lone item together.
  std::optional<double> second_item() const {
    const std::optional<double> two = find(1, true, gpu::ProbeKind::cold_items, 2);
    if (!two) return std::nullopt;
    return *two - at(1, true, gpu::ProbeKind::cold, round(1)) - each(1, true, gpu::ProbeKind::cold_items);
  }
  /// What the starts of so many CTAs take longer than one's, beside `dispatch` for each.
  double starts(std::int32_t ctas, double dispatch) const {
    return at(1, true, gpu::ProbeKind::unmerged, ctas) - at(1, true, gpu::ProbeKind::item, round(1)) -
           (ctas - 1) * dispatch;
  }
  /// What starts of lists of short items take longer in a full device.
  double crowded_starts() const {
    const double further = each(1, true, gpu::ProbeKind::crowd) - each(1, true, gpu::ProbeKind::short_items);
    return at(1, true, gpu::ProbeKind::crowd, 2) - at(1, true, gpu::ProbeKind::short_items, 2) - 2 * further;
  }

  /// What a worker's round takes on its way from memory, all of it asked for at once: by what it takes longer than one
  /// chunk for each CTA. Nothing of points without such probes.
  std::optional<double> held_transfer(std::int32_t cluster) const {
    const std::int32_t few = cluster * probed_.config.tokens;
    const std::optional<double> chunks = find(cluster, false, gpu::ProbeKind::cold, few);
    const std::optional<double> all = find(cluster, false, gpu::ProbeKind::cold, round(cluster));
    if (!chunks || !all) return std::nullopt;
    return std::max(0.0, *all - *chunks) * round(cluster) / (round(cluster) - few);
  }

 private:
  double chain_in_l2(std::int32_t cluster, bool any_plan, bool paged, gpu::ProbeKind kind) const {
    const std::int32_t tokens = round(cluster);
    return (at(cluster, any_plan, kind, (probed_.config.stages + 8) * tokens, paged) -
            at(cluster, any_plan, kind, probed_.config.stages * tokens, paged)) /
           8;
  }

  const ProbedConfig& probed_;
  bool waits_ = false;
};

}  // namespace splitwave::studies
