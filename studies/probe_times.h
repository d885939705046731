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
  explicit ProbeTimes(const ProbedConfig& probed) : probed_(probed) {}

  /// Nothing if the probe was not made.
  std::optional<double> find(std::int32_t cluster, bool any_plan, gpu::ProbeKind kind, std::int32_t count,
                             bool paged = false) const {
    for (const gpu::KernelProbe& probe : probed_.probes) {
      if (probe.config.cluster == cluster && probe.any_plan == any_plan && probe.kind == kind && probe.count == count &&
          probe.paged == paged) {
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
  /// A round's arithmetic, of the eight after each stage's first one.
  double chain(std::int32_t cluster, bool any_plan, bool paged = false) const {
    const std::int32_t tokens = round(cluster);
    return (at(cluster, any_plan, gpu::ProbeKind::item, (probed_.config.stages + 8) * tokens, paged) -
            at(cluster, any_plan, gpu::ProbeKind::item, probed_.config.stages * tokens, paged)) /
           8;
  }
  /// What the first rounds of the stages behind the first one take longer, each.
  double first_rounds(bool any_plan) const {
    const std::int32_t further = probed_.config.stages - 1;
    const double rounds = at(1, any_plan, gpu::ProbeKind::item, probed_.config.stages * round(1)) -
                          at(1, any_plan, gpu::ProbeKind::item, round(1));
    return rounds / further - chain(1, any_plan);
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

  /// By how much less a cluster's item takes longer with K and V in DRAM than a single CTA's does: the CTAs of a
  /// cluster wait for one another while their loads are under way. As what an item takes besides its latency is known
  /// from probes in L2, it is less for that. 0 of points without such probes.
  double hidden(std::int32_t cluster) const {
    const auto farther = [&](std::int32_t c) -> std::optional<double> {
      const std::optional<double> cold = find(c, false, gpu::ProbeKind::cold, round(c));
      const std::optional<double> warm = find(c, false, gpu::ProbeKind::item, round(c));
      return cold && warm ? std::optional(*cold - *warm) : std::nullopt;
    };
    const std::optional<double> alone = farther(1);
    const std::optional<double> together = farther(cluster);
    return alone && together ? std::max(0.0, *alone - *together) : 0;
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
  const ProbedConfig& probed_;
};

}  // namespace splitwave::studies
